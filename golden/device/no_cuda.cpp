// The devices of a build without nvcc: there are none, and it says so.
#include "core/base/error.h"
#include "golden/device/copy_time.h"
#include "golden/device/device_scope.h"
#include "golden/device/devices.h"

namespace qsim::golden {

const CudaStatus& cuda_status() {
  static const CudaStatus kStatus = [] {
    CudaStatus without;
    without.reason = "built without nvcc";
    return without;
  }();
  return kStatus;
}

bool cuda_is_built() { return false; }

const CudaDevice& require_device(int) { throw_bad_input("CUDA: " + cuda_status().reason); }
const CudaDevice& use_device(int index) { return require_device(index); }

double time_copy(std::int64_t, std::int64_t, int device) {
  use_device(device);  // throws
  return 0;
}

DeviceScope::DeviceScope(int index) { use_device(index); }  // throws
DeviceScope::~DeviceScope() = default;

}  // namespace qsim::golden
