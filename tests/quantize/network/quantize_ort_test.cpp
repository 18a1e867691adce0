// ONNX Runtime gives golden's bytes for float networks that were quantized: random ones in every
// kind of scale, and the shipped ones. Skipped where it is not installed, unless QSIM_REQUIRE lists
// `onnxruntime`.
#include <cstdlib>
#include <iostream>
#include <set>

#include <gtest/gtest.h>

#include "formats/onnx/exporter/onnx_exporter.h"
#include "formats/onnx/importer/real_importer.h"
#include "formats/traces/npy.h"
#include "golden/graph/cpu/graph_executor.h"
#include "quantize/calibration.h"
#include "quantize/fake_network.h"
#include "tests/importer/model_builder.h"
#include "tests/importer/onnx_layout.h"
#include "tests/onnx/ort_runner.h"
#include "tests/quantize/network/judged_run.h"

namespace qsim::quantize {

using namespace formats;
namespace {

namespace fs = std::filesystem;

bool onnxruntime_is_required() {
  const char* required = std::getenv("QSIM_REQUIRE");
  return required != nullptr &&
         ("," + std::string(required) + ",").find(",onnxruntime,") != std::string::npos;
}

#define REQUIRE_ORT()                                                                    \
  if (!find_ort()) {                                                                     \
    if (onnxruntime_is_required()) FAIL() << "ONNX Runtime is not installed: tools/ort"; \
    GTEST_SKIP() << "skipped: no ONNX Runtime (tools/ort/install.sh BUILD_FOLDER/ort)";  \
  }

// float32 [N][H][W][C] to [N][C][H][W].
Tensor planes_of(const Tensor& pictures) {
  const Shape& from = pictures.shape;
  Tensor planes(DType::kFloat32, {from[0], from[3], from[1], from[2]});
  const auto pixels = static_cast<std::size_t>(from[1] * from[2]);
  const auto channels = static_cast<std::size_t>(from[3]);
  for (std::size_t i = 0; i < planes.as<float>().size(); ++i) {
    const std::size_t picture = i / (channels * pixels);
    const std::size_t channel = i / pixels % channels;
    planes.as<float>()[i] =
        pictures.as<float>()[(picture * pixels + i % pixels) * channels + channel];
  }
  return planes;
}

// Files and their inputs for ONNX Runtime, and what golden makes of them.
class Witness {
 public:
  void add(const std::string& name, const QuantizedNetwork& network, const Tensor& pictures,
           OnnxForm form) {
    const Graph& graph = network.graph;
    OrtRun run{folder_ / (name + ".onnx"), folder_ / (name + ".npy"), folder_ / name};
    write_text(run.model, onnx_bytes(network, form));
    write_npy(run.input, planes_of(pictures));
    const Tensor input = quantized_tensor(pictures, graph.input_value());
    const Tensor last = golden::run_graph(graph, input).back();
    for (const int level : levels_of(last)) levels_.insert(level);
    const Tensor levels = to_model_layout(last, graph.host.layout, graph.host.flat_output);
    expected_.push_back(to_real(levels, graph.output_value()));
    runs_.push_back(std::move(run));
  }

  // Checks every file, and that the outputs have so many different levels. Counts the outputs.
  void check(std::int64_t& outputs, std::size_t least_levels) {
    EXPECT_EQ(run_ort(*find_ort(), runs_, "all", folder_ / "list.json"), "");
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const Tensor found = read_npy(only_npy(runs_[i].outdir));
      ASSERT_EQ(shape_text(found.shape), shape_text(expected_[i].shape)) << runs_[i].model;
      const auto a = found.as<float>();
      const auto b = expected_[i].as<float>();
      for (std::size_t at = 0; at < a.size(); ++at) ASSERT_EQ(a[at], b[at]) << runs_[i].model << at;
      outputs += found.elems();
    }
    std::cout << outputs << " outputs of " << runs_.size() << " files equal\n";
    EXPECT_GE(levels_.size(), least_levels);
  }

 private:
  TestFolder folder_;
  std::vector<OrtRun> runs_;
  std::vector<Tensor> expected_;
  std::set<int> levels_;
};

// Whether a pool's input and output have equal scales, because a Concat has both: many means are
// ties, which ONNX Runtime's float32 sums may bring to either side.
bool has_pool_of_ties(const Graph& graph) {
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (std::holds_alternative<AveragePool>(graph.layers[i].operation) &&
        graph.input_of(i).scale == graph.output_of(i).scale &&
        !graph.input_of(i).scale_exponent()) {
      return true;
    }
  }
  return false;
}

Tensor tensor_of(const PlainTensor& plain) {
  Tensor tensor(DType::kFloat32, plain.shape.nhwc());
  std::ranges::transform(plain.values, tensor.as<float>().begin(),
                         [](double value) { return static_cast<float>(value); });
  return tensor;
}

TEST(QuantizeToOnnxRuntime, RandomNetworksGiveGoldensBytes) {
  REQUIRE_ORT();
  Witness witness;
  int files = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SampleNetwork net = random_network(seed);
    Scheme scheme = scheme_of_type(seed % 2 == 0, static_cast<ScaleKind>(seed % 3));
    scheme.all.activations.bits = seed % 5 == 0 ? 5 : 8;
    scheme.all.weights.per_channel = seed % 7 != 0;
    // Weights with zero_points, one or one a channel, of unsigned and signed levels.
    if (seed % 7 == 0 || seed % 11 == 0) {
      scheme.all.weights.levels.is_unsigned = seed % 2 == 0;
      scheme.all.weights.symmetry = Symmetry::kAffine;
    }
    const JudgedRun run = run_of(net, scheme);
    if (has_pool_of_ties(run.network.graph)) continue;
    witness.add("net" + std::to_string(seed), run.network, tensor_of(net.picture()),
                OnnxForm::kQOperator);
    ++files;
  }
  EXPECT_GE(files, 130);
  std::int64_t outputs = 0;
  witness.check(outputs, 200);
}

// Their middle is odd, 127 of 0..254: half to even rounds another way once it is added.
TEST(QuantizeToOnnxRuntime, AveragePoolsOfReducedSymmetricLevelsGiveGoldensBytes) {
  REQUIRE_ORT();
  Witness witness;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    SampleNetwork net({1, 8, 8, 3}, seed);
    const TensorId first = seed % 4 == 0 ? net.graph().input : net.conv(net.graph().input, 4);
    const TensorId pooled = net.average_pool(first, seed % 8 < 4 ? 2 : 4, seed % 3 == 0);
    if (seed % 2 == 1) net.concat({net.conv(pooled, 4), pooled});  // two readers
    Scheme scheme =
        scheme_of_type(true, seed % 3 == 0 ? ScaleKind::kPowerOfTwo : ScaleKind::kDyadic);
    for (LayerScheme* one : {&scheme.all, &scheme.input}) {
      one->symmetry = seed % 5 == 0 ? Symmetry::kSymmetricMax : Symmetry::kSymmetric;
      one->activations.reduced = true;
      one->activations.bits = seed % 7 == 0 ? 6 : 8;
    }
    witness.add("net" + std::to_string(seed), run_of(net, scheme).network, tensor_of(net.picture()),
                OnnxForm::kQOperator);
  }
  std::int64_t outputs = 0;
  witness.check(outputs, 60);
}

TEST(QuantizeToOnnxRuntime, ShippedNetworksGiveGoldensBytes) {
  REQUIRE_ORT();
  Witness witness;
  golden::ThreadTeam team(2);
  for (const char* name : {"vgg8", "resnet14"}) {
    const Graph graph = import_real_onnx(
        std::make_shared<const HeldFile>(fs::path("models") / (std::string(name) + "-cifar10") /
                                         (std::string(name) + "-float.onnx")));
    SampleNetwork noise({1, 32, 32, 3});
    const Tensor picture = tensor_of(noise.picture());
    const CalibrationPictures one{1, [&](std::int64_t, std::int64_t) { return picture; }};
    const std::vector<TensorStatistics> statistics = calibrate(graph, one, team);
    for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kDyadic, ScaleKind::kPowerOfTwo}) {
      const Scheme scheme = scheme_of_type(kind != ScaleKind::kDyadic, kind);
      const QuantizedNetwork network =
          quantize_network(graph, quantize_tensors(graph, statistics, scheme), scheme);
      witness.add(name + std::to_string(static_cast<int>(kind)), network,
                  tensor_of(noise.picture()), OnnxForm::kQOperator);
    }
  }
  std::int64_t outputs = 0;
  witness.check(outputs, 40);
  EXPECT_EQ(outputs, 60);
}

}  // namespace
}  // namespace qsim::quantize
