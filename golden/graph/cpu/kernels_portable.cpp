// The kernels in plain C++, for processors without AVX2. Compilers vectorise the channel loops.
#include "golden/graph/cpu/vector_kernels.h"

namespace qsim::golden {
namespace {

void multiply_tile(const TileOperands& operands, int row_count, std::int32_t* acc) {
  for (int row = 0; row < row_count; ++row) {
    std::uint32_t sum[kPanelChannels];
    for (int c = 0; c < kPanelChannels; ++c) {
      sum[c] = static_cast<std::uint32_t>(operands.initial[c]);
    }
    const std::uint8_t* x = static_cast<const std::uint8_t*>(operands.rows) +
                            static_cast<std::size_t>(row) * operands.row_stride;
    const std::int8_t* w = operands.panel;
    for (std::size_t quad = 0; quad < operands.quads; ++quad) {
      for (int c = 0; c < kPanelChannels; ++c) {
        sum[c] += static_cast<std::uint32_t>(x[0] * w[c * kQuad] + x[1] * w[c * kQuad + 1] +
                                             x[2] * w[c * kQuad + 2] + x[3] * w[c * kQuad + 3]);
      }
      x += kQuad;
      w += kPanelChannels * kQuad;
    }
    for (int c = 0; c < kPanelChannels; ++c) {
      acc[row * kPanelChannels + c] = static_cast<std::int32_t>(sum[c]);
    }
  }
}

void requantize_tile(const std::int32_t* acc, int row_count, const RoundingPanel& rounding,
                     const OutputRange& range, int channels, std::uint8_t* out,
                     std::size_t out_stride) {
  for (int row = 0; row < row_count; ++row) {
    for (int c = 0; c < channels; ++c) {
      const std::int32_t t = acc[row * kPanelChannels + c];
      const std::int32_t addend = rounding.addend[c] +
                                  ((t >> rounding.shift[c]) & rounding.even[c]) +
                                  ((t >> 31) & rounding.negative[c]);
      const std::int32_t q = ((t + addend) >> rounding.shift[c]) + range.zero_point;
      out[c] = static_cast<std::uint8_t>(q < range.lo ? range.lo : (q > range.hi ? range.hi : q));
    }
    out += out_stride;
  }
}

void requantize_scaled_tile(const std::int32_t* acc, int row_count, const RequantizerPanel& panel,
                            const OutputRange& range, int channels, std::uint8_t* out,
                            std::size_t out_stride) {
  for (int row = 0; row < row_count; ++row) {
    for (int c = 0; c < channels; ++c) {
      out[c] = static_cast<std::uint8_t>(requantize(acc[row * kPanelChannels + c], 0,
                                                    panel.requantizers[c], range.zero_point,
                                                    range.lo, range.hi));
    }
    out += out_stride;
  }
}

void dot_rows(const std::uint8_t* x, int x_rows, std::int32_t zero_point,
              const std::int8_t* const* weights, std::size_t depth, std::int32_t* products) {
  for (int j = 0; j < kDotRows; ++j) {
    for (int i = 0; i < x_rows; ++i) {
      const std::uint8_t* row = x + static_cast<std::size_t>(i) * depth;
      std::uint32_t sum = 0;
      for (std::size_t k = 0; k < depth; ++k) {
        sum += static_cast<std::uint32_t>((row[k] - zero_point) * weights[j][k]);
      }
      products[i * kDotRows + j] = static_cast<std::int32_t>(sum);
    }
  }
}

void multiply_depthwise(const DepthwiseOperands& operands, int row_count, std::int32_t* acc) {
  const std::uint8_t* const* taps = operands.taps;
  for (int row = 0; row < row_count; ++row, acc += kPanelChannels) {
    std::uint32_t sum[kPanelChannels];
    for (int c = 0; c < kPanelChannels; ++c) {
      sum[c] = static_cast<std::uint32_t>(operands.initial[c]);
    }
    for (std::size_t quad = 0; quad < operands.quads; ++quad) {
      const std::int8_t* w = operands.panel + quad * kPanelChannels * kQuad;
      for (int position = 0; position < kQuad; ++position) {
        const std::uint8_t* x = *taps++ + operands.first_channel;
        for (int c = 0; c < kPanelChannels; ++c) {
          sum[c] += static_cast<std::uint32_t>(x[c] * w[c * kQuad + position]);
        }
      }
    }
    for (int c = 0; c < kPanelChannels; ++c) acc[c] = static_cast<std::int32_t>(sum[c]);
  }
}

}  // namespace

const VectorKernels kPortableKernels{
    kMostTileRows,          RowFormat::kBytes, multiply_tile,      requantize_tile,
    requantize_scaled_tile, dot_rows,          multiply_depthwise, nullptr};

}  // namespace qsim::golden
