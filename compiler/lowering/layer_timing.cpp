#include "compiler/lowering/layer_timing.h"

#include "compiler/lowering/schedule.h"
#include "timing/recurrence.h"

namespace qsim {
namespace {

class CostSink final : public CommandSink {
 public:
  explicit CostSink(const ArchConfig& arch) : recurrence_(arch, TokenCounts{}) {}

  void add(const Load& load, const Tokens& tokens, const CommandPlace&) override {
    recurrence_.add(load, {tokens.wait, tokens.signal});
    read_bytes_[load.memory] += bytes_of(load);
    ++commands_;
  }
  void add(const Execute& execute, const Tokens& tokens, const CommandPlace&) override {
    recurrence_.add(execute, {tokens.wait, tokens.signal});
    ++commands_;
  }
  void add(const Post& post, const Tokens& tokens, const CommandPlace&) override {
    recurrence_.add(post, {tokens.wait, tokens.signal});
    ++commands_;
  }
  void add(const Store& store, const Tokens& tokens, const CommandPlace&) override {
    recurrence_.add(store, {tokens.wait, tokens.signal});
    write_bytes_ += bytes_of(store);
    ++commands_;
  }

  LayerCost cost() const {
    return {recurrence_.done_cycle(Unit::kStore),
            read_bytes_[static_cast<std::size_t>(LoadMemory::kActivation)],
            read_bytes_[static_cast<std::size_t>(LoadMemory::kWeight)],
            read_bytes_[static_cast<std::size_t>(LoadMemory::kParameter)],
            write_bytes_,
            commands_};
  }

 private:
  template <typename Transfer>
  static std::uint64_t bytes_of(const Transfer& transfer) {
    return std::uint64_t{transfer.groups} * transfer.runs * transfer.run_bytes;
  }

  Recurrence recurrence_;
  std::array<std::uint64_t, 4> read_bytes_{};  // by LOAD's `memory`
  std::uint64_t write_bytes_ = 0;
  std::uint64_t commands_ = 0;
};

}  // namespace

LayerCost cost_of(const PlannedLayer& planned, const Mapping& mapping, const ArchConfig& arch) {
  CostSink sink(arch);
  Schedule(planned, mapping, arch, {}, sink).run();
  return sink.cost();
}

}  // namespace qsim
