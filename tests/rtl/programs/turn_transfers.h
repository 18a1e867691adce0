// How the words of a memory's turn are cut into LOADs or STOREs of groups and runs: their on-chip
// side, and for STOREs also their places in the ofmap.
#pragma once

#include <vector>

#include "core/base/random.h"
#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"

namespace qsim {

// LOADs of a turn of `words` words, addresses counted from its first; each brings a used word. The
// LOADs may bring a few words more: `words` is then what they bring.
void cut_turn_loads(Random& random, LoadMemory memory, const ArchConfig& arch,
                    std::int64_t most_pieces, std::vector<bool>& used, std::int64_t& words,
                    std::vector<Load>& loads);

// The LOAD of a table, likewise.
Load table_load();

// A STORE with strides, and where in the turn's part of the ofmap it begins, in words.
struct TurnStore {
  Store store;
  std::int64_t ofmap_word = 0;
};

// STOREs that bring `words` words to as many adjoining words of the ofmap, each to a place of its
// own; runs of two STOREs may lie between one another.
std::vector<TurnStore> cut_stores(Random& random, std::int64_t words, const ArchConfig& arch);

}  // namespace qsim
