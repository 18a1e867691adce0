// The time of EXECUTE and POST commands as closed forms, each a named sum of terms; LOAD and STORE
// follow the recurrence of core/dram_channel.h. Nothing else takes time, and nothing depends on
// data. docs/reference/timing_model.md explains each term.
//
//   start = max(unit free, every waited-for token)
//   free  = start + occupancy: the unit's next command may start
//   done  = start + latency:   its tokens are usable from this cycle on
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arch_config.h"
#include "core/isa/commands.h"

namespace qsim {

struct Duration {
  std::uint64_t occupancy = 0;
  std::uint64_t latency = 0;
};

// Register stages that a command passes besides the terms below.
inline constexpr std::uint64_t kExecutePipelineCycles = 6;
inline constexpr std::uint64_t kPostPipelineCycles = 6;

// EXECUTE, weight_stationary. A fold streams its pixels at one a cycle while the next fold's
// weights shift in, which takes array_rows cycles.
struct ExecuteTerms {
  std::uint64_t folds = 0;
  std::uint64_t pixels = 0;       // of one fold: gemm_m
  std::uint64_t fold_period = 0;  // max(pixels, array_rows)
  std::uint64_t preload = 0;      // array_rows: weights of the first fold
  std::uint64_t skew = 0;  // array_rows + array_cols: from the first row and column to the last

  std::uint64_t stream() const { return folds * fold_period; }
  Duration duration() const {
    return {stream(), preload + stream() + skew + kExecutePipelineCycles};
  }
};

inline ExecuteTerms execute_terms(const Execute& execute, const ArchConfig& arch) {
  ExecuteTerms terms;
  terms.folds = std::uint64_t{execute.planes} * execute.kernel_h * execute.kernel_w;
  terms.pixels = std::uint64_t{execute.out_rows} * execute.out_cols;
  const auto rows = static_cast<std::uint64_t>(arch.array_rows);
  terms.fold_period = std::max(terms.pixels, rows);
  terms.preload = rows;
  terms.skew = rows + static_cast<std::uint64_t>(arch.array_cols);
  return terms;
}

// POST reads one psum word a cycle, for every position of every pooling window.
inline Duration post_duration(const Post& post) {
  const std::uint64_t beats =
      std::uint64_t{post.out_rows} * post.out_cols * post.pool_h * post.pool_w;
  return {beats, beats + kPostPipelineCycles};
}

}  // namespace qsim
