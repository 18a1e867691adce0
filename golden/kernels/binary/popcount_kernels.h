// The innermost loops of binary convolution, once per instruction set. Every set computes the same
// bits. A word is 64 channels of one base at one tap (bit_tensor.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace qsim::golden {

// Instructions of the optimised path; kAuto takes the best that this processor has. kAvx512Popcount
// needs AVX-512 F, BW, VL and VPOPCNTDQ, kAvx2 also FMA.
enum class PopcountPath : std::uint8_t { kAuto, kAvx512Popcount, kAvx2, kPortable };

// The paths that kAuto chooses from, the best first; the last is available everywhere.
inline constexpr std::array kPopcountPaths = {PopcountPath::kAvx512Popcount, PopcountPath::kAvx2,
                                              PopcountPath::kPortable};

// "auto", "avx512_popcount", "avx2", "portable"
std::string_view popcount_path_name(PopcountPath path);
bool is_available(PopcountPath path);
// What kAuto means on this processor; any other path is itself.
PopcountPath resolve(PopcountPath path);

inline constexpr std::size_t kPanelColumns = 16;  // output channels of one packed weight panel

struct PopcountKernels {
  // counts[r][c] = sum over k < words of popcount(rows[r][k] ^ panel[k][c]), for r < row_count;
  // rows are row_stride words apart, panel is [words][kPanelColumns] and 64-byte aligned, counts is
  // [row_count][kPanelColumns]. A count fits an int32.
  void (*count_rows)(const std::uint64_t* rows, std::size_t row_stride, std::size_t row_count,
                     const std::uint64_t* panel, std::size_t words, std::int32_t* counts);

  // y[c] = fma(alpha[c], s, y[c]) with s = fma(beta[j], full[c] - 2 * counts[j][c], s) for
  // j < bases, from +0: one base of weights of BinaryConv, for kPanelColumns columns.
  void (*add_base)(const std::int32_t* counts, const std::int32_t* full, const float* beta,
                   std::size_t bases, const float* alpha, float* y);

  // m[c] = y[c] where y[c] > m[c], for c < count.
  void (*take_larger)(const float* y, float* m, std::size_t count);

  // z[c] = fma(gain[c], m[c], shift[c]); with relu z = +0 where z < 0; for c < count.
  void (*normalize)(const float* m, const float* gain, const float* shift, bool relu, float* z,
                    std::size_t count);

  // Bit c of words is x[c] + v > 0.5, for c < channels; the rest of the last word is 0.
  void (*pack)(const float* x, std::size_t channels, float v, std::uint64_t* words);
};

extern const PopcountKernels kPortablePopcount;
#if defined(__x86_64__)
extern const PopcountKernels kAvx2Popcount;
extern const PopcountKernels kAvx512Popcount;
#endif

// The kernels of a path. Throws Error when this processor lacks them.
const PopcountKernels& popcount_kernels(PopcountPath path);

}  // namespace qsim::golden
