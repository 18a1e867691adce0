#include "golden/device/device_scope.h"

#include <cuda_runtime.h>

#include "golden/device/devices.h"

namespace qsim::golden {

DeviceScope::DeviceScope(int index) {
  if (cudaGetDevice(&before_) != cudaSuccess) cudaGetLastError();
  use_device(index);
}

DeviceScope::~DeviceScope() { cudaSetDevice(before_); }

}  // namespace qsim::golden
