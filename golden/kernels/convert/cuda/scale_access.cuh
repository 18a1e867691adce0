// The scale, the zero_point and the extent of a group in device memory.
#pragma once

#include "golden/kernels/convert/cuda/params.h"

namespace qsim::golden::cuda {

__device__ inline GroupScale scale_at(const DeviceScales& scales, std::int64_t index) {
  GroupScale result;
  if (scales.zero_points != nullptr) result.zero_point = scales.zero_points[index];
  if (scales.format == ScaleFormat::kFp32) {
    result.scale = scales.scales[index];
    return result;
  }
  result.code = scales.codes[index];
  result.scale = scales.format == ScaleFormat::kUe8m0
                     ? float_of(ue8m0_decode(result.code))
                     : e4m3_scale_number(result.code, *scales.global);
  return result;
}

__device__ inline void store_scale(const GroupScale& scale, const DeviceScales& scales,
                                   std::int64_t index) {
  if (scales.format == ScaleFormat::kFp32) {
    scales.scales[index] = scale.scale;
  } else {
    scales.codes[index] = scale.code;
  }
  if (scales.zero_points != nullptr) {
    scales.zero_points[index] = static_cast<std::int8_t>(scale.zero_point);
  }
}

// Most callers see a larger one, and need no atomic operation.
__device__ inline void raise(std::uint32_t* to, std::uint32_t value) {
  if (value > *static_cast<volatile std::uint32_t*>(to)) atomicMax(to, value);
}

}  // namespace qsim::golden::cuda
