// How a kernel may take more shared memory than the 48 KB that each has.
#pragma once

#include <cuda_runtime.h>

#include "golden/device/cuda_error.h"

namespace qsim::golden::cuda {

// Lets launches of `kernel` on the current device take all that the device has for a block. The
// limit belongs to the kernel and not to a launch: threads that launch it with other sizes at the
// same time set the same number.
template <typename... Params>
void allow_all_shared_memory(void (*kernel)(Params...)) {
  int device = 0;
  int most = 0;
  cudaFuncAttributes attributes{};
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "asking for the shared memory of a block");
  check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's shared memory");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             most - static_cast<int>(attributes.sharedSizeBytes)),
        "reserving shared memory");
}

}  // namespace qsim::golden::cuda
