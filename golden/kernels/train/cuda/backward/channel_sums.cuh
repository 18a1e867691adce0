// Sums of rows that blocks have left in the workspace, in a fixed order.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

namespace qsim::golden::train::cuda {

// to[columns] = the sum of rows [rows][columns]; 0 where there are none.
void enqueue_channel_sums(const float* rows, std::int64_t row_count, std::int64_t columns,
                          float* to, cudaStream_t stream);

}  // namespace qsim::golden::train::cuda
