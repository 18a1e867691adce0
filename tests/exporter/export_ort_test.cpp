// ONNX Runtime gives golden's bytes for exported files of both forms. Skipped where it is not
// installed, unless QSIM_REQUIRE lists `onnxruntime`.
#include <cstdlib>
#include <iostream>
#include <set>

#include <gtest/gtest.h>

#include "formats/onnx/exporter/onnx_exporter.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "formats/traces/npy.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/exporter/random_networks.h"
#include "tests/importer/model_builder.h"
#include "tests/importer/onnx_layout.h"
#include "tests/importer/random_graphs.h"
#include "tests/onnx/ort_runner.h"

namespace qsim {

using namespace formats;
namespace {

bool onnxruntime_is_required() {
  const char* required = std::getenv("QSIM_REQUIRE");
  return required != nullptr &&
         ("," + std::string(required) + ",").find(",onnxruntime,") != std::string::npos;
}

struct Case {
  std::string name;
  Tensor expected;
  std::vector<std::byte> levels;  // of the output
  OrtRun run;
};

// Whether ONNX Runtime computes a sum in float32 for int8 tensors of several readers or for mixed
// types (docs/reference/onnx.md#qdq-graphs): then a few bytes may differ.
bool has_float_sums(const std::filesystem::path& file) {
  const std::set<std::string> sums = {"Conv", "Gemm", "Add", "AveragePool", "GlobalAveragePool"};
  bool found = false;
  ImportOptions options;
  options.on_float_node = [&](const FloatNode& node) { found = found || sums.contains(node.op); };
  import_onnx(file, options);
  return found;
}

bool reads_vectors(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model.graph().input(0).type().tensor_type().shape().dim_size() == 2;
}

Case make_case(const TestFolder& folder, const QuantizedNetwork& network, OnnxForm form,
               std::uint64_t seed) {
  const Graph& graph = network.graph;
  const std::string name = (form == OnnxForm::kQdq ? "qdq" : "qop") + std::to_string(seed);
  Case made{name, {}, {}, {folder / (name + ".onnx"), folder / (name + ".npy"), folder / name}};
  const std::string bytes = onnx_bytes(network, form);
  write_text(made.run.model, bytes);
  const Tensor levels = random_input(graph, seed);
  Tensor input = to_model_layout(levels, graph.host.layout, reads_vectors(bytes));
  if (graph.host.float_input) input = to_real(input, graph.input_value());
  write_npy(made.run.input, input);
  const Tensor last = golden::run_graph(graph, levels).back();
  made.levels = last.bytes;
  made.expected = to_model_layout(last, graph.host.layout, graph.host.flat_output);
  if (graph.host.float_output) made.expected = to_real(made.expected, graph.output_value());
  return made;
}

// QDQ files run in a plain session: weights of 7 bits are exact there on every processor.
void check_form(OnnxForm form, int least_cases) {
  const bool is_qdq = form == OnnxForm::kQdq;
  const TestFolder folder;
  std::vector<Case> cases;
  std::vector<OrtRun> runs;
  int left_out = 0;
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    const QuantizedNetwork network = random_network(seed, {.mixed_types = is_qdq,
                                                           .average_windows = false,
                                                           .requantize_alone = false,
                                                           .tails = false,
                                                           .narrow_weights = is_qdq});
    Case made = make_case(folder, network, form, seed);
    if (has_float_sums(made.run.model)) {
      ++left_out;
      continue;
    }
    runs.push_back(made.run);
    cases.push_back(std::move(made));
  }
  ASSERT_EQ(run_ort(*find_ort(), runs, "all", folder / "list.json", is_qdq), "");
  std::set<std::byte> values;
  std::int64_t outputs = 0;
  for (const Case& made : cases) {
    const Tensor found = read_npy(only_npy(made.run.outdir));
    EXPECT_EQ(shape_text(found.shape), shape_text(made.expected.shape)) << made.name;
    EXPECT_TRUE(found == made.expected) << made.name << " differs";
    outputs += found.elems();
    values.insert(made.levels.begin(), made.levels.end());
  }
  EXPECT_GE(std::ssize(cases), least_cases);
  EXPECT_GE(values.size(), 200U);
  std::cout << outputs << " outputs of " << cases.size() << " files equal; " << left_out
            << " files left out\n";
}

#define REQUIRE_ORT()                                                                    \
  if (!find_ort()) {                                                                     \
    if (onnxruntime_is_required()) FAIL() << "ONNX Runtime is not installed: tools/ort"; \
    GTEST_SKIP() << "skipped: no ONNX Runtime (tools/ort/install.sh BUILD_FOLDER/ort)";  \
  }

TEST(ExportToOnnxRuntime, QOperatorGivesGoldensBytes) {
  REQUIRE_ORT();
  check_form(OnnxForm::kQOperator, 150);
}

TEST(ExportToOnnxRuntime, QdqGivesGoldensBytes) {
  REQUIRE_ORT();
  check_form(OnnxForm::kQdq, 100);
}

}  // namespace
}  // namespace qsim
