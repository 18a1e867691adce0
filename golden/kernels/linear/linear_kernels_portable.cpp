// The kernels in plain C++, and the choice of kernels.
#include "golden/kernels/linear/linear_kernels.h"

namespace qsim::golden {
namespace {

struct Portable {
  template <int bits, int digits, int panels, int rows>
  static void multiply(const LinearTile& tile, std::int32_t* acc) {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t p = 0; p < panels; ++p) {
        const std::uint8_t* panel = tile.panels + p * tile.panel_stride;
        const std::int8_t* row = tile.digits + r * tile.row_stride;
        multiply_panel<bits, digits>(panel, row, tile.quads,
                                     acc + (r * panels + p) * kMostDigits * kLinearPanelChannels);
      }
    }
  }

  template <int bits, int digits>
  static void multiply_panel(const std::uint8_t* panel, const std::int8_t* row, std::size_t quads,
                             std::int32_t* acc) {
    std::uint32_t sum[digits][kLinearPanelChannels] = {};
    constexpr std::size_t kPanelBytes = kLinearPanelChannels * kLinearQuad;
    for (std::size_t quad = 0; quad < quads; ++quad, row += digits * kLinearQuad) {
      const std::uint8_t* bytes = panel + (bits == 8 ? quad : quad / 2) * kPanelBytes;
      const int shift = bits == 4 && quad % 2 == 1 ? 4 : 0;
      for (std::size_t i = 0; i < digits; ++i) {
        for (std::size_t c = 0; c < kLinearPanelChannels; ++c) {
          int products = 0;
          for (std::size_t k = 0; k < kLinearQuad; ++k) {
            const int byte = bytes[c * kLinearQuad + k];
            products += (bits == 8 ? byte : byte >> shift & 15) * row[i * kLinearQuad + k];
          }
          sum[i][c] += static_cast<std::uint32_t>(products);
        }
      }
    }
    for (std::size_t i = 0; i < digits; ++i) {
      for (std::size_t c = 0; c < kLinearPanelChannels; ++c) {
        acc[i * kLinearPanelChannels + c] = static_cast<std::int32_t>(sum[i][c]);
      }
    }
  }

  static void add_group(const GroupOperands& group, float* sums) { add_group_body(group, sums); }
};

}  // namespace

const LinearKernels kPortableLinearKernels = linear_kernels_of<Portable>();

const LinearKernels& linear_kernels(VectorPath path) {
  require_available(path);
  switch (resolve(path)) {
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return kAvx512VnniLinearKernels;
    case VectorPath::kAvxVnni:
      return kAvxVnniLinearKernels;
    case VectorPath::kAvx2:
      return kAvx2LinearKernels;
#endif
    default:
      return kPortableLinearKernels;
  }
}

}  // namespace qsim::golden
