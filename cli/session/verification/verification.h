// Programs run on several engines and compared, layer by layer, with golden and with recorded
// ofmaps. Counts; never prints, and never throws for a mismatch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/session/engines/engines.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/verification/time_comparison.h"
#include "core/machine/engine.h"
#include "report/tensor_comparison.h"

namespace qsim::cli {

// What one witness saw: an engine, or golden against a layer trace or another backend.
struct WitnessTally {
  std::string name;
  std::int64_t programs = 0;
  std::int64_t values = 0;
  std::int64_t mismatches = 0;
  std::string first;  // the first divergence in words; "" when there is none
  std::vector<report::LayerComparison> layers;  // summed over the programs, by position
};

// Two engines that have time: the first one and another.
struct TimeTally {
  std::string name;  // "rtl against systemc"
  std::int64_t commands = 0;
  std::int64_t mismatches = 0;
  std::string first;  // the first divergence in words; "" when there is none
};

class Verification {
 public:
  // An engine that has orders runs twice, in order and in random order. Each run's times are
  // compared with the token rules too (report/analysis/cycle_accounting.h), and against each other:
  // the SystemC model's are what is expected of the others, and without it those of the recurrence.
  Verification(const std::vector<std::string>& engines, std::uint64_t seed,
               const EngineSettings& settings = {});

  // Runs `program` on every engine, and compares those that have data with `golden` and, unless
  // empty, with a trace's `recorded` ofmaps: one tensor per graph layer. `what` names the case in a
  // divergence
  // ("image 3"); "" for the only one.
  void check(const std::string& what, const Program& program, const Tensor& input,
             const std::vector<Tensor>& golden, const std::vector<Tensor>& recorded);

  // Runs golden's backends on `input`, compares the tensors of every layer where there are two
  // ("golden cuda against cpu"), and gives those of the first.
  std::vector<Tensor> run_golden(const std::string& what, const Graph& graph, const Tensor& input,
                                 std::vector<std::unique_ptr<GoldenRunner>>& backends);

  // Compares golden's tensors with a trace's, layers that run fused included.
  void check_golden(const Graph& graph, const std::vector<Tensor>& golden,
                    const std::vector<Tensor>& recorded);

  const std::vector<WitnessTally>& witnesses() const { return witnesses_; }
  const std::vector<TimeTally>& times() const { return times_; }
  std::int64_t values() const;
  std::int64_t mismatches() const;      // of values
  std::int64_t timed_commands() const;  // commands whose times were compared
  std::int64_t time_mismatches() const;
  std::string first_divergence() const;  // "systemc, image 3: conv2 tile 1 ..."; "" for none

 private:
  WitnessTally& tally_of(const std::string& name);  // made when it is not there
  void add(WitnessTally& tally, const std::string& what, const report::Comparison& comparison);
  void add_times(const std::string& what, const Program& program,
                 const std::vector<CommandTimes>& times);

  struct Participant {
    const EngineRow* row;
    std::unique_ptr<Engine> engine;
    std::optional<std::size_t> witness;  // of witnesses_; absent for an engine without data
  };

  void join(const EngineRow& row, const EngineSettings& settings, const std::string& witness_name);

  std::vector<Participant> participants_;
  std::vector<WitnessTally> witnesses_;
  std::vector<TimeTally> times_;
  std::uint64_t seed_;
};

}  // namespace qsim::cli
