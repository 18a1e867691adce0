// The inner loop of EXECUTE: one fold over a list of pixels. Vectorised by the compiler, for the
// instruction set that is found at run time; wraps modulo 2^32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qsim::sim::interpreter {

// Weights of one fold: [columns / group][rows][group] int32, where a group is what one pass of
// the kernel holds in registers.
class FoldWeights {
 public:
  FoldWeights(std::size_t rows, std::size_t columns);

  enum class Layout {
    kByElement,  // [rows][columns]: the weights of one element of the reduction side by side
    kByChannel,  // [columns][rows]: those of one output channel
  };

  // `bytes` holds rows x columns weights.
  void assign(const std::int8_t* bytes, Layout layout);

  // acc[i][c] += sum over r of pixels[i][r] * weights[r][c], or = when `overwrite`.
  void accumulate(std::span<const std::int8_t* const> pixels, bool overwrite,
                  std::uint32_t* acc) const;

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::size_t group_;
  std::vector<std::uint32_t> values_;
};

}  // namespace qsim::sim::interpreter
