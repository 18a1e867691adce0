// Fake quantization beside the integer-only network.
#include "quantize/fake_network.h"

#include <cmath>

#include <gtest/gtest.h>

#include "golden/graph/real/real_executor.h"
#include "tests/quantize/network/integer_output.h"
#include "tests/quantize/network/judged_run.h"

namespace qsim::quantize {
namespace {

Tensor tensor_of(const PlainTensor& plain) {
  Tensor tensor(DType::kFloat32, plain.shape.nhwc());
  std::ranges::transform(plain.values, tensor.as<float>().begin(),
                         [](double value) { return static_cast<float>(value); });
  return tensor;
}

TEST(FakeNetwork, IsWithinTwoLevelsOfTheIntegerNetworkAndCloserThanTheFloatOne) {
  SampleNetwork net(kPicture, 3);
  const TensorId pool = net.max_pool(net.relu(net.conv(0, 8)));
  net.linear(net.flatten(net.relu(net.conv(pool, 8))), 10);
  const Scheme scheme = scheme_of_type(true);
  const JudgedRun run = run_of(net, scheme);
  const auto weights = weights_of_layers(net.graph(), run.quantizations, scheme);
  const FakeNetwork fake = fake_network(net.graph(), weights, uniform_rules(run.quantizations));
  golden::ThreadTeam team(2);
  Tensor pictures(DType::kFloat32, {3, 8, 8, 3});
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor one = tensor_of(net.picture());
    std::ranges::copy(one.as<float>(), pictures.as<float>().subspan(i * 192, 192).begin());
  }
  const OutputDistance apart = fake_against_integer(fake, run.network, pictures, team);
  const double scale = double{run.network.graph.output_value().scale->real()};
  EXPECT_EQ(apart.pictures, 3);
  EXPECT_EQ(apart.equal_classes, 3);
  EXPECT_LE(apart.largest, 2.01 * scale);
  const FakeNetwork plain = fake_network(net.graph(), {}, {});
  const OutputDistance from_float = fake_against_integer(plain, run.network, pictures, team);
  EXPECT_GT(from_float.mean, apart.mean);
}

TEST(FakeNetwork, HasTheWeightsOfTheGraphInRealNumbers) {
  SampleNetwork net(kPicture);
  net.conv(net.relu(net.conv(0, 8)), 4);
  for (float& weight : net.conv_at(0).weights.as<float>().first(27)) weight *= 0x1p-20F;
  const Scheme scheme = scheme_of_type(false, ScaleKind::kPowerOfTwo);
  const JudgedRun run = run_of(net, scheme);
  const auto weights = weights_of_layers(net.graph(), run.quantizations, scheme);
  ASSERT_EQ(weights.size(), 2U);
  const FakeNetwork fake = fake_network(net.graph(), weights, {});
  const auto& made = std::get<Conv2d>(run.network.graph.layers[0].operation).weights;
  const auto real = std::get<Conv2d>(fake.graph.layers[0].operation).weights.as<float>();
  for (std::size_t i = 0; i < real.size(); ++i) {
    EXPECT_EQ(real[i], made.as<std::int8_t>()[i] * run.network.weights[0].scales[i / 27]);
  }
}

TEST(FakeNetwork, WeightsAloneNeedNoQuantizedTensors) {
  SampleNetwork net(kPicture);
  net.conv(net.relu(net.conv(0, 8)), 4);
  const TensorQuantizations none(net.graph().tensors.size());
  const auto weights = weights_of_layers(net.graph(), none, scheme_of_type(true));
  const FakeNetwork fake = fake_network(net.graph(), weights, uniform_rules(none));
  const Tensor picture = tensor_of(net.picture());
  golden::ThreadTeam team(1);
  const Tensor a = golden::RealExecutor(net.graph()).run(picture, team);
  const Tensor b = golden::RealExecutor(fake.graph, {.rules = fake.rules}).run(picture, team);
  const OutputDistance apart = distance(a, b);
  EXPECT_GT(apart.largest, 0);
  EXPECT_LT(apart.largest, 0.05);
}

TEST(FakeNetwork, DistanceIsThatOfTheNumbers) {
  const Tensor a = make_tensor<float>({2, 3}, std::vector<float>{1, 2, 3, 6, 5, 4});
  const Tensor b = make_tensor<float>({2, 3}, std::vector<float>{1, 2, 5, 5, 6, 4});
  const OutputDistance apart = distance(a, b);
  EXPECT_EQ(apart.largest, 2);
  EXPECT_DOUBLE_EQ(apart.mean, 4.0 / 6);
  EXPECT_DOUBLE_EQ(apart.root_mean_square, 1);
  EXPECT_EQ(apart.equal_classes, 1);
}

}  // namespace
}  // namespace qsim::quantize
