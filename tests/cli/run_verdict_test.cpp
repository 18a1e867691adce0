// The middle and the end of `qsim run` in this process, where golden can be made wrong: its exit
// code, what it says and keeps of a wrong ofmap, and which phase the comparing counts as.
#include "cli/session/run/run_verdict.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/session/inputs/model_source.h"
#include "cli/session/run/run_folder.h"
#include "cli/session/run/simulation.h"
#include "compiler/compile.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace cli;
using namespace compiler;
using namespace report;
namespace {

using Json = nlohmann::json;

// Two convolutions of `size` x `size` pixels; both have an ofmap.
std::string two_layers(int size) {
  const std::string pixels = std::to_string(size);
  return "seed: 3\ninput: {shape: [1, " + pixels + ", " + pixels +
         ", 4], dtype: uint8}\nlayers:\n"
         "  - {op: conv2d, name: first, out_channels: 4, kernel: 1, relu: true}\n"
         "  - {op: conv2d, name: second, out_channels: 32, kernel: 1}\n";
}

InterruptWatch& watch() {
  static InterruptWatch& one = *new InterruptWatch;  // its thread outlives every test
  return one;
}

// A network on the interpreter, whose golden tensors are in the test's hands before the run.
class OneRun {
 public:
  explicit OneRun(int size) {
    options_.model = folder_.write("two_layers.yaml", two_layers(size));
    options_.out = (folder_ / "out").string();
    options_.engine = "interpreter";
    const ArchConfig config = load_config(options_);
    GoldenSelection golden("", "cpu", [](const std::string&) {});
    Context context({}, {}, {"qsim"}, watch());
    const ImportRequest request{network_of(options_), options_, options_, need_of(options_)};
    network_ = import_network(context, request, config, golden);
    Compilation compilation(std::move(network_.graph), config);
    expected_ = golden.run_once(compilation.graph(), network_.input, compilation.ofmap_layers());
    program_ = std::move(compilation).program();
  }

  std::vector<std::byte>& golden_of_last() { return expected_.back().bytes; }

  ExitCode run() {
    Context context({}, {}, {"qsim"}, watch());
    make_output_folders(context, options_);
    OfmapSink sink(program_, expected_, true, false);
    const auto simulated = [&] {
      return simulate(program_, network_.input, sink, report_.phases, context, options_);
    };
    const RunResult result = timed(simulate_seconds_, simulated);
    add_layers(report_, program_, result);
    testing::internal::CaptureStdout();
    const ExitCode code =
        finish_run(context, options_, report_,
                   {network_, network_.graph, sink, "cpu", expected_, program_, result.times});
    printed_ = testing::internal::GetCapturedStdout();
    return code;
  }

  const RunReport& report() const { return report_; }
  const std::string& printed() const { return printed_; }
  Json run_json() const { return Json::parse(read_file(folder_ / "out/run.json")); }
  double simulate_seconds() const { return simulate_seconds_; }  // around simulate()

 private:
  TestFolder folder_;
  RunCommandOptions options_;
  Network network_;
  std::vector<Tensor> expected_;
  Program program_;
  RunReport report_;
  std::string printed_;
  double simulate_seconds_ = 0;
};

TEST(RunVerdict, AnOfmapThatIsAsGoldenSaysEndsWith0) {
  OneRun one(6);
  EXPECT_EQ(one.run(), ExitCode::kOk);
  EXPECT_NE(one.printed().find("0 mismatches"), std::string::npos) << one.printed();
  EXPECT_EQ(one.run_json()["verify"]["values"], 6 * 6 * (4 + 32));
  EXPECT_EQ(one.run_json()["verify"]["mismatches"], 0);
}

TEST(RunVerdict, OneWrongValueEndsWith5AndIsNamedInAllThatIsLeft) {
  OneRun one(6);
  one.golden_of_last()[7] ^= std::byte{1};
  EXPECT_EQ(one.run(), ExitCode::kMismatch);
  EXPECT_NE(one.printed().find(", 1 mismatches\nfirst divergence: second tile 0 ("),
            std::string::npos)
      << one.printed();
  const Json verify = one.run_json()["verify"];
  EXPECT_EQ(verify["golden"], "cpu");
  EXPECT_EQ(verify["mismatches"], 1);
  EXPECT_EQ(verify["first_divergence"]["layer"], "second");
  EXPECT_EQ(verify["first_divergence"]["c"], 7);
}

// Holds on any machine; 2 MB that all differ take far longer than what lies between the two clocks.
TEST(RunVerdict, ComparingIsAPhaseOfItsOwnAndInNoOther) {
  OneRun one(256);
  for (std::byte& byte : one.golden_of_last()) byte ^= std::byte{1};
  EXPECT_EQ(one.run(), ExitCode::kMismatch);
  const PhaseSeconds& phases = one.report().phases;
  EXPECT_GT(phases.compare, 0);
  EXPECT_GE(phases.simulate, one.report().wall_seconds);
  EXPECT_LE(phases.simulate + phases.compare, one.simulate_seconds());
  EXPECT_EQ(one.run_json()["phase_seconds"]["compare"], phases.compare);
}

}  // namespace
}  // namespace qsim
