// Why no unit waits for ever: the sink gets the commands in one order in which every token is
// signalled before it is taken.
//   - An EXECUTE comes after the LOADs that it is the first to need. Each of these waits for the
//     last use of the chunk that was in its slot before, an earlier EXECUTE, because chunks that
//     are in use at once have a slot each (compiler/lowering/mapping.cpp).
//   - The first EXECUTE into an accumulator half comes after the POSTs of the turn before the last
//     one: that turn ended before this EXECUTE's pass, or in a pass of two turns, began.
//   - The LOADs of parameters, POSTs and STOREs of a turn come in turn, each after the POST or
//     STORE that frees its part.
// A semaphore has one unit that signals it and one that waits for it, so the k-th wait takes the
// k-th signal in every run, and any run gets as far as this order does.
#include "compiler/lowering/schedule.h"

#include <algorithm>

#include "compiler/lowering/command_field.h"
#include "compiler/lowering/schedule_tokens.h"

namespace qsim::compiler {
Schedule::Schedule(const PlannedLayer& planned, const Mapping& mapping, const ArchConfig& arch,
                   const Boundary& boundary, CommandSink& sink)
    : planned_(planned),
      boundary_(boundary),
      sink_(sink),
      nest_(planned.geometry, mapping),
      counts_(nest_.counts()),
      parts_(memory_parts(planned.geometry, mapping, arch)),
      commands_(planned, arch),
      acts_(nest_),
      weights_(nest_) {
  const auto set_tiles = static_cast<std::size_t>(mapping.tiles_per_half * mapping.halves_per_pass);
  tiles_.resize(set_tiles);
  executes_.resize(set_tiles);
  ended_.reserve(kAccumulatorHalves);
}

bool Schedule::run() {
  if (nest_.mapping().load_order == LoadOrder::kRelease) add_first_loads();
  const bool is_whole = nest_.for_each_step([this](const Step& step) {
    add_step(step);
    return !sink_.is_full();
  });
  if (!is_whole) return false;
  add_ended_turns();
  QSIM_CHECK(acts_.at_end() && weights_.at_end() && posts_ == counts_.posts &&
                 params_ == counts_.param_loads,
             planned_.layer->name + ": the schedule's commands are not those that were counted");
  return true;
}

void Schedule::add_step(const Step& step) {
  add_loads_for(step.index);
  add_ended_turns();
  if (step.pass.set != set_) enter_set(step.pass);
  add_execute(step);
  const bool by_release = nest_.mapping().load_order == LoadOrder::kRelease;
  if (by_release) add_released_loads(step);
  // Where LOADs run ahead as far as they can, parameters come early: the POST that frees their slot
  // is done, because this EXECUTE took the half of the same turn.
  if (by_release && step.starts_turn && step.pass.blocks == 1 &&
      needs_params(step.pass.first_block)) {
    add_param_load(step.pass.first_block,
                   {step.pass.first_tile + step.tile, step.pass.first_block, step.pass.blocks});
  }
  if (step.ends_turn) end_turn(step);
}

void Schedule::end_turn(const Step& step) {
  const Pass& pass = step.pass;
  const bool in_same_pass = step.tile + 1 < pass.tiles;
  const bool in_same_group =
      nest_.mapping().order == LoopOrder::kBlocksOuter && pass.set + 1 < nest_.sets();
  const std::int64_t end = pass.first_tile + step.tile + 1;
  ended_.push_back({step.turn, end - step.tile_of_half - 1, end, pass.first_block, pass.blocks,
                    pass.blocks > 1 || !(in_same_pass || in_same_group)});
}

void Schedule::enter_set(const Pass& pass) {
  set_ = pass.set;
  set_first_tile_ = pass.first_tile;
  for (std::int64_t t = 0; t < pass.tiles; ++t) {
    tiles_[static_cast<std::size_t>(t)] = nest_.tile(pass.first_tile + t);
  }
}

void Schedule::add_execute(const Step& step) {
  const auto tile = static_cast<std::size_t>(step.tile);
  if (&step.weight == &step.pass.reduction->weights[step.act.first_weight]) {
    executes_[tile] =
        commands_.execute(tiles_[tile], step.act, nest_.mapping().dataflow, step.pass.blocks);
  }
  Execute execute = executes_[tile];
  WeightChunk box = step.weight;
  box.kernel_rows = step.kernel_rows;
  box.kernel_cols = step.kernel_cols;
  commands_.set_weights(execute, step.act, box,
                        step.act_load % parts_.act_slots * parts_.act_slot_words);
  execute.weight_addr =
      command_field(step.weight_load % parts_.weight_slots * parts_.weight_slot_words);
  execute.acc_addr =
      command_field(step.tile_of_half * parts_.psum_words + step.operand * tiles_[tile].psums());
  execute.acc_half = static_cast<std::uint32_t>(step.turn % kAccumulatorHalves);
  execute.accumulate = step.first_of_psums ? 0 : 1;
  unsigned waits = 0;
  unsigned signals = 0;
  if (step.first_use_of_act) waits |= mask(Token::kActReady);
  if (step.first_use_of_weight) waits |= mask(Token::kWeightReady);
  if (step.starts_turn) waits |= wait(Token::kAccFree, step.turn, kAccumulatorHalves);
  if (step.last_use_of_act) {
    signals |= signal(Token::kActFree, step.act_load, counts_.act_loads, parts_.act_slots);
  }
  if (step.last_use_of_weight) {
    signals |=
        signal(Token::kWeightFree, step.weight_load, counts_.weight_loads, parts_.weight_slots);
  }
  if (step.ends_turn) signals |= mask(Token::kAccReady);
  sink_.add(execute, tokens(waits, signals),
            {step.pass.first_tile + step.tile, step.pass.first_block, step.pass.blocks});
}

// In the order of need: what this step is the first to need, activations first.
void Schedule::add_loads_for(std::int64_t step) {
  while (!acts_.at_end() && acts_.needed_by() == step) add_act_load();
  while (!weights_.at_end() && weights_.needed_by() == step) add_weight_load();
}

// In the order of release, every slot is filled at once; what is needed first comes first.
void Schedule::add_first_loads() {
  const auto more_acts = [&] { return !acts_.at_end() && acts_.number() < parts_.act_slots; };
  const auto more_weights = [&] {
    return !weights_.at_end() && weights_.number() < parts_.weight_slots;
  };
  while (more_acts() || more_weights()) {
    if (more_acts() && (!more_weights() || acts_.needed_by() <= weights_.needed_by())) {
      add_act_load();
    } else {
      add_weight_load();
    }
  }
}

// Each LOAD whose slot this step was the last to use.
void Schedule::add_released_loads(const Step& step) {
  bool act =
      step.last_use_of_act && !acts_.at_end() && acts_.number() == step.act_load + parts_.act_slots;
  const bool weight = step.last_use_of_weight && !weights_.at_end() &&
                      weights_.number() == step.weight_load + parts_.weight_slots;
  if (act && (!weight || acts_.needed_by() <= weights_.needed_by())) {
    add_act_load();
    act = false;
  }
  if (weight) add_weight_load();
  if (act) add_act_load();
}

void Schedule::add_act_load() {
  const Pass& pass = acts_.pass();
  const ActChunk& chunk = acts_.chunk();
  const Tile tile = nest_.tile(acts_.tile());
  const Range planes = {chunk.planes.begin + pass.first_plane, chunk.planes.end + pass.first_plane};
  Load load = commands_.transfers().act_load(tile, planes, chunk.kernel_rows);
  const std::int64_t number = acts_.number();
  load.local_addr = command_field(number % parts_.act_slots * parts_.act_slot_words);
  unsigned waits = wait(Token::kActFree, number, parts_.act_slots);
  if (number == 0 && boundary_.waits) waits |= mask(Token::kOfmapDone);
  sink_.add(load, tokens(waits, mask(Token::kActReady)),
            {acts_.tile(), pass.first_block, pass.blocks});
  acts_.next();
}

void Schedule::add_weight_load() {
  const Pass& pass = weights_.pass();
  Load load = commands_.transfers().weight_load(weights_.chunk(),
                                                nest_.folds_before(pass.first_block), pass.blocks);
  const std::int64_t number = weights_.number();
  load.local_addr = command_field(number % parts_.weight_slots * parts_.weight_slot_words);
  sink_.add(
      load,
      tokens(wait(Token::kWeightFree, number, parts_.weight_slots), mask(Token::kWeightReady)),
      {pass.first_tile, pass.first_block, pass.blocks});
  weights_.next();
}

}  // namespace qsim::compiler
