// Weight-only, dynamic and fake quantization: what the quantizer makes, the file of it, and what
// golden's plain loops and vector paths make of both.
#include "quantize/hybrid.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "formats/onnx/exporter/hybrid_exporter.h"
#include "formats/onnx/importer/real_importer.h"
#include "golden/graph/real/real_executor.h"
#include "quantize/calibration.h"
#include "quantize/fake_network.h"
#include "tests/cli/run_qsim.h"
#include "tests/quantize/network/judged_run.h"

namespace qsim::quantize {

using namespace formats;
namespace {

struct Case {
  HybridMode mode;
  int weight_bits = 8;
  bool log2_weights = false;
  bool affine_weights = false;
  int activation_bits = 8;
  bool log2_activations = false;
  bool per_channel = true;
};

const std::vector<Case> kCases = {
    {HybridMode::kWeightOnly},
    {HybridMode::kWeightOnly, 4, false, true},
    {HybridMode::kWeightOnly, 8, false, true, 8, false, false},
    {HybridMode::kWeightOnly, 4, true},
    {HybridMode::kWeightOnly, 5, true},
    {HybridMode::kWeightOnly, 1},
    {HybridMode::kDynamic},
    {HybridMode::kDynamic, 3, false, false, 8, false, false},
    {HybridMode::kDynamic, 8, false, true, 8, false, false},
    {HybridMode::kDynamic, 4, true},
    {HybridMode::kFake},
    {HybridMode::kFake, 4, false, false, 5},
    {HybridMode::kFake, 5, true, false, 4, true},
};

Tensor pictures_of(const ImageShape& shape, std::int64_t count) {
  Random random(17);
  Shape nhwc = shape.nhwc();
  nhwc[0] = count;
  Tensor pictures(DType::kFloat32, nhwc);
  for (float& x : pictures.as<float>()) {
    x = static_cast<float>(random.uniform(-1000, 1000)) / 400.0F;
  }
  return pictures;
}

HybridNetwork network_of(const Graph& graph, const Case& own, const Tensor& pictures,
                         golden::ThreadTeam& team) {
  Scheme scheme = scheme_of_type(true);
  scheme.all.activations.bits = own.activation_bits;
  scheme.all.weights.levels.bits = own.weight_bits;
  scheme.all.weights.log2 = own.log2_weights;
  scheme.all.weights.per_channel = own.per_channel;
  if (own.affine_weights) {
    scheme.all.weights.levels.is_unsigned = true;
    scheme.all.weights.symmetry = Symmetry::kAffine;
  }
  std::vector<std::optional<TensorRule>> rules;
  if (own.mode == HybridMode::kFake) {
    const CalibrationPictures all{pictures.shape[0],
                                  [&](std::int64_t, std::int64_t) { return pictures; }};
    const auto statistics = calibrate(graph, all, team);
    const auto tensors = quantize_tensors(graph, statistics, scheme);
    rules = own.log2_activations ? log2_rules(tensors, statistics, own.activation_bits,
                                              ClippingRule::kMse, ScaleKind::kFloat)
                                 : uniform_rules(tensors);
  }
  const auto weights = weights_of_layers(graph, TensorQuantizations(graph.tensors.size()), scheme);
  return hybrid_network(graph, own.mode, weights, rules);
}

std::vector<std::byte> output_of(const HybridNetwork& network, const Tensor& pictures,
                                 golden::ThreadTeam& team, bool plain) {
  golden::RealExecutorOptions options = golden::executor_options(network);
  options.plain = plain;
  return golden::RealExecutor(network.graph, options).run(pictures, team).bytes;
}

Graph torch_network(const std::string& name) {
  return import_real_onnx(std::make_shared<const HeldFile>(
      source_folder() / "tests/onnx/producers/torch" / (name + ".float.onnx")));
}

HybridNetwork reread(const TestFolder& folder, const HybridNetwork& network) {
  folder.write("net.onnx", onnx_bytes(network));
  const auto held = std::make_shared<const HeldFile>(folder / "net.onnx");
  EXPECT_TRUE(is_hybrid_onnx(held));
  EXPECT_FALSE(is_float_onnx(held));
  return import_hybrid_onnx(held);
}

void expect_equal(const RealLayerWeights& a, const RealLayerWeights& b) {
  ASSERT_EQ(a.weights.index(), b.weights.index());
  EXPECT_EQ(a.input.has_value(), b.input.has_value());
  if (const auto* log2 = std::get_if<qsim::Log2Weights>(&a.weights)) {
    const auto& other = std::get<qsim::Log2Weights>(b.weights);
    EXPECT_EQ(log2->signs, other.signs);
    EXPECT_EQ(log2->exponents, other.exponents);
    EXPECT_EQ(log2->scales, other.scales);
    EXPECT_EQ(log2->hi, other.hi);
    return;
  }
  const auto& integers = std::get<qsim::IntegerWeights>(a.weights);
  const auto& other = std::get<qsim::IntegerWeights>(b.weights);
  EXPECT_EQ(integers.levels, other.levels);
  EXPECT_EQ(integers.scales, other.scales);
  EXPECT_EQ(integers.zero_points, other.zero_points);
}

TEST(Hybrid, NetworksOfPyTorchComeBackFromTheirFilesAndRunToTheSameBits) {
  golden::ThreadTeam team(2);
  for (const char* name : {"vgg", "residual", "inverted_residual", "inception"}) {
    const Graph graph = torch_network(name);
    const Tensor pictures = pictures_of(graph.input_shape(), 3);
    for (const Case& own : kCases) {
      const TestFolder folder;
      const HybridNetwork network = network_of(graph, own, pictures, team);
      EXPECT_EQ(mode_of(network), own.mode);
      const HybridNetwork back = reread(folder, network);
      EXPECT_EQ(mode_of(back), own.mode);
      ASSERT_EQ(back.graph.layers.size(), network.graph.layers.size());
      ASSERT_EQ(back.weights.size(), network.weights.size());
      EXPECT_GE(network.weights.size(), 4U);
      for (const auto& [index, weights] : network.weights) {
        EXPECT_EQ(back.graph.layers[index].name, network.graph.layers[index].name);
        expect_equal(back.weights.at(index), weights);
      }
      const auto plain = output_of(network, pictures, team, true);
      EXPECT_EQ(output_of(network, pictures, team, false), plain) << name;
      EXPECT_EQ(output_of(back, pictures, team, false), plain) << name;
      EXPECT_NE(golden::RealExecutor(graph).run(pictures, team).bytes, plain) << name;
    }
  }
}

TEST(Hybrid, RandomNetworksRunToTheSameBitsFromTheirFiles) {
  golden::ThreadTeam team(1);
  int with_weights = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SampleNetwork sample = random_network(seed);
    sample.graph().host.float_input = sample.graph().host.float_output = true;
    const Tensor pictures = pictures_of(sample.graph().input_shape(), 1);
    const Case& own = kCases[seed % kCases.size()];
    const HybridNetwork network = network_of(sample.graph(), own, pictures, team);
    if (network.weights.empty()) continue;
    ++with_weights;
    const TestFolder folder;
    const HybridNetwork back = reread(folder, network);
    const auto plain = output_of(network, pictures, team, true);
    EXPECT_EQ(output_of(back, pictures, team, false), plain) << seed;
  }
  EXPECT_GE(with_weights, 40);
}

// A range is a picture's own, so pictures of one batch do not see each other.
TEST(Hybrid, DynamicRangesAreThoseOfEachPicture) {
  golden::ThreadTeam team(1);
  const Graph graph = torch_network("vgg");
  Tensor pictures = pictures_of(graph.input_shape(), 2);
  const std::size_t half = pictures.as<float>().size() / 2;
  for (float& x : pictures.as<float>().subspan(half)) x *= 16;
  const HybridNetwork network = network_of(graph, {HybridMode::kDynamic}, pictures, team);
  const auto both = output_of(network, pictures, team, false);
  Tensor first = pictures;
  first.shape[0] = 1;
  first.bytes.resize(first.bytes.size() / 2);
  const auto alone = output_of(network, first, team, false);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), both.begin()));
}

TEST(Hybrid, DynamicQuantizationRefusesWeightsThatInt8DoesNotHold) {
  golden::ThreadTeam team(1);
  const Graph graph = torch_network("vgg");
  const Tensor pictures = pictures_of(graph.input_shape(), 1);
  try {
    network_of(graph, {HybridMode::kDynamic, 5, true}, pictures, team);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupportedModel);
    EXPECT_NE(std::string(error.what())
                  .find("dynamic quantization of weights that int8 does not "
                        "hold; supported: at most 8 bits, 4 of powers of two"),
              std::string::npos)
        << error.what();
  }
}

template <typename Work>
void expect_error_of(Work work, ExitCode code, const std::string& message) {
  try {
    work();
    FAIL() << "expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(Hybrid, FilesRefuseWhatTheyHaveNoNodesFor) {
  golden::ThreadTeam team(1);
  const Graph graph = torch_network("vgg");
  const Tensor pictures = pictures_of(graph.input_shape(), 1);
  HybridNetwork wide = network_of(graph, {HybridMode::kWeightOnly, 5, true}, pictures, team);
  for (auto& [index, weights] : wide.weights) weights.input = DynamicRule{};
  expect_error_of([&] { onnx_bytes(wide); }, ExitCode::kUnsupportedModel,
                  "dynamic quantization with weights beyond 8 bits; supported: weights that int8 "
                  "holds");
  HybridNetwork ruled = network_of(graph, {HybridMode::kFake}, pictures, team);
  ruled.rules[graph.input] = FloatRule{};
  expect_error_of([&] { onnx_bytes(ruled); }, ExitCode::kUnsupportedModel,
                  "tensor 'input': a rule that the file has no node for; supported: uniform levels "
                  "and powers of two");
  expect_error_of([] { log2_rules({}, {}, 6, ClippingRule::kMse, ScaleKind::kFloat); },
                  ExitCode::kBadInput,
                  "activations that are powers of two have 6 bits; expected 2 to 5");
}

// Static log2 weights are int8 on the array: the same bytes as golden's shifts of the same inputs,
// with the bias and the requantizer of the integer network.
TEST(Log2Weights, OnTheArrayGiveTheBytesOfGoldensShifts) {
  golden::ThreadTeam team(1);
  for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kDyadic, ScaleKind::kPowerOfTwo}) {
    SampleNetwork sample({1, 8, 8, 5}, 3 + static_cast<std::uint64_t>(kind));
    sample.conv(0, 12);
    Scheme scheme = scheme_of_type(true, kind);
    scheme.all.weights.log2 = true;
    scheme.all.weights.levels.bits = 4;
    const JudgedRun run = run_of(sample, scheme);
    const Graph& graph = run.network.graph;
    const auto& conv = std::get<Conv2d>(graph.layers[0].operation);
    // y = float32(sum of shifts), exact below 2^24.
    Graph shifts = sample.graph();
    auto& real = std::get<Conv2d>(shifts.layers[0].operation);
    std::ranges::fill(real.bias.as<float>(), 0.0F);
    golden::RealExecutorOptions options;
    options.layer_weights[0] = {log2_weights(conv.weights, {1.0F}),
                                UniformRule{1.0F, 0, -255, 255}};
    const Value& input = graph.input_value();
    Tensor levels(DType::kFloat32, input.shape.nhwc());
    std::ranges::transform(run.quantized[0].values, levels.as<float>().begin(), [&](double value) {
      return static_cast<float>(std::nearbyint(value / input.scale->real()));
    });
    const Tensor sums = golden::RealExecutor(shifts, options).run(levels, team);
    const Tensor& bytes = run.levels[0];
    std::set<int> seen;
    for (std::size_t i = 0; i < bytes.bytes.size(); ++i) {
      const auto channel = static_cast<std::int64_t>(i % 12);
      const std::int32_t expected =
          conv.requantization.level(static_cast<std::int32_t>(sums.as<float>()[i]),
                                    conv.bias.as<std::int32_t>()[static_cast<std::size_t>(channel)],
                                    channel, graph.output_value().zero_point);
      ASSERT_EQ(int{bytes.as<std::uint8_t>()[i]}, expected) << i;
      seen.insert(expected);
    }
    EXPECT_GT(seen.size(), 40U);
  }
}

// Every rule's values are +-scale 2^e or 0, with as many exponents as the bits hold.
TEST(Log2Rules, HaveAsManyExponentsAsTheirBits) {
  TensorStatistics statistics;
  const std::vector<float> values = {-3.0F, -0.5F, 0.0F, 0.25F, 4.0F};
  add_range(values, statistics);
  add_values(values, statistics);
  TensorStatistics positive;
  const std::vector<float> above = {0.0F, 0.5F, 6.0F};
  add_range(above, positive);
  add_values(above, positive);
  const TensorQuantizations tensors = {Quantization{}, std::nullopt, Quantization{}};
  const auto rules = log2_rules(tensors, {statistics, statistics, positive}, 4,
                                ClippingRule::kMinMax, ScaleKind::kFloat);
  EXPECT_FALSE(rules[1]);
  const auto& both = std::get<Log2Rule>(*rules[0]);
  EXPECT_EQ(both.scale, 4.0F);
  EXPECT_EQ(both.lo, -6);
  EXPECT_EQ(both.hi, 0);
  const auto& one = std::get<Log2Rule>(*rules[2]);
  EXPECT_EQ(one.scale, 6.0F);
  EXPECT_EQ(one.lo, -14);
  const auto powers = log2_rules(tensors, {statistics, statistics, positive}, 4,
                                 ClippingRule::kMinMax, ScaleKind::kPowerOfTwo);
  EXPECT_EQ(std::get<Log2Rule>(*powers[2]).scale, 8.0F);  // 6 is nearer to 8 than to 4, in octaves
}

}  // namespace
}  // namespace qsim::quantize
