// Times of `qsim golden linear`: each mode on the same numbers, and the limit that memory sets.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/session/linear/linear_source.h"
#include "golden/kernels/linear/packed_linear.h"

namespace qsim::cli {

struct LinearTime {
  std::string mode;
  LinearSize size{0, 0};
  std::int64_t rows = 0;
  double mean_seconds = 0, p50_seconds = 0, p95_seconds = 0;
  double least_seconds = 0;
  std::int64_t bytes = 0;            // weights, x, y and bias, each once
  double read_bytes_per_second = 0;  // measured in this run
  // Against cpu_fp32, which computes with the weights before they were quantized; absent without
  // it.
  std::optional<double> speedup, max_error, mean_error;

  double bytes_per_second() const { return static_cast<double>(bytes) / p50_seconds; }
  // The most that memory gave in this run: to a plain reading, or to the layer itself, whose
  // weights may be in a nearer cache.
  double limit_bytes_per_second() const {
    return std::max(read_bytes_per_second, static_cast<double>(bytes) / least_seconds);
  }
  double share_of_limit() const { return bytes_per_second() / limit_bytes_per_second(); }
};

struct TileTime {
  golden::TileShape shape;
  double p50_seconds = 0;
};

struct PipelineTime {
  int stages = 0;
  double p50_seconds = 0;
};

struct LinearMeasurement {
  std::vector<LinearTime> modes;
  std::vector<TileTime> tiles;          // of --sweep on the CPU
  std::vector<PipelineTime> pipelines;  // of --sweep on the GPU
  golden::FloatMatrix y;                // of the last mode
  double quantize_seconds = 0;
  double transpose_seconds = 0;  // [K, N] to [N, K]
  double pack_seconds = 0;
};

// --bench: the weights of a mode are copied until they fill this, and the runs take turns.
inline constexpr std::size_t kColdBytes = std::size_t{512} << 20;

// Throws Error (exit code 3) for the mode gpu_int8 without a GPU.
LinearMeasurement measure_linear(const LinearOptions& options, const LinearSource& source,
                                 const LinearSize& size, golden::ThreadTeam& team);

}  // namespace qsim::cli
