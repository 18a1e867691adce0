// Launches of the kernels of a plan.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/convert/cuda/plan.h"
#include "golden/kernels/convert/vector_conversion.h"

namespace qsim::golden::cuda {

struct QuantizeLaunch {
  const QuantizePlan& plan;
  ElementFormat target;
  bool software;
  cudaStream_t stream;
};

void launch_quantize_half(const QuantizeLaunch& launch);
void launch_quantize_bfloat16(const QuantizeLaunch& launch);
// Finds the bin that has the rank of a whole tensor's percentile (long_groups.cuh).
void launch_choose_bin(const QuantizeParams& p, int level, cudaStream_t stream);
// Computes the scales of long groups from their extents.
void launch_long_scales(const QuantizeParams& p, cudaStream_t stream);
void launch_dequantize(const DecodePlan& plan, ElementFormat source, ElementFormat target,
                       cudaStream_t stream);
void launch_int4_to_fp8(const DecodePlan& plan, ElementFormat target, bool software,
                        cudaStream_t stream);

}  // namespace qsim::golden::cuda
