// EXECUTE: the address generator around the fold kernel.
#include <string>

#include "sim/interpreter/command_effects.h"
#include "sim/interpreter/fold_kernel.h"

namespace qsim::sim::interpreter {
namespace {

void check_execute(const Execute& e, const ArchConfig& arch) {
  if (e.dataflow >= kDataflows) {
    throw_bad_input("dataflow is " + std::to_string(e.dataflow) + "; allowed: 0 to " +
                    std::to_string(kDataflows - 1));
  }
  const std::int64_t folds = std::int64_t{e.planes} * e.kernel_h * e.kernel_w;
  if (folds == 0) return;
  check_words("weight scratchpad", e.weight_addr, folds * e.blocks * arch.fold_words(),
              arch.weight_words());
  check_words("accumulator half", e.acc_addr, std::int64_t{e.blocks} * e.out_rows * e.out_cols,
              arch.accumulator_half_words());
  const std::int64_t row =
      last_position(e.out_rows, e.kernel_h, e.stride_h, e.origin_row, e.in_rows);
  const std::int64_t col =
      last_position(e.out_cols, e.kernel_w, e.stride_w, e.origin_col, e.in_cols);
  if (row < 0 || col < 0) return;
  check_words("activation scratchpad", e.act_addr,
              std::int64_t{e.planes - 1} * e.act_plane_words + row * e.act_row_words + col + 1,
              arch.act_words());
}

// Where the array takes each pixel's word from in fold (plane, ky, kx).
void locate_pixels(const Execute& e, std::int64_t plane, std::int64_t ky, std::int64_t kx,
                   const Machine& machine, const std::int8_t* pad,
                   std::vector<const std::int8_t*>& pixels) {
  const std::int8_t** to = pixels.data();
  for (std::int64_t oy = 0; oy < e.out_rows; ++oy) {
    const std::int64_t iy = oy * e.stride_h + ky + e.origin_row;
    const bool row_resident = iy >= 0 && iy < e.in_rows;
    const std::int64_t row_word = e.act_addr + plane * e.act_plane_words + iy * e.act_row_words;
    for (std::int64_t ox = 0; ox < e.out_cols; ++ox) {
      const std::int64_t ix = ox * e.stride_w + kx + e.origin_col;
      const bool resident = row_resident && ix >= 0 && ix < e.in_cols;
      *to++ = resident ? machine.act.data() + (row_word + ix) * machine.arch.array_rows : pad;
    }
  }
}

}  // namespace

void apply(const Execute& e, Machine& machine) {
  check_execute(e, machine.arch);
  const auto rows = static_cast<std::size_t>(machine.arch.array_rows);
  const auto columns = static_cast<std::size_t>(machine.arch.array_cols);
  const auto layout = e.dataflow == static_cast<std::uint32_t>(Dataflow::kInputStationary)
                          ? FoldWeights::Layout::kByChannel
                          : FoldWeights::Layout::kByElement;
  const std::vector<std::int8_t> pad(rows, static_cast<std::int8_t>(e.pad_value));
  std::vector<const std::int8_t*> pixels(std::size_t{e.out_rows} * e.out_cols);
  FoldWeights weights(rows, columns);
  const std::int8_t* fold_weights =
      machine.weight.data() + e.weight_addr * machine.arch.weight_word_bytes();
  std::uint32_t* acc = machine.accumulator[e.acc_half].data() + std::size_t{e.acc_addr} * columns;
  bool overwrite = e.accumulate == 0;
  for (std::int64_t plane = 0; plane < e.planes; ++plane) {
    for (std::int64_t ky = 0; ky < e.kernel_h; ++ky) {
      for (std::int64_t kx = 0; kx < e.kernel_w; ++kx) {
        locate_pixels(e, plane, ky, kx, machine, pad.data(), pixels);
        for (std::size_t block = 0; block < e.blocks; ++block) {
          weights.assign(fold_weights, layout);
          weights.accumulate(pixels, overwrite, acc + block * pixels.size() * columns);
          fold_weights += rows * columns;
        }
        overwrite = false;
      }
    }
  }
}

}  // namespace qsim::sim::interpreter
