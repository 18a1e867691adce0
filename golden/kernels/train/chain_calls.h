// The calls of a chain of layers beside its convolutions, as plain data: arithmetic of a few
// numbers a channel, or a tensor. include/qsim/training.h says what each computes; numbers of
// float64 are a row of `norm` each, [5][channels]: gain, offset, mean, inverse, unit.
#pragma once

#include <cstddef>

#include "golden/common/thread_team.h"
#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train {

// Scales of all channels of one of all, or of one each.
struct SpreadScales {
  const float* from = nullptr;  // [from_count]: 1, or count
  std::int64_t from_count = 1;
  float* to = nullptr;  // [count]; may be `from`
  std::int64_t count = 0;
};

struct NormalizeStatistics {
  const std::int64_t* sums = nullptr;  // [channels][3]; null: the running statistics are taken
  std::int64_t pixels = 0;
  std::int64_t channels = 0;
  const float* x_scale = nullptr;   // [1]
  const float* w_scales = nullptr;  // [channels]
  const float* bias = nullptr;      // [channels], or null
  const float* gamma = nullptr;     // the same
  const float* beta = nullptr;      // the same
  float* running_mean = nullptr;
  float* running_var = nullptr;
  std::int64_t* batches = nullptr;  // [1]
  double eps = 0;
  double momentum = 0;  // below 0: the mean of all batches
  double* norm = nullptr;
};

struct FoldLevels {
  std::int64_t channels = 0;
  std::int64_t weights = 0;         // of a channel
  const float* x_scale = nullptr;   // [1]
  const float* w_scales = nullptr;  // [channels]
  const float* y_scale = nullptr;   // [1]
  const double* norm = nullptr;     // or null
  const float* bias = nullptr;      // [channels], or null; not read where there is a norm
  const std::int8_t* w = nullptr;   // [channels][weights]
  float* multipliers = nullptr;     // [channels]
  std::int32_t* biases = nullptr;   // [channels]; null without norm and bias
  std::int8_t* w_used = nullptr;    // as w; null without norm and bias
};

// The scale of a first look at y: the greatest unit of a channel.
struct TrialScale {
  std::int64_t channels = 0;
  const float* x_scale = nullptr;   // [1]
  const float* w_scales = nullptr;  // [channels]
  const double* norm = nullptr;     // or null
  float* trial = nullptr;           // [1]
};

// What that look saw, and the scale that follows.
struct MeasureScale {
  const float* seen = nullptr;   // [2], in units of trial
  const float* trial = nullptr;  // [1]
  const float* span = nullptr;   // [1]
  bool power_of_two = false;
  float* range = nullptr;  // [2]
  float* scale = nullptr;  // [1]
};

struct ObserveRows {
  std::int64_t rows = 0;
  const float* ranges = nullptr;  // [rows][2]
  const float* units = nullptr;   // [rows]
  const float* spans = nullptr;   // [rows]
  Observer observer = Observer::kLast;
  float momentum = 0;
  bool power_of_two = false;
  float* state = nullptr;        // [rows][3]
  const float* first = nullptr;  // [1]
  float* scales = nullptr;       // [rows]
};

struct NormalizationGradient {
  std::int64_t channels = 0;
  std::int64_t pixels = 0;
  bool of_batch = false;
  const double* norm = nullptr;
  const float* sums = nullptr;  // [channels][2]
  float* factors = nullptr;     // [channels][3]
  float* gamma = nullptr;       // [channels], or null
  float* beta = nullptr;        // the same
  float* bias = nullptr;        // the same
};

void compute(const SpreadScales& call, ThreadTeam& team);
void compute(const NormalizeStatistics& call, ThreadTeam& team);
void compute(const FoldLevels& call, ThreadTeam& team);
void compute(const TrialScale& call, ThreadTeam& team);
void compute(const MeasureScale& call, ThreadTeam& team);
void compute(const ObserveRows& call, ThreadTeam& team);
void compute(const NormalizationGradient& call, ThreadTeam& team);

namespace cuda {

inline std::size_t workspace_bytes(const SpreadScales&) { return 0; }
inline std::size_t workspace_bytes(const NormalizeStatistics&) { return 0; }
inline std::size_t workspace_bytes(const FoldLevels&) { return 0; }
inline std::size_t workspace_bytes(const TrialScale&) { return 0; }
inline std::size_t workspace_bytes(const MeasureScale&) { return 0; }
inline std::size_t workspace_bytes(const ObserveRows&) { return 0; }
inline std::size_t workspace_bytes(const NormalizationGradient&) { return 0; }

void enqueue(const SpreadScales& call, void* workspace, void* stream);
void enqueue(const NormalizeStatistics& call, void* workspace, void* stream);
void enqueue(const FoldLevels& call, void* workspace, void* stream);
void enqueue(const TrialScale& call, void* workspace, void* stream);
void enqueue(const MeasureScale& call, void* workspace, void* stream);
void enqueue(const ObserveRows& call, void* workspace, void* stream);
void enqueue(const NormalizationGradient& call, void* workspace, void* stream);

}  // namespace cuda
}  // namespace qsim::golden::train
