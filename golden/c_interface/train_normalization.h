// Batch normalization of a chain as the struct of golden/kernels/train.
#pragma once

#include "golden/c_interface/train_views.h"
#include "golden/kernels/train/chain_calls.h"

namespace qsim::golden::c_interface {

// Pixels whose sums of acc^2 fit 64 bits.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 31;

inline const float* optional_floats(Call& call, const char* what, const qsim_tensor* tensor,
                                    std::int64_t count) {
  return data_of<const float>(call, what, tensor, QSIM_FLOAT32, {count});
}

inline double* norm_of(Call& call, const qsim_tensor* norm, std::int64_t channels) {
  return data_of<double>(call, "norm", norm, QSIM_BITS64, {5, channels});
}

// Reads the parameters and statistics of work.channels channels into `work`.
inline void read_normalization(Call& call, const qsim_normalization* given,
                               train::NormalizeStatistics& work) {
  call.require("normalization", given);
  require_struct(call, "normalization", given->struct_bytes, sizeof(qsim_normalization));
  work.gamma = optional_floats(call, "gamma", given->gamma, work.channels);
  work.beta = optional_floats(call, "beta", given->beta, work.channels);
  const auto running = [&](const char* what, const qsim_tensor* tensor) {
    return required_data<float>(call, what, tensor, QSIM_FLOAT32, {work.channels});
  };
  work.running_mean = running("running_mean", given->running_mean);
  work.running_var = running("running_var", given->running_var);
  work.batches = required_data<std::int64_t>(call, "batches", given->batches, QSIM_INT64, {1});
  work.eps = given->eps;
  work.momentum = given->momentum;
}

}  // namespace qsim::golden::c_interface
