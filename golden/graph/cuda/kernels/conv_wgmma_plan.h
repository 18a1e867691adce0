// Decides whether and how the Hopper kernel runs a convolution. No device code.
#pragma once

#include <optional>
#include <vector>

#include "golden/graph/cuda/kernels/conv_wgmma_args.h"
#include "golden/graph/cuda/tasks.h"

namespace qsim::golden::cuda {

// A TileShape by its numbers.
struct ConvTile {
  int warpgroups = 4;
  int groups = 1;     // 64-row groups of a warpgroup
  int columns = 128;  // output channels

  int tile_groups() const { return warpgroups * groups; }
  int rows() const { return kGroupRows * tile_groups(); }
  bool operator==(const ConvTile&) const = default;
};

inline constexpr ConvTile k256x128{4, 1, 128};
inline constexpr ConvTile k512x64{4, 2, 64};  // for boxes of 64 channels: others would not fit
inline constexpr ConvTile k256x64{4, 1, 64};
// For split tiles, which need more registers a thread.
inline constexpr ConvTile kSplit256x128{2, 2, 128};
inline constexpr ConvTile kSplit256x64{2, 2, 64};
// For either.
inline constexpr ConvTile k128x128{2, 1, 128};
inline constexpr ConvTile k128x64{2, 1, 64};

inline constexpr int kMostShared = 226 * 1024;  // dynamic, of a block on compute capability 9.0

struct ConvPlan {
  ConvGeometry geometry;
  ConvTile tile;
  int row_bytes = 128;                       // channels of a channel block
  int shared_bytes = 0;                      // dynamic
  std::vector<std::uint64_t> input_sizes;    // innermost first
  std::vector<std::uint64_t> input_strides;  // as make_tensor_map() has them
  std::vector<std::uint32_t> input_box;
  double cycles = 0;  // estimate, to compare plans by
};

// The best plan, or none: groups, dilation, strides above 1 but of 1x1 windows and, on even
// pictures, 2 of 3x3 windows with pads of 1; channels that are not multiples of 16, pads where the
// zero point is not 0 (the copy engine fills with 0), sums beyond 32 bits, rounding other than
// half_even of shifts and float32 of requantizers, shifts of 0, additions after shifts, windows or
// pictures whose boxes do not fit; tiles other than the one that the task's choices name.
std::optional<ConvPlan> plan_conv_wgmma(const ConvTask& task);

}  // namespace qsim::golden::cuda
