// What a random program is to do, before addresses, tokens and order: layers of turns of the
// accumulator, each with EXECUTEs that fill it and POSTs that take it. Any plan can be built
// (program_builder.h), also one that has lost some of its parts, which is how a failing program is
// made smaller.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compiler/verifier/command_ranges.h"
#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"

namespace qsim {

// Shapes are complete, addresses are not: those follow from `seed` and from what comes before.
struct ExecutePlan {
  Execute shape;
  bool new_act_turn = true;
  bool new_weight_turn = true;
  std::uint64_t seed = 0;
  bool operator==(const ExecutePlan&) const = default;
};

struct PostPlan {
  Post shape;
  bool new_param_turn = true;
  bool new_out_turn = true;
  std::uint64_t seed = 0;
  bool operator==(const PostPlan&) const = default;
};

// One filling and emptying of an accumulator half.
struct TurnPlan {
  std::vector<ExecutePlan> executes;
  std::vector<PostPlan> posts;
  bool interleaves = false;  // its EXECUTEs come between those of the turn before it
  bool operator==(const TurnPlan&) const = default;
};

struct LayerPlan {
  std::vector<TurnPlan> turns;
  bool operator==(const LayerPlan&) const = default;
};

// Memories with turns of their own: a table belongs to the turn of its slot's parameters.
inline constexpr std::size_t kTurnMemories = 5;
static_assert(static_cast<std::size_t>(compiler::verifier::Memory::kTable) == kTurnMemories);

// How many turns of a memory's slots may be under way, and how many of their free tokens are there
// from the start; the first turns do without the others.
struct FlightPlan {
  std::size_t turns = 1;
  std::size_t initial = 1;
  bool operator==(const FlightPlan&) const = default;
};

// How values are drawn.
enum class ValueStyle : std::uint8_t { kUniform, kExtremes, kSmall, kSparse, kLowest };

// How eagerly each unit is served when the commands are put in an order: LOADs may run ahead.
using OrderWeights = std::array<std::int64_t, kUnits>;

struct ProgramPlan {
  std::uint64_t seed = 0;
  ArchConfig arch;
  std::vector<LayerPlan> layers;
  std::array<FlightPlan, kTurnMemories> flights;
  OrderWeights order = {1, 1, 1, 1};
  std::vector<std::uint64_t> noise;  // one seed for each semaphore that orders what needs no order
  ValueStyle input_style = ValueStyle::kUniform;
  ValueStyle weight_style = ValueStyle::kUniform;
  std::int64_t load_pieces = 3;  // LOADs of a turn, at most
  bool reads_ofmaps = true;      // LOADs may read what STOREs have written
  bool layers_follow = false;    // a layer's activations come once the layer before is stored
  // EXECUTEs that nothing holds up, in both halves at equal addresses, each on the psums that the
  // one before it wrote last.
  bool back_to_back = false;
  bool operator==(const ProgramPlan&) const = default;
};

// The plan of seed `seed` for `arch`. Seeds that follow one another steer through the bins of
// coverage_bins.h; one in 400 for a 4x4 array (seed 7, 407, ...) and one in 2000 for a larger one
// (seed 1007, 3007, ...) makes the accumulator wrap, in some 140,000 cycles. One in seven of the
// others is back to back.
ProgramPlan draw_plan(const ArchConfig& arch, std::uint64_t seed);

}  // namespace qsim
