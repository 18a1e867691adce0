#include "tests/rtl/networks/network_case.h"

#include "compiler/compile.h"
#include "core/error.h"
#include "golden/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/golden/random_dag.h"

namespace qsim {
namespace {

std::string difference_from_golden(const NetworkCase& made) {
  const Program& program = made.program.program;
  const std::vector<Tensor> golden = golden::run_graph(made.graph, made.program.input);
  const RunResult run = make_program_interpreter()->run(program, made.program.input, {});
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const ProgramLayer& layer = program.layers[i];
    if (run.ofmaps[i].bytes != golden[static_cast<std::size_t>(layer.graph_layer)].bytes) {
      return "layer " + layer.name + " differs from golden's";
    }
  }
  return "";
}

bool shares_dram(const Program& program) {
  for (std::size_t a = 0; a < program.layers.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const DramTensor& x = program.layers[a].ofmap;
      const DramTensor& y = program.layers[b].ofmap;
      if (x.address < y.address + y.size_bytes() && y.address < x.address + x.size_bytes()) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

NetworkCase compiled_case(const Graph& graph, const Tensor& input, const ArchConfig& arch,
                          const std::string& name) {
  CompileOptions options;
  options.dram_plan = DramPlan::kLifetime;
  return {graph, {name, compile(graph, arch, options), input}};
}

std::optional<NetworkCase> random_network_case(const ArchConfig& arch, std::uint64_t seed) {
  Random random(seed);
  golden_test::DagOptions options;
  options.operations.shifts = false;
  options.operations.wide_psums = false;
  options.most_steps = 8;
  options.most_channels = 20;
  options.most_batch = 2;
  const Graph graph = golden_test::random_dag(random, options);
  Tensor input(graph.input_value().dtype, graph.input_value().shape.nhwc());
  for (std::byte& byte : input.bytes) byte = static_cast<std::byte>(random.next() >> 56);
  try {
    return compiled_case(graph, input, arch, arch.name + ", seed " + std::to_string(seed));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel) throw;
    return std::nullopt;
  }
}

CaseResult run_network_case(const NetworkCase& made, Differential& differential) {
  CaseResult result;
  result.shares_dram = shares_dram(made.program.program);
  const DifferentialResult compared = differential.check(made.program);
  result.cycles = compared.cycles;
  result.difference =
      compared.difference ? compared.difference->text : difference_from_golden(made);
  return result;
}

}  // namespace qsim
