#include "golden/device/device_scope.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include "golden/device/devices.h"

namespace qsim::golden {
namespace {

using PrimaryState = decltype(&cuDevicePrimaryCtxGetState);

// The driver's function, found at run time so that nothing links against libcuda; null where the
// driver has none.
PrimaryState primary_state() {
  static const PrimaryState kFunction = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const cudaError_t status = cudaGetDriverEntryPointByVersion(
        "cuDevicePrimaryCtxGetState", &found, 12000, cudaEnableDefault, &result);
    if (status == cudaSuccess && result == cudaDriverEntryPointSuccess) {
      return reinterpret_cast<PrimaryState>(found);
    }
    cudaGetLastError();
    return PrimaryState{nullptr};
  }();
  return kFunction;
}

bool has_context(int device) {
  unsigned flags = 0;
  int active = 1;
  if (primary_state() != nullptr) primary_state()(device, &flags, &active);
  return active != 0;
}

}  // namespace

DeviceScope::DeviceScope(int index) {
  int before = -1;
  if (cudaGetDevice(&before) != cudaSuccess) cudaGetLastError();
  require_device(index);
  if (before == index) return;
  const bool restores = before >= 0 && has_context(before);
  use_device(index);
  if (restores) restored_ = before;
}

DeviceScope::~DeviceScope() {
  if (restored_ >= 0) cudaSetDevice(restored_);
}

}  // namespace qsim::golden
