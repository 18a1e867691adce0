// A plan with every on-chip address: which commands fill and empty which turn of which memory, and
// where. No DRAM addresses of LOADs, no tokens, no order between units.
#pragma once

#include <vector>

#include "compiler/verifier/command_ranges.h"
#include "tests/rtl/programs/program_plan.h"

namespace qsim {

// One filling and emptying of a slot or half. Commands are counted in their unit's stream, LOADs
// within the turn.
struct MemoryTurn {
  std::size_t layer = 0;
  std::int64_t words = 0;        // that are written, adjoining
  std::int64_t base = 0;         // the first of them, counted over the whole memory
  std::vector<bool> used;        // activations and weights: which of them are read
  std::int64_t lead_words = 0;   // that must lie in front: an address may point there
  std::int64_t reach_words = 0;  // from the first word to where an address may reach
  std::size_t part = 0;          // slot or half
  std::size_t first_writer = 0, last_writer = 0;
  std::size_t first_reader = 0, last_reader = 0;
  bool has_table = false;   // parameters: some POST looks levels up
  std::vector<Load> loads;  // local side complete
};

// A command and its turns, by compiler::verifier::Memory; those of other memories do not count.
struct PlacedCommand {
  Command command;
  std::size_t layer = 0;
  std::size_t tile = 0;  // counts the accumulator's turns in the layer, for origins
  std::array<std::size_t, kTurnMemories> turn{};
  std::size_t second_turn = 0;  // POST: of the accumulator, which operand a is in
  std::int64_t ofmap_word = 0;  // STORE: its first word in the layer's ofmap; strides are set
};

struct ProgramLayout {
  std::array<std::vector<MemoryTurn>, kTurnMemories> turns;
  std::vector<PlacedCommand> executes, posts, stores;
  std::vector<std::int64_t> ofmap_words;  // of C bytes, by layer

  std::vector<MemoryTurn>& of(compiler::verifier::Memory m) {
    return turns[static_cast<std::size_t>(m)];
  }
  const std::vector<MemoryTurn>& of(compiler::verifier::Memory m) const {
    return turns[static_cast<std::size_t>(m)];
  }
};

ProgramLayout lay_out(const ProgramPlan& plan);

// A part for the turn that follows `turns` of memory `m`: one that no other turn under way has.
void choose_part(const ProgramPlan& plan, std::size_t m, const std::vector<MemoryTurn>& turns,
                 MemoryTurn& turn);

// Its last step: cuts the LOADs, and adds to every address, which counts from the first word of its
// turn until then, where the turn lies.
void set_addresses(const ProgramPlan& plan, ProgramLayout& layout);

}  // namespace qsim
