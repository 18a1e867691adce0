// What the current device has.
#pragma once

#include <cuda_runtime.h>

#include "golden/device/cuda_error.h"

namespace qsim::golden::train::cuda {

inline int device_attribute(cudaDeviceAttr what) {
  int device = 0;
  int value = 0;
  golden::cuda::check(cudaGetDevice(&device), "asking for the device");
  golden::cuda::check(cudaDeviceGetAttribute(&value, what, device), "asking what the device has");
  return value;
}

}  // namespace qsim::golden::train::cuda
