// The innermost loops of the optimised path, once per instruction set. Every set computes the same
// bits from the same packed layout, so that only these functions differ between processors.
//
// Activations are unsigned bytes u here: a uint8 value as it is, an int8 value plus 128. Weights
// are int8. Accumulators are int32 and wrap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/numerics/requantizer.h"
#include "golden/graph/cpu/graph_executor.h"

namespace qsim::golden {

inline constexpr int kMostTileRows = 14;   // output pixels of one tile: VectorKernels::tile_rows
inline constexpr int kPanelChannels = 32;  // output channels of one packed weight panel
inline constexpr int kQuad = 4;            // depth that one multiply-add instruction reduces
inline constexpr int kDotRows = 4;         // rows that dot_rows takes on either side

// How one panel's psums round. With t the psum plus bias (both fit 31 bits, see
// psums_stay_narrow), the rounding addend of core/numerics/requantize.h is
//   addend + ((t >> shift) & even) + (t < 0 ? negative : 0).
struct RoundingPanel {
  alignas(64) std::int32_t shift[kPanelChannels];
  alignas(64) std::int32_t addend[kPanelChannels];
  alignas(64) std::int32_t even[kPanelChannels];
  alignas(64) std::int32_t negative[kPanelChannels];
};

// Ofmap range of a layer.
struct OutputRange {
  std::int32_t zero_point;
  std::int32_t lo;
  std::int32_t hi;
};

// How one panel's psums are multiplied and rounded by a layer's requantizers, which have one
// rounding for all channels. Psum times multiplier is exact in a double (products_stay_exact), and
// a float32 is what the rounding of that name computes with. TensorFlow Lite's roundings have
// integers alone.
struct RequantizerPanel {
  RequantizerRounding rounding = RequantizerRounding::kHalfEven;
  alignas(64) float float32_scale[kPanelChannels] = {};
  alignas(64) double exact_scale[kPanelChannels] = {};  // of half_up: twice the scale
  alignas(64) std::int32_t tflite_multiplier[kPanelChannels] = {};
  alignas(64) std::int32_t tflite_shift[kPanelChannels] = {};  // 31 - exponent
  Requantizer requantizers[kPanelChannels] = {};

  void set(std::size_t channel, const Requantizer& requantizer);
};

// Calls visit(constant): `rounding` as a std::integral_constant, for kernels that are compiled for
// one rounding each.
template <typename Visit>
void visit_rounding(RequantizerRounding rounding, Visit visit) {
  using enum RequantizerRounding;
  switch (rounding) {
    case kFloor:
      return visit(std::integral_constant<RequantizerRounding, kFloor>());
    case kHalfEven:
      return visit(std::integral_constant<RequantizerRounding, kHalfEven>());
    case kHalfUp:
      return visit(std::integral_constant<RequantizerRounding, kHalfUp>());
    case kFloat32:
      return visit(std::integral_constant<RequantizerRounding, kFloat32>());
    case kTflite:
      return visit(std::integral_constant<RequantizerRounding, kTflite>());
    case kTfliteSingle:
      return visit(std::integral_constant<RequantizerRounding, kTfliteSingle>());
  }
}

// Activations of the rows of a tile: bytes, or the same numbers as 16-bit words, which AVX2
// multiplies. Words are made once per gathered row and not in the innermost loop.
enum class RowFormat : std::uint8_t { kBytes, kWords };

struct TileOperands {
  const void* rows;             // [tile_rows][row_stride], each 4 * quads elements deep
  std::size_t row_stride;       // elements
  const std::int8_t* panel;     // [quads][kPanelChannels][kQuad]
  std::size_t quads;            // depth / 4
  const std::int32_t* initial;  // [kPanelChannels], 64-byte aligned: where the psums start
};

// Where the activations of a tile of a depthwise convolution lie: a pointer for each output pixel
// and kernel position, to that pixel's channel 0.
struct DepthwiseOperands {
  const std::uint8_t* const* taps;  // [row_count][4 * quads]
  std::size_t first_channel;        // of the panel; 32 bytes are read from it on
  const std::int8_t* panel;         // [quads][kPanelChannels][kQuad]: a quad is four positions
  std::size_t quads;
  const std::int32_t* initial;  // as in TileOperands
};

// One addition with rounding kFloat32 (core/numerics/adder.h). A level is (byte ^ flip) - below,
// with flip and below 0 for uint8 and 128 for int8.
struct AddOperands {
  float a_ratio, b_ratio, fixed;
  std::uint8_t a_flip, b_flip;
  std::int32_t lo, hi;
};

struct VectorKernels {
  int tile_rows;  // at most kMostTileRows
  RowFormat row_format;

  // acc[r][c] = initial[c] + sum over k of rows[r][k] * panel[k][c], for r < row_count. Rows up to
  // tile_rows are read and acc (64-byte aligned, [tile_rows][kPanelChannels]) may be written
  // beyond row_count.
  void (*multiply_tile)(const TileOperands& operands, int row_count, std::int32_t* acc);

  // out[r * out_stride + c] = clamp(((t + r) >> shift) + zero_point) of t = acc[r][c], for
  // r < row_count, c < channels <= kPanelChannels.
  void (*requantize_tile)(const std::int32_t* acc, int row_count, const RoundingPanel& rounding,
                          const OutputRange& range, int channels, std::uint8_t* out,
                          std::size_t out_stride);

  // out[r * out_stride + c] = requantize(acc[r][c], 0, requantizers[c], ...) of
  // core/numerics/requantizer.h, for r < row_count, c < channels <= kPanelChannels. |acc[r][c]| <=
  // 2^29 there, unless the rounding is kFloat32 or one of TensorFlow Lite's; other channels may
  // have any psum. The processor rounds to nearest, ties to even, as every program starts.
  void (*requantize_scaled_tile)(const std::int32_t* acc, int row_count,
                                 const RequantizerPanel& panel, const OutputRange& range,
                                 int channels, std::uint8_t* out, std::size_t out_stride);

  // products[i * kDotRows + j] = sum over k < depth of (x[i][k] - zero_point) * weights[j][k] for
  // i < x_rows. x is [x_rows][depth]; 1 <= x_rows <= kDotRows; weights are kDotRows pointers;
  // zero_point is in 0..255. Nothing is read beyond depth.
  void (*dot_rows)(const std::uint8_t* x, int x_rows, std::int32_t zero_point,
                   const std::int8_t* const* weights, std::size_t depth, std::int32_t* products);

  // acc[r][c] = initial[c] + sum over t of taps[r][t][first_channel + c] * panel[t][c], for
  // r < row_count and all kPanelChannels.
  void (*multiply_depthwise)(const DepthwiseOperands& operands, int row_count, std::int32_t* acc);

  // out[i] = add_levels(a[i], b[i]) for i < count; nullptr where this set has no fused
  // multiply-add. The processor rounds to nearest.
  void (*add_float32)(const AddOperands& operands, const std::uint8_t* a, const std::uint8_t* b,
                      std::uint8_t* out, std::size_t count);
};

extern const VectorKernels kPortableKernels;
#if defined(__x86_64__)
extern const VectorKernels kAvx2Kernels;
extern const VectorKernels kAvxVnniKernels;
extern const VectorKernels kAvx512VnniKernels;
#endif

// The kernels of a path (kAuto: the best available). Throws Error when this processor lacks them.
const VectorKernels& vector_kernels(VectorPath path);

}  // namespace qsim::golden
