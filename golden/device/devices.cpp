#include "golden/device/devices.h"

#include <algorithm>

#include <cuda_runtime.h>

#include "core/base/error.h"
#include "golden/device/cuda_error.h"

namespace qsim::golden {
namespace {

// 13000 is "13.0"; 0 is ""
std::string version_text(int version) {
  if (version == 0) return "";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

CudaDevice describe(int index) {
  CudaDevice device;
  device.index = index;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
    cudaGetLastError();
    device.name = "unreadable device";  // keeps capability 0.0, so that nobody runs on it
    return device;
  }
  device.name = properties.name;
  device.major = properties.major;
  device.minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  device.l2_bytes = properties.l2CacheSize;
  return device;
}

CudaStatus ask() {
  CudaStatus status;
  status.built = true;
  int runtime = 0;
  int driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);  // leaves 0 without a driver
  status.runtime_version = version_text(runtime);
  status.driver_version = version_text(driver);
  int count = 0;  // an error leaves it untouched
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  for (int i = 0; i < count; ++i) status.devices.push_back(describe(i));
  if (driver == 0) {
    status.reason = "no driver";
  } else if (error != cudaSuccess && error != cudaErrorNoDevice) {
    status.reason = "driver " + status.driver_version + ": " + cudaGetErrorString(error);
  } else if (std::none_of(status.devices.begin(), status.devices.end(),
                          [](const CudaDevice& device) { return device.major >= 8; })) {
    status.reason = "no device of compute capability 8.0 or later";
  }
  return status;
}

}  // namespace

const CudaStatus& cuda_status() {
  static const CudaStatus kStatus = ask();
  return kStatus;
}

bool cuda_is_built() { return true; }

const CudaDevice& require_device(int index) {
  const CudaStatus& status = cuda_status();
  if (!status.usable()) throw_bad_input("CUDA: " + status.reason);
  if (index < 0 || static_cast<std::size_t>(index) >= status.devices.size()) {
    throw_bad_input("CUDA: device " + std::to_string(index) + "; there are " +
                    std::to_string(status.devices.size()));
  }
  const CudaDevice& device = status.devices[static_cast<std::size_t>(index)];
  if (device.major < 8) {
    throw_bad_input("CUDA: " + device.name + " has compute capability " +
                    std::to_string(device.major) + "." + std::to_string(device.minor) +
                    "; 8.0 or later is needed");
  }
  return device;
}

const CudaDevice& use_device(int index) {
  const CudaDevice& device = require_device(index);
  cuda::check(cudaSetDevice(index), "choosing the device");
  return device;
}

}  // namespace qsim::golden
