// The Graph that the quantizer makes, run by golden, against the float network in plain loops: each
// layer from the very integers that it reads, and the whole.
#include "quantize/quantizer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/quantize/network/judged_run.h"

namespace qsim::quantize {
namespace {

using Names = std::vector<std::string>;

void build_chain(SampleNetwork& net) {
  TensorId at = net.relu(net.conv(0, 8));
  at = net.max_pool(net.relu(net.conv(at, 8)));
  at = net.relu(net.linear(net.flatten(at), 16));
  net.linear(at, 10);
}

void build_branches(SampleNetwork& net) {
  const TensorId stem = net.clip(net.conv(0, 8), 0, 2);
  const TensorId branch = net.conv(net.relu(net.conv(stem, 8, 3, 1, 8)), 8, 1);
  const TensorId sum = net.relu(net.add(branch, stem));
  const TensorId both = net.concat({sum, net.average_pool(net.conv(sum, 4), 1)});
  const TensorId swish = net.activation(both, {.kind = Activation::Kind::kHardSwish});
  const TensorId leaky =
      net.activation(net.conv(swish, 6), {.kind = Activation::Kind::kLeakyRelu, .alpha = 0.1F});
  const TensorId gate = net.activation(leaky, {.kind = Activation::Kind::kSigmoid});
  const TensorId hard = net.activation(
      net.conv(gate, 6), {.kind = Activation::Kind::kHardSigmoid, .alpha = 0.2F, .beta = 0.5F});
  const TensorId pooled = net.average_pool(net.average_pool(hard, 3, true), 3);
  net.linear(net.flatten(pooled, Flatten::Order::kHwc), 5);
}

TEST(Quantizer, MakesAChainOfEveryKindOfScaleAndOfBothTypes) {
  for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kDyadic, ScaleKind::kPowerOfTwo}) {
    for (const bool is_unsigned : {true, false}) {
      SampleNetwork net(kPicture);
      build_chain(net);
      const JudgedRun run = run_of(net, scheme_of_type(is_unsigned, kind));
      EXPECT_EQ(operations(run.network.graph), (Names{"conv2d", "conv2d", "max_pool", "flatten",
                                                      "fully_connected", "fully_connected"}));
      EXPECT_GT(output_sqnr(run), kind == ScaleKind::kPowerOfTwo ? 24 : 28);
      EXPECT_EQ(run.network.graph.input_value().is_unsigned(), is_unsigned);
      EXPECT_EQ(run.network.real_layers, (std::vector<std::int64_t>{1, 3, 4, 5, 7, 8}));
      EXPECT_TRUE(run.network.graph.host.flat_output);
    }
  }
}

TEST(Quantizer, MakesEveryKindOfLayer) {
  for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kDyadic, ScaleKind::kPowerOfTwo}) {
    for (const bool is_unsigned : {true, false}) {
      SampleNetwork net(kPicture, 7);
      build_branches(net);
      const JudgedRun run = run_of(net, scheme_of_type(is_unsigned, kind));
      EXPECT_EQ(
          operations(run.network.graph),
          (Names{"conv2d", "conv2d", "conv2d", "add", "conv2d", "average_pool", "concat",
                 "lookup_table", "conv2d", "lookup_table", "lookup_table", "conv2d", "lookup_table",
                 "average_pool", "average_pool", "flatten", "fully_connected"}));
      EXPECT_GT(output_sqnr(run), 22);
      EXPECT_EQ(run.network.activations[7]->kind, Activation::Kind::kHardSwish);
      EXPECT_EQ(run.network.activations[9]->alpha, 0.1F);
      EXPECT_FALSE(run.network.activations[0].has_value());
    }
  }
}

TEST(Quantizer, KeepsTheSlopesOfAPReluAndCutsItsLevelsOffWhereTheyHaveFewerBits) {
  SampleNetwork net(kPicture);
  net.linear(net.flatten(net.prelu(net.conv(0, 4))), 5);
  const PRelu real = std::get<PRelu>(net.graph().layers[1].operation);
  Scheme scheme = scheme_of_type(true, ScaleKind::kFloat);
  const JudgedRun run = run_of(net, scheme);
  EXPECT_EQ(operations(run.network.graph),
            (Names{"conv2d", "prelu", "flatten", "fully_connected"}));
  EXPECT_EQ(std::get<PRelu>(run.network.graph.layers[1].operation).slopes, real.slopes);
  EXPECT_GT(output_sqnr(run), 24);
  scheme.all.activations.bits = 4;
  const JudgedRun narrow = run_of(net, scheme);
  EXPECT_EQ(operations(narrow.network.graph),
            (Names{"conv2d", "prelu", "lookup_table", "flatten", "fully_connected"}));
  const Layer& clip = narrow.network.graph.layers[2];
  EXPECT_EQ(clip.name, run.network.graph.layers[1].name);
  EXPECT_EQ(narrow.network.graph.layers[1].name, clip.name + "/uncut");
  EXPECT_EQ(std::ranges::max(std::get<LookupTable>(clip.operation).bytes), 15);
  EXPECT_EQ(narrow.network.real_layers, (std::vector<std::int64_t>{0, -1, 1, 2, 3}));
}

// Nothing but the layers themselves is checked of them: run_of() does.
TEST(Quantizer, MakesRandomNetworks) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SampleNetwork net = random_network(seed);
    Scheme scheme = scheme_of_type(seed % 2 == 0, static_cast<ScaleKind>(seed % 3));
    scheme.all.activations.bits = seed % 5 == 0 ? 6 : 8;
    scheme.all.weights.per_channel = seed % 7 != 0;
    run_of(net, scheme);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace qsim::quantize
