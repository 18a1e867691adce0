#include "compiler/lowering/layer_timing.h"

#include <algorithm>
#include <limits>

#include "compiler/lowering/schedule.h"
#include "sim/recurrence/recurrence.h"

namespace qsim::compiler {
namespace {

class CostSink : public CommandSink {
 public:
  explicit CostSink(const ArchConfig& arch) : recurrence_(arch, sim::TokenCounts{}) {}

  void add(const Load& load, const Tokens& tokens, const CommandPlace&) override {
    time(load, tokens);
  }
  void add(const Execute& execute, const Tokens& tokens, const CommandPlace&) override {
    time(execute, tokens);
  }
  void add(const Post& post, const Tokens& tokens, const CommandPlace&) override {
    time(post, tokens);
  }
  void add(const Store& store, const Tokens& tokens, const CommandPlace&) override {
    time(store, tokens);
  }

  std::int64_t commands() const { return static_cast<std::int64_t>(commands_); }

  LayerCost cost() const {
    return {recurrence_.done_cycle(Unit::kStore),
            read_bytes_[static_cast<std::size_t>(LoadMemory::kActivation)],
            read_bytes_[static_cast<std::size_t>(LoadMemory::kWeight)],
            read_bytes_[static_cast<std::size_t>(LoadMemory::kParameter)],
            write_bytes_,
            commands_};
  }

 protected:
  template <typename Transfer>
  static std::uint64_t bytes_of(const Transfer& transfer) {
    return std::uint64_t{transfer.groups} * transfer.runs * transfer.run_bytes;
  }

  CommandTime time(const Load& load, const Tokens& tokens) {
    read_bytes_[reported_memory(load.memory)] += bytes_of(load);
    return count(load, tokens);
  }
  CommandTime time(const Store& store, const Tokens& tokens) {
    write_bytes_ += bytes_of(store);
    return count(store, tokens);
  }
  template <typename Compute>
  CommandTime time(const Compute& command, const Tokens& tokens) {
    return count(command, tokens);
  }

 private:
  template <typename Fields>
  CommandTime count(const Fields& fields, const Tokens& tokens) {
    ++commands_;
    return recurrence_.add(fields, {tokens.wait, tokens.signal});
  }

  sim::Recurrence recurrence_;
  std::array<std::uint64_t, 4> read_bytes_{};  // by LOAD's `memory`
  std::uint64_t write_bytes_ = 0;
  std::uint64_t commands_ = 0;
};

// Compares, after every command, the work that is left to its unit with the cycles that are left.
class LimitedSink final : public CostSink {
 public:
  LimitedSink(const ArchConfig& arch, const LayerWork& work, std::int64_t most_cycles,
              const std::function<bool()>& is_over)
      : CostSink(arch),
        left_(work),
        most_cycles_(most_cycles),
        is_over_(is_over),
        load_beats_{std::min(arch.bus_bytes, arch.array_rows),
                    std::min(arch.bus_bytes, arch.weight_word_bytes()), arch.bus_bytes,
                    arch.bus_bytes},
        store_beat_(std::min(arch.bus_bytes, arch.array_cols)) {}

  void add(const Load& load, const Tokens& tokens, const CommandPlace&) override {
    spend(left_.reads, beats(load, load_beats_[load.memory & 3]), left_.after_reads,
          time(load, tokens));
  }
  void add(const Execute& execute, const Tokens& tokens, const CommandPlace&) override {
    const CommandTime times = time(execute, tokens);
    spend(left_.array, static_cast<std::int64_t>(times.free - times.start), left_.after_array,
          times);
  }
  void add(const Post& post, const Tokens& tokens, const CommandPlace&) override {
    const CommandTime times = time(post, tokens);
    spend(left_.posts, static_cast<std::int64_t>(times.free - times.start), left_.after_posts,
          times);
  }
  void add(const Store& store, const Tokens& tokens, const CommandPlace&) override {
    spend(left_.writes, beats(store, store_beat_), left_.after_writes, time(store, tokens));
  }
  bool is_full() const override { return is_full_; }

 private:
  template <typename Transfer>
  static std::int64_t beats(const Transfer& transfer, std::int64_t beat_bytes) {
    return ceil_div(static_cast<std::int64_t>(bytes_of(transfer)), beat_bytes);
  }

  void spend(std::int64_t& left, std::int64_t cycles, std::int64_t after,
             const CommandTime& times) {
    left -= cycles;
    is_full_ |= static_cast<std::int64_t>(times.free) + std::max<std::int64_t>(0, left) + after >
                most_cycles_;
    if (is_over_ && commands() % kCommandsPerLook == 0) is_full_ |= is_over_();
  }

  LayerWork left_;
  std::int64_t most_cycles_;
  const std::function<bool()>& is_over_;
  std::array<std::int64_t, 4> load_beats_;  // bytes, by LOAD's `memory`
  std::int64_t store_beat_;
  bool is_full_ = false;
};

}  // namespace

LayerCost cost_of(const PlannedLayer& planned, const Mapping& mapping, const ArchConfig& arch) {
  CostSink sink(arch);
  Schedule(planned, mapping, arch, {}, sink).run();
  return sink.cost();
}

std::optional<LayerCost> cost_within(const PlannedLayer& planned, const Mapping& mapping,
                                     const ArchConfig& arch, const LayerWork& work,
                                     std::int64_t most_cycles, std::int64_t& commands,
                                     const std::function<bool()>& is_over) {
  LimitedSink sink(arch, work, most_cycles, is_over);
  const bool is_whole = Schedule(planned, mapping, arch, {}, sink).run();
  commands += sink.commands();
  const LayerCost cost = sink.cost();
  if (!is_whole || static_cast<std::int64_t>(cost.cycles) > most_cycles) return std::nullopt;
  return cost;
}

}  // namespace qsim::compiler
