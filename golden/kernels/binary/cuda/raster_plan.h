// The raster of a layer for the kernels that keep rows of the picture: its places, how workers
// share them, and the order of the words along K.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "golden/kernels/binary/binary_conv.h"
#include "golden/kernels/binary/cuda/conv_args.h"

namespace qsim::golden::cuda {

struct RasterPlan {
  RasterArgs args;
  std::int32_t steps = 1;
  std::vector<std::int64_t> order;  // of TableSource
};

// Whether a raster has the windows of this layer: strides of 1 and no max-pool.
bool has_raster(const Window& window, const BinaryStage* stage);

// In RasterPlan::order: the opposite of a word, each bit of a channel.
inline constexpr std::int64_t kOpposite = std::int64_t{1} << 40;

// By how much betas are multiplied where there are signs, which makes of a popcount's bits a float:
// dot * 2^-23 = popcount * 2^-149 * -2^127 + n * 2^-23.
inline constexpr float kSignsScale = 8388608.0F;

// The raster of `y` made from `input`, without how workers share it; none where a number does not
// fit. `signs`: units hold a word and its opposite, for one word a pixel.
std::optional<RasterPlan> plan_raster(const Window& window, const ImageShape& input,
                                      const ImageShape& y, bool signs);

// Shares the raster among the workers of each channel block, as many as multiprocessors have one
// channel block; sets the places of the steps. Returns the shared memory of a block of threads,
// none where not even two tiles fit into `most_shared`.
std::optional<std::int64_t> share_raster(BinaryConvArgs& args, int multiprocessors,
                                         std::int64_t most_shared);

}  // namespace qsim::golden::cuda
