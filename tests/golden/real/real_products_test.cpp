// The plain loops of convolutions and linear layers against sums in double precision, with the
// error bound of chunked float32 sums; and long sums on every path.
#include <cmath>

#include <gtest/gtest.h>

#include "golden/graph/real/real_executor.h"
#include "tests/golden/real/random_real_graph.h"

namespace qsim::golden {
namespace {

constexpr double kUnit = 0x1p-24;  // float32's rounding error of a result of size 1
// Below the normal numbers each rounding errs by half a subnormal step at most.
constexpr double kUnderflow = 0x1p-149;

// Sum and sum of magnitudes of what an output reads.
struct Exact {
  double sum;
  double magnitude;
  double count;
};

Exact exact_conv(const Conv2d& conv, const Tensor& x, std::int64_t n, std::int64_t oy,
                 std::int64_t ox, std::int64_t co) {
  const Window& w = conv.window;
  const std::int64_t per_group = conv.weights.shape[3];
  const std::int64_t first = co / (conv.weights.shape[0] / conv.groups) * per_group;
  const double bias = conv.bias.as<float>()[static_cast<std::size_t>(co)];
  Exact exact = {bias, std::fabs(bias), 1};
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t iy = oy * w.stride_h - w.pad_top + ky * w.dilation_h;
      const std::int64_t ix = ox * w.stride_w - w.pad_left + kx * w.dilation_w;
      if (iy < 0 || ix < 0 || iy >= x.shape[1] || ix >= x.shape[2]) continue;
      for (std::int64_t ci = 0; ci < per_group; ++ci) {
        const std::int64_t from =
            ((n * x.shape[1] + iy) * x.shape[2] + ix) * x.shape[3] + first + ci;
        const std::int64_t at = ((co * w.kernel_h + ky) * w.kernel_w + kx) * per_group + ci;
        const double product = double{x.as<float>()[static_cast<std::size_t>(from)]} *
                               double{conv.weights.as<float>()[static_cast<std::size_t>(at)]};
        exact.sum += product;
        exact.magnitude += std::fabs(product);
        exact.count += 1;
      }
    }
  }
  return exact;
}

// A product takes part in at most kChunk fused additions of its chunk and in one addition for
// each chunk: (1 + u)^(256 + chunks) - 1 of the sum of magnitudes, and the double's own error.
double bound(const Exact& exact) {
  const double roundings = 256 + exact.count / 256 + 2;
  return exact.magnitude * (std::expm1(roundings * kUnit) + exact.count * 0x1p-53) +
         exact.count * kUnderflow;
}

TEST(RealProducts, PlainConvolutionsAreWithinTheBoundOfChunkedSums) {
  double largest_share = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const std::int64_t groups = random.uniform(1, 3);
    const ImageShape input = {2, random.uniform(3, 7), random.uniform(3, 7),
                              groups * random.uniform(1, 60)};
    RandomConv made = random_conv(random, input, groups * random.uniform(1, 5), groups);
    const Graph graph = single_layer(input, made.conv, made.output);
    const Tensor x = random_floats(random, input.nhwc());
    ThreadTeam team;
    const Tensor y = RealExecutor(graph, {.plain = true}).run(x, team);
    const float* value = y.as<float>().data();
    const ImageShape& out = made.output;
    for (std::int64_t n = 0; n < out.batch; ++n) {
      for (std::int64_t oy = 0; oy < out.height; ++oy) {
        for (std::int64_t ox = 0; ox < out.width; ++ox) {
          for (std::int64_t co = 0; co < out.channels; ++co) {
            const Exact exact = exact_conv(made.conv, x, n, oy, ox, co);
            const double error = std::fabs(*value++ - exact.sum);
            ASSERT_LE(error, bound(exact)) << "seed " << seed;
            largest_share = std::max(largest_share, error / bound(exact));
          }
        }
      }
    }
  }
  EXPECT_GT(largest_share, 0.001);  // the bound is not so wide that it would take anything
}

// y = sum over 1..K of x * w + bias on the plain path and all others.
void expect_linear(std::int64_t batch, std::int64_t depth, std::int64_t outputs) {
  Random random(static_cast<std::uint64_t>(batch * 1000 + depth + outputs));
  FullyConnected linear;
  linear.weights = random_floats(random, {outputs, depth});
  linear.bias = random_floats(random, {outputs});
  const ImageShape input = {batch, 1, 1, depth};
  const Graph graph = single_layer(input, linear, {batch, 1, 1, outputs});
  const Tensor x = random_floats(random, input.nhwc());
  ThreadTeam team(2);
  const Tensor plain = RealExecutor(graph, {.plain = true}).run(x, team);
  for (const VectorPath path : kVectorPaths) {
    if (!is_available(path)) continue;
    EXPECT_EQ(RealExecutor(graph, {.vector_path = path}).run(x, team), plain)
        << batch << " x " << depth << " x " << outputs << " " << vector_path_name(path);
  }
}

TEST(RealProducts, LinearLayersAroundTheEdgesOfChunksTilesAndPanelsAgree) {
  for (const std::int64_t depth : {1, 3, 255, 256, 257, 511, 512, 513, 1300}) {
    expect_linear(3, depth, 33);
  }
  for (std::int64_t batch = 1; batch <= 30; ++batch) expect_linear(batch, 40, 20);
  for (std::int64_t outputs = 1; outputs <= 66; ++outputs) expect_linear(2, 30, outputs);
  expect_linear(500, 300, 40);
}

// Chunks start from zero: 2^24 + 1 + ... + 1 stays 2^24 within a chunk, and a chunk of ones by
// itself adds 256 at once.
TEST(RealProducts, EachChunkIsASumOfItsOwn) {
  FullyConnected linear;
  linear.weights = Tensor(DType::kFloat32, {1, 512});
  for (float& weight : linear.weights.as<float>()) weight = 1;
  linear.weights.as<float>()[0] = 0x1p24F;
  linear.bias = Tensor(DType::kFloat32, {1});
  const Graph graph = single_layer({1, 1, 1, 512}, linear, {1, 1, 1, 1});
  Tensor x(DType::kFloat32, {1, 1, 1, 512});
  for (float& value : x.as<float>()) value = 1;
  ThreadTeam team;
  for (const bool plain : {true, false}) {
    const Tensor y = RealExecutor(graph, {.plain = plain}).run(x, team);
    EXPECT_EQ(y.as<float>()[0], 0x1p24F + 256) << plain;
  }
}

// A tiny negative product rounds to -0; a product of the padding, +0, makes it +0.
TEST(RealProducts, APositionOutsideThePictureIsANumberOfTheSum) {
  Conv2d conv;
  conv.window = {.kernel_h = 1, .kernel_w = 2, .pad_right = 1};
  conv.weights = Tensor(DType::kFloat32, {1, 1, 2, 1});
  conv.weights.as<float>()[0] = -0x1p-100F;
  conv.weights.as<float>()[1] = 1;
  conv.bias = Tensor(DType::kFloat32, {1});
  conv.bias.as<float>()[0] = -0.0F;
  const Graph graph = single_layer({1, 1, 1, 1}, conv, {1, 1, 1, 1});
  Tensor x(DType::kFloat32, {1, 1, 1, 1});
  x.as<float>()[0] = 0x1p-100F;
  ThreadTeam team;
  for (const bool plain : {true, false}) {
    EXPECT_FALSE(std::signbit(RealExecutor(graph, {.plain = plain}).run(x, team).as<float>()[0]))
        << plain;
  }
}

}  // namespace
}  // namespace qsim::golden
