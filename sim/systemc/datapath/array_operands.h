// The operands of one column block of an EXECUTE, re-laid for vector instructions that multiply and
// add groups of bytes within a 32-bit lane. Reads the scratchpads, computes no psum.
//
// A `step` is the 32 bits of one lane: 4 input channels as bytes (kBiasedBytes, for vpdpbusd) or 2
// as int16 (kSignedPairs, for vpmaddwd). A fold has R / 4 or R / 2 steps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"
#include "sim/systemc/datapath/laid_activations.h"
#include "sim/systemc/datapath/lane_layout.h"
#include "sim/systemc/datapath/scratchpads.h"

namespace qsim::sim {

// Commands of no more pixels than this have the weights summed while they are multiplied: as
// another pixel, for whose sake no pass over the weights is needed.
inline constexpr std::size_t kFewPixels = 2;

// What the block kernels read. Pixel m of a command is output row m / out_cols, column
// m % out_cols.
struct LaneView {
  // Step s of fold f for pixel m: activations[fold_offsets[f] + s * step_pitch + m].
  const std::uint32_t* activations = nullptr;
  const std::size_t* fold_offsets = nullptr;
  std::size_t step_pitch = 0;
  // Step s of fold f for column c: weights[(f * steps + s) * columns + c].
  const std::uint32_t* weights = nullptr;
  // -128 times the sum of all weights of a column (kBiasedBytes, more than kFewPixels), else zero:
  // added to each psum.
  const std::uint32_t* corrections = nullptr;
  std::size_t folds = 0;
  std::size_t steps = 0;
  std::size_t columns = 0;
  std::size_t pixels = 0;
  bool accumulate = false;
  std::int32_t* psums = nullptr;  // [pixels][columns]
};

class ArrayOperands {
 public:
  // Prepares the operands of column block `block` of the command.
  LaneView prepare(const Execute& execute, std::uint32_t block, const ArchConfig& arch,
                   OperandFormat format, Scratchpads& scratchpads);

 private:
  // As they were laid before, where nothing has been written since.
  const LaidActivations& activations(const Execute& execute, const ArchConfig& arch,
                                     OperandFormat format, Scratchpads& scratchpads);
  void lay_activations(const Execute& execute, const ArchConfig& arch, OperandFormat format,
                       Scratchpads& scratchpads, LaidActivations& laid);
  void lay_weights(const Execute& execute, std::uint32_t block, const ArchConfig& arch,
                   OperandFormat format, Scratchpads& scratchpads);

  LaneBuffer window_row_;
  LaneBuffer weights_;
  LaneBuffer corrections_;
  LaneView view_;
};

}  // namespace qsim::sim
