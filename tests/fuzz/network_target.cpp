// A random network on a random accelerator, through everything: the compiler takes it or refuses
// it by an Error of exit code 4, and what it takes is a legal program that gives the golden's bytes
// in every engine.
#include <sstream>

#include "compiler/compile.h"
#include "compiler/verifier/verify.h"
#include "core/machine/program_text.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/fuzz/engine_agreement.h"
#include "tests/fuzz/network_from_bytes.h"

namespace qsim::fuzz {

using namespace compiler;
namespace {

// Plain loops, which the vector paths must agree with.
std::vector<Tensor> golden_ofmaps(const Graph& graph, const Tensor& input) {
  const std::vector<Tensor> plain = golden::run_graph(graph, input, golden::Path::kPlain);
  for (const golden::VectorPath path : golden::kVectorPaths) {
    if (!golden::is_available(path)) continue;
    golden::ExecutorOptions options;
    options.vector_path = path;
    require(golden::run_graph(graph, input, options) == plain,
            "the golden's path " + std::string(golden::vector_path_name(path)) +
                " differs from its plain loops");
  }
  return plain;
}

void check_text(const Program& program) {
  std::ostringstream text;
  print_program(program, text);
  require(parse_program(text.str(), "printed") == program, "parse(print(program)) differs");
}

void check_program(const Graph& graph, const Program& program, const Tensor& input,
                   std::uint64_t seed) {
  for (const std::string& violation : verify(program, program.arch)) {
    finding("the compiled program breaks a rule: " + violation);
  }
  check_text(program);
  const std::vector<Tensor> golden = golden_ofmaps(graph, input);
  const std::vector<Tensor> ofmaps = run_everywhere(program, input, seed);
  require(ofmaps.size() == program.layers.size(), "another number of ofmaps than layers");
  for (std::size_t i = 0; i < ofmaps.size(); ++i) {
    const auto layer = static_cast<std::size_t>(program.layers[i].graph_layer);
    require(ofmaps[i] == golden.at(layer),
            "layer '" + program.layers[i].name + "' differs from the golden");
  }
  // What follows the last ofmap is the host's business: an order of elements.
  for (auto i = static_cast<std::size_t>(program.layers.back().graph_layer) + 1;
       i < graph.layers.size(); ++i) {
    require(std::holds_alternative<Flatten>(graph.layers[i].operation),
            "the program leaves out layer '" + graph.layers[i].name + "'");
  }
}

}  // namespace

bool fuzz_one(Bytes input) {
  ByteSource bytes(input);
  const auto seed = static_cast<std::uint64_t>(bytes.pick(0, 255));
  const std::optional<ArchConfig> arch = arch_from(bytes);
  if (!arch) return false;
  const Graph graph = graph_from(bytes);
  const Tensor picture = input_from(bytes, graph.input_value());
  validate(graph);
  Program program;
  const ExitCode code = outcome([&] { program = compile(graph, *arch); });
  require(code != ExitCode::kBadInput, "a valid graph is refused as bad input");
  if (code != ExitCode::kOk) return false;
  check_program(graph, program, picture, seed);
  return true;
}

}  // namespace qsim::fuzz
