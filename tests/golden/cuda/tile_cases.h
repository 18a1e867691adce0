// One layer for every tile and division of depth that the Hopper convolution has, so that random
// cases and sanitizers meet each of its kernels: random shapes hardly ever choose some of them.
#pragma once

#include <span>
#include <string_view>

#include "core/base/random.h"
#include "core/network/graph.h"

namespace qsim::golden_test {

// The multiprocessors of the device that the kernels' names below hold for (H100 SXM, H200).
inline constexpr int kTileMultiprocessors = 132;

struct TileCase {
  std::string_view kernel;  // the name on path hopper
  std::int64_t batch = 1;
  std::int64_t side = 1;  // height and width; 1: a fully connected layer
  std::int64_t channels = 16;
  std::int64_t out_channels = 16;
  std::int64_t kernel_size = 1;  // odd; pads keep the size

  std::int64_t macs() const {
    return batch * side * side * channels * out_channels * kernel_size * kernel_size;
  }
};

// Every kernel name, most of them with boxes of 64 and of 128 channels.
std::span<const TileCase> tile_cases();

// The layer with random numbers that the Hopper convolution takes, and what often follows it.
Graph tile_graph(Random& random, const TileCase& tile);

// A convolution with strides of 1, zero point 0 and a window that no VGG has: 1x5, 4x2, any pads,
// pictures up to 260 wide; sometimes a flatten in the order of memory and a fully connected layer
// behind it.
Graph odd_window_graph(Random& random, std::int64_t most_macs);

}  // namespace qsim::golden_test
