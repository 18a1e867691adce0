// The time of EXECUTE and POST commands as closed forms, each a named sum of terms; LOAD and STORE
// follow the recurrence of core/machine/dram_channel.h. Nothing else takes time, and nothing
// depends on data. docs/reference/timing_model.md explains each term.
//
//   start = max(unit free, every waited-for token; done of the EXECUTE before, at a switch)
//   free  = start + occupancy: the unit's next command may start
//   done  = start + latency:   its tokens are usable from this cycle on
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"

namespace qsim {

struct Duration {
  std::uint64_t occupancy = 0;
  std::uint64_t latency = 0;
};

// Register stages that a command passes besides the terms below.
inline constexpr std::uint64_t kExecutePipelineCycles = 6;  // weight_stationary
inline constexpr std::uint64_t kOutputStationaryPipelineCycles = 7;
inline constexpr std::uint64_t kInputStationaryPipelineCycles = 6;
inline constexpr std::uint64_t kPostPipelineCycles = 6;  // requantizer: shift
// Besides: magnitude, product, and the table, which levels pass whether or not it is read.
inline constexpr std::uint64_t kDyadicPostPipelineCycles = 9;

// EXECUTE, of any dataflow. It streams `groups` times `folds` periods. A cycle is useful when the
// array works on one pixel of one fold of one block, or on as many products; in each period the
// useful cycles come first. All groups are alike but the last, which has the pixels that are left.
struct ExecuteTerms {
  std::uint64_t groups = 1;             // of pixels: weight_stationary has one
  std::uint64_t folds = 0;              // planes * kernel_h * kernel_w
  std::uint64_t period = 1;             // cycles that a group takes for a fold
  std::uint64_t period_useful = 0;      // of those; in all groups but the last
  std::uint64_t last_group_useful = 0;  // of those; in the last group
  std::uint64_t fill = 0;               // before the stream: operands on their way to the PEs
  std::uint64_t drain = 0;              // after the stream: psums on their way to the accumulator

  std::uint64_t stream() const { return groups * folds * period; }
  std::uint64_t useful() const {
    return folds * ((groups - 1) * period_useful + last_group_useful);
  }
  std::uint64_t bubble() const { return stream() - useful(); }
  // The part of bubble() in the first `cycles` cycles of the stream.
  std::uint64_t bubble_before(std::uint64_t cycles) const;
  Duration duration() const { return {stream(), fill + stream() + drain}; }
};

inline std::uint64_t ExecuteTerms::bubble_before(std::uint64_t cycles) const {
  const auto idle_in = [this](std::uint64_t part, std::uint64_t useful_cycles) {
    const std::uint64_t in_period = part % period;
    return part / period * (period - useful_cycles) +
           (in_period > useful_cycles ? in_period - useful_cycles : 0);
  };
  const std::uint64_t last_group_begins = (groups - 1) * folds * period;
  const std::uint64_t before = std::min(cycles, last_group_begins);
  return idle_in(before, period_useful) + idle_in(cycles - before, last_group_useful);
}

// The sizes of an EXECUTE that its time depends on. All are at least 1.
struct ExecuteSize {
  std::uint64_t pixels = 1;  // out_rows * out_cols
  std::uint64_t folds = 1;
  std::uint64_t blocks = 1;
};

namespace timing_model {

// Psums are complete R + C cycles after the first row and column saw their operands.
inline std::uint64_t skew(std::uint64_t rows, std::uint64_t cols) { return rows + cols; }

// A fold streams its pixels at one a cycle while the next fold's weights shift in, which takes
// `rows` cycles. Nothing hides the weights of the first fold.
inline ExecuteTerms weight_stationary(const ExecuteSize& size, std::uint64_t rows,
                                      std::uint64_t cols) {
  return {.groups = 1,
          .folds = size.folds,
          .period = std::max(size.pixels, rows),
          .period_useful = size.pixels,
          .last_group_useful = size.pixels,
          .fill = rows,
          .drain = skew(rows, cols) + kExecutePipelineCycles};
}

// A group is `rows` pixels, one in each row of PEs; a fold is `rows` elements of the reduction, one
// a cycle. Each row takes the word of its pixel when its turn comes in the skew, so nothing is
// filled first. The psums of the last group leave row by row.
inline ExecuteTerms output_stationary(const ExecuteSize& size, std::uint64_t rows,
                                      std::uint64_t cols) {
  const std::uint64_t groups = (size.pixels + rows - 1) / rows;
  return {.groups = groups,
          .folds = size.folds,
          .period = rows,
          .period_useful = rows,
          .last_group_useful = size.pixels - (groups - 1) * rows,
          .fill = 0,
          .drain = skew(rows, cols) + rows + kOutputStationaryPipelineCycles};
}

// A group is `cols` pixels, one in each column of PEs. A fold streams the output channels of all
// blocks, one a cycle, while the next fold's activations shift in, which takes `rows` cycles.
// Nothing hides the activations of the first fold. The skew of the psums turns the channels of a
// pixel into a word.
inline ExecuteTerms input_stationary(const ExecuteSize& size, std::uint64_t rows,
                                     std::uint64_t cols) {
  const std::uint64_t groups = (size.pixels + cols - 1) / cols;
  return {.groups = groups,
          .folds = size.folds,
          .period = std::max(size.blocks * cols, rows),
          .period_useful = size.blocks * cols,
          .last_group_useful = size.blocks * (size.pixels - (groups - 1) * cols),
          .fill = rows,
          .drain = skew(rows, cols) + kInputStationaryPipelineCycles};
}

}  // namespace timing_model

// `execute` has satisfied the verifier's check of its fields.
inline ExecuteTerms execute_terms(const Execute& execute, const ArchConfig& arch) {
  const ExecuteSize size = {
      .pixels = std::uint64_t{execute.out_rows} * execute.out_cols,
      .folds = std::uint64_t{execute.planes} * execute.kernel_h * execute.kernel_w,
      .blocks = execute.blocks};
  const auto rows = static_cast<std::uint64_t>(arch.array_rows);
  const auto cols = static_cast<std::uint64_t>(arch.array_cols);
  switch (static_cast<Dataflow>(execute.dataflow)) {
    case Dataflow::kOutputStationary:
      return timing_model::output_stationary(size, rows, cols);
    case Dataflow::kInputStationary:
      return timing_model::input_stationary(size, rows, cols);
    case Dataflow::kWeightStationary:
      break;
  }
  return timing_model::weight_stationary(size, rows, cols);
}

// The dataflow changes on an empty array: an EXECUTE whose dataflow differs from that of the
// EXECUTE before starts no earlier than that one is done.
inline bool switches_dataflow(const Execute& before, const Execute& execute) {
  return before.dataflow != execute.dataflow;
}

inline std::uint64_t post_pipeline_cycles(const ArchConfig& arch) {
  return arch.is_dyadic() ? kDyadicPostPipelineCycles : kPostPipelineCycles;
}

// POST reads one psum word a cycle, for every position of every pooling window; two where it adds.
inline Duration post_duration(const Post& post, const ArchConfig& arch) {
  const std::uint64_t beats =
      std::uint64_t{post.out_rows} * post.out_cols * post.pool_h * post.pool_w * (1 + post.add);
  return {beats, beats + post_pipeline_cycles(arch)};
}

}  // namespace qsim
