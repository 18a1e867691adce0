// Which mappings (core/machine/mapping.h) a layer can have on an accelerator, and how a mapping
// divides the on-chip memories.
#pragma once

#include <optional>
#include <string>

#include "compiler/lowering/layer_geometry.h"
#include "core/machine/mapping.h"

namespace qsim::compiler {

// The most slots of a scratchpad: its tokens are counted in a semaphore.
inline constexpr std::int64_t kMostSlots = kSemaphoreMax;

// How a mapping divides the memories. All parts begin at word 0 and follow one another. Their sizes
// follow from the layer, the mapping and the array alone, so larger memories change no command.
struct MemoryParts {
  std::int64_t act_slots = 1;
  std::int64_t act_slot_words = 1;
  std::int64_t weight_slots = 1;
  std::int64_t weight_slot_words = 1;
  std::int64_t psum_words = 1;    // of an accumulator half: one psum tile, all blocks
  std::int64_t output_words = 1;  // of the output scratchpad: one psum tile, one block
};

// What is wrong with a mapping: a field and its value, and what is allowed.
struct MappingFault {
  std::string_view field;
  std::int64_t found = 0;
  // Allowed values: least..most, multiples of `unit`. With unit 0 instead: the value needs `need`
  // of something of which there are `have`.
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::int64_t unit = 1;
  std::int64_t need = 0;
  std::int64_t have = 0;
  std::string_view reason;  // where the limits come from, or what is needed
};

// The column blocks that an EXECUTE can take at once.
std::int64_t most_blocks(const LayerGeometry& geometry, Dataflow dataflow);

// The first fault of a mapping, or nothing: then lowering makes a program of it, but for a command
// whose stride or address exceeds its bits. It allocates little, for a mapper asks it often.
std::optional<MappingFault> find_fault(const LayerGeometry& geometry, const Mapping& mapping,
                                       const ArchConfig& arch);

// "tile_rows is 300; 1 to 224 is allowed: the ofmap's rows"
std::string fault_text(const MappingFault& fault);

// How a valid mapping divides the memories.
MemoryParts memory_parts(const LayerGeometry& geometry, const Mapping& mapping,
                         const ArchConfig& arch);

// "8x32 x4 blocks": rows and columns of a psum tile, and column blocks; for people.
std::string short_text(const LayerGeometry& geometry, const Mapping& mapping);

}  // namespace qsim::compiler
