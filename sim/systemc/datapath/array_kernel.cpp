#include "sim/systemc/datapath/array_kernel.h"

#include "core/base/error.h"
#include "sim/systemc/datapath/array_paths.h"

namespace qsim::sim {
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

// Plane, kernel row and kernel column of a fold.
struct FoldPosition {
  std::int64_t plane;
  std::int64_t ky;
  std::int64_t kx;
};

// Weights [columns][rows] as [rows][columns].
void transpose(const std::int8_t* from, std::int64_t rows, std::int64_t columns, std::int8_t* to) {
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) to[r * columns + c] = from[c * rows + r];
  }
}

// One fold of one block, weights [rows][columns]; psums of `pixels` pixels from `psums` on.
void run_fold(const Execute& execute, const ArchConfig& arch, const FoldPosition& fold,
              const std::int8_t* weights, const Scratchpads& scratchpads, std::int32_t* psums) {
  const std::int64_t pixels = std::int64_t{execute.out_rows} * execute.out_cols;
  const std::vector<std::int8_t> pad(static_cast<std::size_t>(arch.array_rows),
                                     static_cast<std::int8_t>(execute.pad_value));
  for (std::int64_t m = 0; m < pixels; ++m) {
    const std::int64_t iy = m / execute.out_cols * execute.stride_h + fold.ky + execute.origin_row;
    const std::int64_t ix = m % execute.out_cols * execute.stride_w + fold.kx + execute.origin_col;
    const bool resident = iy >= 0 && iy < execute.in_rows && ix >= 0 && ix < execute.in_cols;
    const std::int64_t word =
        execute.act_addr + fold.plane * execute.act_plane_words + iy * execute.act_row_words + ix;
    add_products(resident ? scratchpads.activations(word, 1).data() : pad.data(), weights,
                 arch.array_rows, arch.array_cols, psums + m * arch.array_cols);
  }
}

// The pseudo-code, literally.
void run_array_portable(const Execute& execute, const ArchConfig& arch, Scratchpads& scratchpads) {
  const bool by_channel =
      execute.dataflow == static_cast<std::uint32_t>(Dataflow::kInputStationary);
  std::vector<std::int8_t> by_element(static_cast<std::size_t>(arch.array_rows * arch.array_cols));
  const std::int64_t pixels = std::int64_t{execute.out_rows} * execute.out_cols;
  const std::span<std::int32_t> psums =
      scratchpads.psums(execute.acc_half, execute.acc_addr, execute.blocks * pixels);
  if (execute.accumulate == 0) std::fill(psums.begin(), psums.end(), 0);
  std::int64_t weight_word = execute.weight_addr;
  for (std::uint32_t p = 0; p < execute.planes; ++p) {
    for (std::uint32_t ky = 0; ky < execute.kernel_h; ++ky) {
      for (std::uint32_t kx = 0; kx < execute.kernel_w; ++kx) {
        for (std::uint32_t b = 0; b < execute.blocks; ++b, weight_word += arch.fold_words()) {
          const std::int8_t* weights = scratchpads.weights(weight_word, arch.fold_words()).data();
          if (by_channel) {
            transpose(weights, arch.array_rows, arch.array_cols, by_element.data());
            weights = by_element.data();
          }
          run_fold(execute, arch, {p, ky, kx}, weights, scratchpads,
                   psums.data() + b * pixels * arch.array_cols);
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
                 execute.out_cols > 0 && execute.blocks > 0,
             "EXECUTE with a size or stride of zero");
#if defined(__x86_64__)
  for (std::uint32_t block = 0; block < execute.blocks; ++block) {
    switch (path_) {
      case VectorPath::kAvx512Vnni:
        run_array_avx512_vnni(
            operands_.prepare(execute, block, arch, OperandFormat::kBiasedBytes, scratchpads));
        break;
      case VectorPath::kAvxVnni:
        run_array_avx_vnni(
            operands_.prepare(execute, block, arch, OperandFormat::kBiasedBytes, scratchpads));
        break;
      case VectorPath::kAvx2:
        run_array_avx2(
            operands_.prepare(execute, block, arch, OperandFormat::kSignedPairs, scratchpads));
        break;
      default:
        return run_array_portable(execute, arch, scratchpads);
    }
  }
#else
  run_array_portable(execute, arch, scratchpads);
#endif
}

}  // namespace qsim::sim
