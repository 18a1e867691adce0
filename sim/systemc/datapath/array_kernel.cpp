#include "sim/systemc/datapath/array_kernel.h"

#include "core/error.h"
#include "sim/systemc/datapath/array_paths.h"

namespace qsim {
namespace {

// One pixel under one fold: psums[c] += sum over r of x[r] * weights[r][c], mod 2^32.
void add_products(const std::int8_t* x, const std::int8_t* weights, std::int64_t rows,
                  std::int64_t columns, std::int32_t* psums) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const int product = x[r] * weights[r * columns + c];
      psums[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(psums[c]) +
                                           static_cast<std::uint32_t>(product));
    }
  }
}

// The pseudo-code, literally.
void run_array_portable(const Execute& execute, const ArchConfig& arch, Scratchpads& scratchpads) {
  const std::int64_t rows = arch.array_rows;
  const std::int64_t columns = arch.array_cols;
  const std::int64_t pixels = std::int64_t{execute.out_rows} * execute.out_cols;
  const std::vector<std::int8_t> pad(static_cast<std::size_t>(rows),
                                     static_cast<std::int8_t>(execute.pad_value));
  const std::span<std::int32_t> psums =
      scratchpads.psums(execute.acc_half, execute.acc_addr, pixels);
  if (execute.accumulate == 0) std::fill(psums.begin(), psums.end(), 0);
  std::int64_t weight_word = execute.weight_addr;
  for (std::uint32_t p = 0; p < execute.planes; ++p) {
    for (std::uint32_t ky = 0; ky < execute.kernel_h; ++ky) {
      for (std::uint32_t kx = 0; kx < execute.kernel_w; ++kx, weight_word += rows) {
        const std::int8_t* weights = scratchpads.weights(weight_word, rows).data();
        for (std::int64_t m = 0; m < pixels; ++m) {
          const std::int64_t iy = m / execute.out_cols * execute.stride_h + ky + execute.origin_row;
          const std::int64_t ix = m % execute.out_cols * execute.stride_w + kx + execute.origin_col;
          const bool resident = iy >= 0 && iy < execute.in_rows && ix >= 0 && ix < execute.in_cols;
          const std::int64_t word = execute.act_addr + std::int64_t{p} * execute.act_plane_words +
                                    iy * execute.act_row_words + ix;
          add_products(resident ? scratchpads.activations(word, 1).data() : pad.data(), weights,
                       rows, columns, psums.data() + m * columns);
        }
      }
    }
  }
}

}  // namespace

void ArrayKernel::execute(const Execute& execute, const ArchConfig& arch,
                          Scratchpads& scratchpads) {
  QSIM_CHECK(execute.planes > 0 && execute.kernel_h > 0 && execute.kernel_w > 0 &&
                 execute.stride_h > 0 && execute.stride_w > 0 && execute.out_rows > 0 &&
                 execute.out_cols > 0,
             "EXECUTE with a size or stride of zero");
#if defined(__x86_64__)
  if (path_ == VectorPath::kAvx512Vnni) {
    return run_array_avx512_vnni(
        operands_.prepare(execute, arch, OperandFormat::kBiasedBytes, scratchpads));
  }
  if (path_ == VectorPath::kAvxVnni) {
    return run_array_avx_vnni(
        operands_.prepare(execute, arch, OperandFormat::kBiasedBytes, scratchpads));
  }
  if (path_ == VectorPath::kAvx2) {
    return run_array_avx2(
        operands_.prepare(execute, arch, OperandFormat::kSignedPairs, scratchpads));
  }
#endif
  run_array_portable(execute, arch, scratchpads);
}

}  // namespace qsim
