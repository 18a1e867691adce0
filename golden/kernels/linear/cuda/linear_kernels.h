// The kernels of linear layers: each one's launch. linear_launch.cpp chooses.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/linear/cuda/batch_plan.h"
#include "golden/kernels/linear/cuda/hopper_plan.h"
#include "golden/kernels/linear/cuda/linear_launch.h"
#include "golden/kernels/linear/cuda/row_plan.h"

namespace qsim::golden::cuda {

// Whether the weights are laid out for copies of 16 bytes.
bool has_aligned_rows(const DeviceWeights& weights);

// Rows that are aligned; a plan with has_row_pipeline().
void launch_linear_rows(const DeviceWeights& weights, const LinearCall& call, const RowPlan& plan,
                        cudaStream_t stream);
// Rows that are aligned, any number of rows of x; a plan with batch_x_rows(), of at least two
// stages.
int batch_x_rows(std::int64_t rows);
void launch_linear_batch(const DeviceWeights& weights, const LinearCall& call,
                         const BatchPlan& plan, cudaStream_t stream);
// The same with wgmma, for 8 bits with one scale a channel.
bool has_hopper_batch(const DeviceWeights& weights, const HopperPlan& plan);
void launch_linear_batch_hopper(const DeviceWeights& weights, const LinearCall& call,
                                const HopperPlan& plan, cudaStream_t stream);
void launch_linear_plain(const DeviceWeights& weights, const LinearCall& call, cudaStream_t stream);

}  // namespace qsim::golden::cuda
