#include "sim/recurrence/recurrence.h"

#include <algorithm>
#include <bit>
#include <string>

#include "core/base/error.h"
#include "core/machine/timing_model.h"

namespace qsim::sim {
namespace {

ArchConfig without_texts(ArchConfig arch) {
  arch.name.clear();
  arch.model.clear();
  arch.input.clear();
  return arch;
}

// A beat moves what the narrower of bus and word holds. All sizes are powers of two.
int beat_shift(std::int64_t bus_bytes, std::int64_t word_bytes) {
  return std::countr_zero(static_cast<std::uint64_t>(std::min(bus_bytes, word_bytes)));
}

std::uint64_t beats_of(std::uint64_t run_bytes, int shift) {
  return (run_bytes + (std::uint64_t{1} << shift) - 1) >> shift;
}

[[noreturn]] void done_too_early(Unit unit) {
  throw InternalError("a command of the " +
                      std::string(kUnitNames[static_cast<std::size_t>(unit)]) +
                      " unit would be done before its predecessor");
}

}  // namespace

Recurrence::Recurrence(const ArchConfig& arch, const TokenCounts& initial)
    : arch_(without_texts(arch)),
      load_beat_shifts_{beat_shift(arch.bus_bytes, arch.array_rows),
                        beat_shift(arch.bus_bytes, arch.weight_word_bytes()),
                        beat_shift(arch.bus_bytes, arch.bus_bytes),
                        beat_shift(arch.bus_bytes, arch.bus_bytes)},
      store_beat_shift_(beat_shift(arch.bus_bytes, arch.array_cols)),
      reads_(arch),
      writes_(arch),
      tokens_(initial) {}

void Recurrence::reset() {
  units_.fill({});
  dataflow_ = 0;
  reads_.reset();
  writes_.reset();
  tokens_.reset();
}

CommandTime Recurrence::add(const Command& command) {
  const TokenMasks tokens{command.wait_mask, command.signal_mask};
  return std::visit([&](const auto& fields) { return add(fields, tokens); }, command.fields);
}

CommandTime Recurrence::add(const Load& load, const TokenMasks& tokens) {
  const std::uint64_t start = start_of(Unit::kLoad, free_cycle(Unit::kLoad), tokens.wait);
  const DramRecurrence::Times times =
      reads_.transfer(start, std::uint64_t{load.runs} * load.groups,
                      beats_of(load.run_bytes, load_beat_shifts_[load.memory & 3]));
  return finish(Unit::kLoad, tokens, start, times.free, times.done);
}

CommandTime Recurrence::add(const Execute& execute, const TokenMasks& tokens) {
  // Before the first EXECUTE both are 0, so that no switch is seen there.
  const bool switches = execute.dataflow != dataflow_;
  const std::uint64_t ready = switches ? done_cycle(Unit::kExecute) : free_cycle(Unit::kExecute);
  const std::uint64_t start = start_of(Unit::kExecute, ready, tokens.wait);
  dataflow_ = execute.dataflow;
  const Duration duration = execute_terms(execute, arch_).duration();
  return finish(Unit::kExecute, tokens, start, start + duration.occupancy,
                start + duration.latency);
}

CommandTime Recurrence::add(const Post& post, const TokenMasks& tokens) {
  const std::uint64_t start = start_of(Unit::kPost, free_cycle(Unit::kPost), tokens.wait);
  const Duration duration = post_duration(post, arch_);
  return finish(Unit::kPost, tokens, start, start + duration.occupancy, start + duration.latency);
}

CommandTime Recurrence::add(const Store& store, const TokenMasks& tokens) {
  const std::uint64_t start = start_of(Unit::kStore, free_cycle(Unit::kStore), tokens.wait);
  const DramRecurrence::Times times =
      writes_.transfer(start, std::uint64_t{store.runs} * store.groups,
                       beats_of(store.run_bytes, store_beat_shift_));
  return finish(Unit::kStore, tokens, start, times.free, times.done);
}

std::uint64_t Recurrence::start_of(Unit unit, std::uint64_t ready, std::uint16_t wait_mask) const {
  return std::max(ready, tokens_.arrival(unit, wait_mask));
}

// The times come one by one: a struct of them would go through memory.
CommandTime Recurrence::finish(Unit unit, TokenMasks tokens, std::uint64_t start,
                               std::uint64_t free, std::uint64_t done) {
  UnitState& state = units_[static_cast<std::size_t>(unit)];
  if (done < std::max(state.done, free)) done_too_early(unit);
  tokens_.take(unit, tokens.wait, start);
  state.free = free;
  state.done = done;
  tokens_.signal(unit, tokens.signal, done);
  return {start, free, done};
}

}  // namespace qsim::sim
