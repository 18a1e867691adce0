// Random graphs with branches and all operations, compiled: the verifier finds no fault, and every
// ofmap is that of golden's plain loops.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/random_network.h"
#include "tests/golden/random_dag.h"

namespace qsim {

using namespace compiler;
using namespace sim;
namespace {

// The program, or what the accelerator lacks.
std::optional<Program> compiled(const Graph& graph, const ArchConfig& arch, std::string& refusal) {
  try {
    return compile(graph, arch);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel) << error.what();
    refusal = error.what();
    return std::nullopt;
  }
}

void expect_goldens_ofmaps(const Graph& graph, const Program& program, const Tensor& input) {
  const RunResult result = make_program_interpreter()->run(program, input, RunOptions{});
  golden::ExecutorOptions options;
  options.path = golden::Path::kPlain;
  const std::vector<Tensor> golden = golden::run_graph(graph, input, options);
  ASSERT_EQ(result.ofmaps.size(), program.layers.size());
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const ProgramLayer& layer = program.layers[i];
    EXPECT_EQ(result.ofmaps[i], golden[static_cast<std::size_t>(layer.graph_layer)]) << layer.name;
  }
}

TEST(DagPrograms, OfRandomGraphsEveryOfmapIsGoldens) {
  constexpr std::uint64_t kFirstSeed = 1;
  std::map<std::string, int> run;  // by operation
  int refused = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ArchConfig arch = testing::random_machine(random);
    arch.requantizer = RequantizerKind::kDyadic;
    arch.act_scratchpad_kib = arch.accumulator_kib = arch.weight_scratchpad_kib = 16;
    golden_test::DagOptions options;
    options.operations.shifts = false;  // some of their roundings are golden's alone
    options.operations.wide_psums = false;
    options.most_steps = 6;
    options.most_channels = 20;
    const Graph graph = golden_test::random_dag(random, options);
    Tensor input(graph.input_value().dtype, graph.input_value().shape.nhwc());
    for (std::byte& b : input.bytes) b = static_cast<std::byte>(random.next() >> 56);
    std::string refusal;
    const std::optional<Program> program = compiled(graph, arch, refusal);
    if (!program) {
      ++refused;
      EXPECT_NE(refusal.find("dilation is"), std::string::npos) << refusal;
      continue;
    }
    for (const Layer& layer : graph.layers) ++run[std::string(operation_name(layer.operation))];
    expect_goldens_ofmaps(graph, *program, input);
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_LE(refused, 50) << "graphs with a dilated pool";
  for (const char* operation :
       {"conv2d", "max_pool", "relu", "average_pool", "add", "concat", "lookup_table"}) {
    EXPECT_GE(run[operation], 15) << operation;
  }
}

}  // namespace
}  // namespace qsim
