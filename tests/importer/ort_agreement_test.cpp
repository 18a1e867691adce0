// The importer and the golden library against ONNX Runtime, byte for byte. Where ONNX Runtime is
// not installed the tests are skipped, unless QSIM_REQUIRE lists `onnxruntime`.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <set>

#include <gtest/gtest.h>

#include "formats/onnx/importer/onnx_importer.h"
#include "formats/traces/npy.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/importer/model_builder.h"
#include "tests/importer/onnx_layout.h"
#include "tests/importer/random_graphs.h"
#include "tests/onnx/onnx_writer.h"
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
  std::uint64_t seed = 0;
  Graph graph;
  Tensor input;  // NHWC
  OrtRun run;
};

Case make_case(const TestFolder& folder, Graph graph, std::uint64_t seed) {
  const std::string name = std::to_string(seed);
  Case made{seed, std::move(graph), {}, {}};
  made.run = {folder / (name + ".onnx"), folder / (name + ".npy"), folder / (name + ".out")};
  made.input = random_input(made.graph, seed);
  write_onnx(made.graph, made.run.model);
  const HostInterface& host = made.graph.host;
  const bool flat = std::holds_alternative<FullyConnected>(made.graph.layers[0].operation);
  Tensor input = to_model_layout(made.input, host.layout, flat);
  if (host.float_input) input = to_real(input, made.graph.input_value());
  write_npy(made.run.input, input);
  return made;
}

// Quantized outputs by value, to show that the networks are alive.
using Histogram = std::array<std::int64_t, 256>;

// What qsim makes of the file.
Tensor golden_output(const Case& made, Histogram& histogram) {
  const Graph graph = import_onnx(made.run.model);
  const Tensor last = golden::run_graph(graph, made.input).back();
  for (const std::byte byte : last.bytes) ++histogram[static_cast<std::size_t>(byte)];
  const Tensor output = to_model_layout(last, graph.host.layout, graph.host.flat_output);
  return graph.host.float_output ? to_real(output, graph.output_value()) : output;
}

void compare(const std::vector<Case>& cases, Histogram& histogram) {
  for (const Case& made : cases) {
    SCOPED_TRACE("seed " + std::to_string(made.seed));
    const Tensor expected = read_npy(only_npy(made.run.outdir));
    const Tensor found = golden_output(made, histogram);
    EXPECT_EQ(found.dtype, expected.dtype);
    EXPECT_EQ(shape_text(found.shape), shape_text(expected.shape));
    EXPECT_TRUE(found.bytes == expected.bytes) << "bytes differ";
  }
}

// Runs all graphs of `make` through ONNX Runtime, plain and optimised, and compares.
Histogram check_agreement(Graph (*make)(std::uint64_t), std::uint64_t count) {
  const TestFolder folder;
  std::vector<Case> cases;
  std::vector<OrtRun> runs;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    cases.push_back(make_case(folder, make(seed), seed));
    runs.push_back(cases.back().run);
  }
  Histogram histogram{};
  for (const char* optimization : {"disabled", "all"}) {
    SCOPED_TRACE(std::string("graph optimization ") + optimization);
    const std::string failure = run_ort(*find_ort(), runs, optimization, folder / "list.json");
    EXPECT_EQ(failure, "");
    if (!failure.empty()) return {};
    histogram = {};
    compare(cases, histogram);
  }
  return histogram;
}

void expect_alive(const Histogram& histogram, std::int64_t min_total, std::int64_t min_distinct) {
  std::int64_t total = 0;
  std::int64_t distinct = 0;
  for (const std::int64_t count : histogram) {
    total += count;
    distinct += count > 0 ? 1 : 0;
  }
  const std::int64_t most = *std::max_element(histogram.begin(), histogram.end());
  EXPECT_GT(total, min_total);
  EXPECT_GE(distinct, min_distinct);
  EXPECT_LT(most, total / 4);
  std::cout << total << " outputs equal, of " << distinct << " different values, the most frequent "
            << 100 * most / std::max<std::int64_t>(total, 1) << "%\n";
}

#define REQUIRE_ORT()                                                                    \
  if (!find_ort()) {                                                                     \
    if (onnxruntime_is_required()) FAIL() << "ONNX Runtime is not installed: tools/ort"; \
    GTEST_SKIP() << "skipped: no ONNX Runtime (tools/ort/install.sh BUILD_FOLDER/ort)";  \
  }

TEST(OnnxRuntime, AgreesOnTwoHundredRandomConvolutions) {
  REQUIRE_ORT();
  std::cout << "seeds 0 to 199\n";
  expect_alive(check_agreement(random_convolution, 200), 20'000, 256);
}

TEST(OnnxRuntime, AgreesOnFiftyRandomChains) {
  REQUIRE_ORT();
  std::cout << "seeds 0 to 49\n";
  expect_alive(check_agreement(random_chain, 50), 800, 200);
}

void expect_equal_logits(const std::filesystem::path& model) {
  SCOPED_TRACE(model.string());
  const TestFolder folder;
  const Graph graph = import_onnx(model, 64);
  const Tensor input = random_input(graph, 0);
  const OrtRun run{model, folder / "input.npy", folder / "out"};
  write_npy(run.input,
            to_real(to_model_layout(input, graph.host.layout, false), graph.input_value()));
  for (const char* optimization : {"disabled", "all"}) {
    ASSERT_EQ(run_ort(*find_ort(), {run}, optimization, folder / "list.json"), "");
    const Tensor expected = read_npy(only_npy(run.outdir));
    const Tensor last = golden::run_graph(graph, input).back();
    EXPECT_EQ(shape_text(expected.shape), "[64, 10]");
    EXPECT_GT((std::set<std::byte>{last.bytes.begin(), last.bytes.end()}.size()), 20U);
    EXPECT_TRUE(to_real(to_model_layout(last, graph.host.layout, true), graph.output_value()) ==
                expected)
        << "logits differ, graph optimization " << optimization;
  }
}

TEST(OnnxRuntime, AgreesOnTheShippedModels) {
  REQUIRE_ORT();
  expect_equal_logits("models/vgg8-cifar10/vgg8-int8.onnx");
  expect_equal_logits("models/resnet14-cifar10/resnet14-int8.onnx");
  expect_equal_logits("models/vgg8-cifar10/vgg8-w4.onnx");
  expect_equal_logits("models/resnet14-cifar10/resnet14-w4.onnx");
}

}  // namespace
}  // namespace qsim
