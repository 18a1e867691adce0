// The innermost loops of the packed linear layer, once per instruction set. Every set computes the
// same bits from the same packed layout.
//
// Weights are unsigned bytes or nibbles u with a zero_point z: of 8 bits u = value + 128, z = 128;
// of 4 bits both are the layer's own. So sum d * (u - z) = sum d * u - z * sum d for the digits d
// of x. The first sum wraps in 32 bits and the difference fits them (kMostInFeatures): it is exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "golden/common/vector_path.h"
#include "golden/kernels/linear/linear_arithmetic.h"

namespace qsim::golden {

inline constexpr std::size_t kLinearPanelChannels = 16;  // output channels of a packed panel
inline constexpr std::size_t kLinearQuad = 4;  // input features that one multiply-add reduces
inline constexpr int kLeastDigits = 3;         // fewer are padded with zeros, but one is int8's

// How much one call of a kernel computes: panels of weights by rows of x.
struct TileShape {
  int panels;
  int rows;
  bool operator==(const TileShape&) const = default;
};
inline constexpr std::array<TileShape, 6> kTileShapes = {
    {{1, 1}, {2, 1}, {4, 1}, {1, 2}, {2, 2}, {1, 4}}};

struct LinearTile {
  // [panel][quad][channel][kLinearQuad] bytes; of 4 bits [panel][pair of quads][channel]
  // [kLinearQuad], the first quad of the pair in the low nibble.
  const std::uint8_t* panels;
  std::size_t panel_stride;   // bytes
  const std::int8_t* digits;  // [row][quad][digit][kLinearQuad]
  std::size_t row_stride;     // bytes
  std::size_t quads;          // of 4 bits even
};

// acc[row][panel][kMostDigits][kLinearPanelChannels] = sum of digit * u, wrapping.
using MultiplyLinearTile = void (*)(const LinearTile& tile, std::int32_t* acc);

// One group of one row and panel: sums[c] = fma(rounded sum, scales[c], sums[c]).
struct GroupOperands {
  std::int32_t* acc;                // [digits][kLinearPanelChannels], overwritten
  const std::int32_t* digit_sums;   // [digits]
  const std::uint8_t* zero_points;  // [kLinearPanelChannels]
  const float* scales;              // [kLinearPanelChannels]
  int digits;
  bool fits;   // the sum fits 64 bits
  bool small;  // at most kMostOfSmallGroup products of at most five digits: the sum fits 53 bits
};
// 547,599,908,735 * 127 * 128 < 2^53, and 128 * 255 * 128 * (1 + 256) < 2^31: two digits' sums fit
// an int32, and the whole sum is exact in double precision.
inline constexpr std::size_t kMostOfSmallGroup = 128;

// Asks for the weights of a panel that come some time after `weights`: where the products take as
// long as memory, the processor's own prefetching begins too late. May lie beyond the panel.
[[gnu::always_inline]] inline void prefetch_weights(const std::uint8_t* weights) {
  constexpr std::uintptr_t kBytesAhead = 2048;
  __builtin_prefetch(
      reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(weights) + kBytesAhead));
}

// What the zero_points of a small group multiply: the sums of two digits each.
struct DigitPairs {
  std::int32_t low, middle, high;

  explicit DigitPairs(const GroupOperands& group)
      : low(group.digit_sums[0] + 256 * group.digit_sums[1]),
        middle(group.digit_sums[2] + (group.digits > 3 ? 256 * group.digit_sums[3] : 0)),
        high(group.digits > 4 ? group.digit_sums[4] : 0) {}
};

// The place of a kernel by its digits: 1, 3, 4, 5, 6.
constexpr std::size_t digits_index(int digits) {
  return digits == 1 ? 0 : static_cast<std::size_t>(digits - kLeastDigits + 1);
}

struct LinearKernels {
  // By bits (8, 4), shape and digits_index(). Weights of 4 bits have no kernel of one digit.
  MultiplyLinearTile tiles[2][kTileShapes.size()][kMostDigits - kLeastDigits + 2];
  void (*add_group)(const GroupOperands& group, float* sums);
};

extern const LinearKernels kPortableLinearKernels;
#if defined(__x86_64__)
extern const LinearKernels kAvx2LinearKernels;
extern const LinearKernels kAvxVnniLinearKernels;
extern const LinearKernels kAvx512VnniLinearKernels;
#endif

// The kernels of a path (kAuto: the best available). Throws Error when this processor lacks them.
const LinearKernels& linear_kernels(VectorPath path);

// The table of a set whose kernel is Kernel::multiply<bits, digits, panels, rows>.
template <typename Kernel, int bits, std::size_t shape>
constexpr void fill_shape(LinearKernels& kernels) {
  constexpr int panels = kTileShapes[shape].panels;
  constexpr int rows = kTileShapes[shape].rows;
  auto& row = kernels.tiles[bits == 8 ? 0 : 1][shape];
  if constexpr (bits == 8) row[0] = Kernel::template multiply<bits, 1, panels, rows>;
  row[1] = Kernel::template multiply<bits, 3, panels, rows>;
  row[2] = Kernel::template multiply<bits, 4, panels, rows>;
  row[3] = Kernel::template multiply<bits, 5, panels, rows>;
  row[4] = Kernel::template multiply<bits, 6, panels, rows>;
}

template <typename Kernel, std::size_t shape = 0>
constexpr void fill_shapes(LinearKernels& kernels) {
  if constexpr (shape < kTileShapes.size()) {
    fill_shape<Kernel, 8, shape>(kernels);
    fill_shape<Kernel, 4, shape>(kernels);
    fill_shapes<Kernel, shape + 1>(kernels);
  }
}

template <typename Kernel>
constexpr LinearKernels linear_kernels_of() {
  LinearKernels kernels{};
  fill_shapes<Kernel>(kernels);
  kernels.add_group = Kernel::add_group;
  return kernels;
}

// The body of add_group, for each set to compile with its own instructions.
[[gnu::always_inline]] inline void add_group_body(const GroupOperands& group, float* sums) {
  constexpr std::size_t kChannels = kLinearPanelChannels;
  std::int64_t total[kChannels] = {};
  for (int i = 0; i < group.digits; ++i) {
    std::int32_t* digit = group.acc + static_cast<std::size_t>(i) * kChannels;
    const auto digit_sum = static_cast<std::uint32_t>(group.digit_sums[i]);
    const std::int64_t weight = std::int64_t{1} << (8 * i);
    for (std::size_t c = 0; c < kChannels; ++c) {
      const std::uint32_t zero = static_cast<std::uint32_t>(group.zero_points[c]) * digit_sum;
      digit[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(digit[c]) - zero);
      if (group.fits) total[c] += digit[c] * weight;
    }
  }
  if (group.fits) {
    for (std::size_t c = 0; c < kChannels; ++c) {
      sums[c] = __builtin_fmaf(static_cast<float>(total[c]), group.scales[c], sums[c]);
    }
    return;
  }
  for (std::size_t c = 0; c < kChannels; ++c) {
    std::int32_t digits[kMostDigits] = {};
    for (int i = 0; i < group.digits; ++i) {
      digits[i] = group.acc[static_cast<std::size_t>(i) * kChannels + c];
    }
    sums[c] = __builtin_fmaf(rounded(combine(digits)), group.scales[c], sums[c]);
  }
}

}  // namespace qsim::golden
