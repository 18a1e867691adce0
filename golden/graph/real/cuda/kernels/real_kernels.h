// The kernels of the float executor, as functions that enqueue one and return. All pointers are
// device memory; activations are float32 NHWC without padding. Each kernel gives
// golden/graph/real's bits (docs/reference/golden.md).
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include "core/network/graph.h"
#include "golden/graph/real/real_rules.h"

namespace qsim::golden::cuda {

// Where a product of an output finds its input: from the first position of the window (pads
// included) so many rows, columns, and elements.
struct ProductTap {
  std::int64_t offset;
  std::int32_t row;
  std::int32_t col;
};

// A convolution, or a linear layer as one of a 1x1 picture.
struct Products {
  const float* input = nullptr;
  float* output = nullptr;
  ImageShape in;   // with the batch of this run
  ImageShape out;  // channels: of all groups
  Window window;
  std::int64_t depth = 0;            // products of an output
  std::int64_t channels = 0;         // input channels of a group
  std::int64_t outputs = 0;          // output channels of a group
  const ProductTap* taps = nullptr;  // [depth]
  // Tile: [groups][depth][outputs, padded to kTileOutputs]. Direct: [depth][all outputs].
  const float* weights = nullptr;
  const float* bias = nullptr;    // [all outputs]
  const float* scales = nullptr;  // [all outputs] of integer weights; then y = sum * scale + bias
};
inline constexpr int kTileOutputs = 64;

// Tiles of pixels and output channels, for groups of many outputs.
void launch_tile_products(const Products& products, cudaStream_t stream);
// An output a thread.
void launch_direct_products(const Products& products, cudaStream_t stream);

// What a UniformRule is for kernels: levels around 0.
struct LevelRule {
  float scale;
  float lo;
  float hi;
};

// Exact sums of an integer input with integer weights; `products.weights` is not used.
struct IntegerProducts {
  Products products;                      // input: q - zero_point as float32
  const std::int32_t* factors = nullptr;  // [depth][all outputs]
  const LevelRule* rules = nullptr;       // of the input: one, or one a picture
  bool is_per_picture = false;
};
void launch_integer_products(const IntegerProducts& products, cudaStream_t stream);

struct Pool {
  const float* input = nullptr;
  float* output = nullptr;
  ImageShape in;
  ImageShape out;
  Window window;
  const float* counts = nullptr;  // average: [out.height][out.width], what a sum is divided by
};
void launch_max_pool(const Pool& pool, cudaStream_t stream);
void launch_average_pool(const Pool& pool, cudaStream_t stream);

void launch_add(const float* a, const float* b, float* y, std::int64_t count, cudaStream_t stream);

// An activation (core/network/operations.h), with the constants of its formula
// (core/network/float_rules.h).
struct ActivationFormula {
  int kind = 0;  // Activation::Kind
  float alpha = 0, beta = 0, lo = 0, hi = 0;
  float odd[5] = {};
  float even[6] = {};
  float bound = 0;
};
void launch_activation(const ActivationFormula& activation, const float* x, float* y,
                       std::int64_t count, cudaStream_t stream);

// The slope of element i is number i % `slope_count`.
void launch_prelu(const float* slopes, std::int64_t slope_count, const float* x, float* y,
                  std::int64_t count, cudaStream_t stream);

// y[pixel][first + c] = x[pixel][c] of c < channels; a pixel of y has `to_channels`.
void launch_concat_part(const float* x, float* y, std::int64_t pixels, std::int64_t channels,
                        std::int64_t first, std::int64_t to_channels, cudaStream_t stream);

// [N][H][W][C] to [N][C][H][W].
void launch_to_chw(const float* x, float* y, const ImageShape& in, cudaStream_t stream);

// The rules, in place where to == from. `per_rule` values in a row have the same LevelRule.
void launch_uniform_rule(const float* from, float* to, std::int64_t count, const LevelRule* rules,
                         std::int64_t per_rule, cudaStream_t stream);
// As launch_uniform_rule(), but the level around 0 alone.
void launch_levels(const float* from, float* to, std::int64_t count, const LevelRule* rules,
                   std::int64_t per_rule, cudaStream_t stream);
void launch_float_rule(const FloatRule& rule, float* values, std::int64_t count,
                       cudaStream_t stream);
void launch_log2_rule(const Log2Rule& rule, float* values, std::int64_t count, cudaStream_t stream);
// What `rule` is for `pictures` pictures of `elems` values: a LevelRule a picture, or one for all.
// `ranges` is memory for a pair of floats a picture.
void launch_dynamic_rules(const DynamicRule& rule, const float* values, std::int64_t pictures,
                          std::int64_t elems, float2* ranges, LevelRule* rules,
                          cudaStream_t stream);

}  // namespace qsim::golden::cuda
