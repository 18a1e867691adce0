// What GPUs there are. Works in every build and on every machine: where nothing can be used it says
// why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qsim::golden {

struct CudaDevice {
  int index = 0;
  std::string name;  // "NVIDIA H200"
  int major = 0;     // compute capability
  int minor = 0;
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
};

struct CudaStatus {
  bool built = false;           // this build has the CUDA golden
  std::string runtime_version;  // "13.0"; "" when not built
  std::string driver_version;   // "" without a driver
  std::vector<CudaDevice> devices;
  // Why no device can be used: "built without nvcc", "no driver", "no device of compute capability
  // 8.0 or later"; "" when one can.
  std::string reason;

  bool usable() const { return reason.empty(); }
};

const CudaStatus& cuda_status();  // asked once, kept

// Whether this build has the CUDA golden. Asks no driver, which cuda_status() does.
bool cuda_is_built();

// The device. Throws Error (exit code 3) where there is none of this index, or one of a compute
// capability before 8.0.
const CudaDevice& require_device(int index);

// Makes the device current for this thread and returns it. Throws Error as require_device().
const CudaDevice& use_device(int index);

}  // namespace qsim::golden
