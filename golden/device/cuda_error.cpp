#include "golden/device/cuda_error.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/error.h"

namespace qsim::golden::cuda {
namespace {

// What the machine lacks or the user asked too much of; anything else is a fault of the kernels.
constexpr std::array kCausesOutside = {cudaErrorMemoryAllocation,
                                       cudaErrorInsufficientDriver,
                                       cudaErrorNoDevice,
                                       cudaErrorInvalidDevice,
                                       cudaErrorDevicesUnavailable,
                                       cudaErrorNoKernelImageForDevice,
                                       cudaErrorSystemDriverMismatch,
                                       cudaErrorSystemNotReady,
                                       cudaErrorCompatNotSupportedOnDevice,
                                       cudaErrorECCUncorrectable,
                                       cudaErrorOperatingSystem,
                                       cudaErrorStartupFailure,
                                       cudaErrorDeviceUninitialized,
                                       cudaErrorUnsupportedPtxVersion};

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // a later call must not report this one again
  const std::string message =
      std::string("CUDA: ") + what + ": " +
      (status == cudaErrorMemoryAllocation ? "not enough memory" : cudaGetErrorString(status));
  const bool outside =
      std::find(kCausesOutside.begin(), kCausesOutside.end(), status) != kCausesOutside.end();
  if (outside) throw_bad_input(message);
  throw InternalError(message);
}

}  // namespace qsim::golden::cuda
