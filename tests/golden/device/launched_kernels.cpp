// The linker hands over what nvcc's code calls to register and to launch a kernel (--wrap): no
// product's source knows of it. Launches that a graph captures count when they are captured.
#include "tests/golden/device/launched_kernels.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include <cuda_runtime.h>

namespace {

// Made when the first kernel is registered, before main().
struct Launches {
  std::mutex mutex;
  std::map<const void*, std::string> names;  // by the host's function
  std::set<const void*> launched;

  void add(const void* function) {
    const std::lock_guard lock(mutex);
    launched.insert(function);
  }
};

Launches& launches() {
  static Launches all;
  return all;
}

}  // namespace

extern "C" {

void __real___cudaRegisterFunction(void** module, const char* function, char* on_device,
                                   const char* name, int threads, void* tid, void* bid, void* block,
                                   void* grid, int* size);
void __wrap___cudaRegisterFunction(void** module, const char* function, char* on_device,
                                   const char* name, int threads, void* tid, void* bid, void* block,
                                   void* grid, int* size) {
  launches().names[function] = name;
  __real___cudaRegisterFunction(module, function, on_device, name, threads, tid, bid, block, grid,
                                size);
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                       void** arguments);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                       void** arguments) {
  launches().add(function);
  return __real_cudaLaunchKernelExC(config, function, arguments);
}

}  // extern "C"

namespace qsim::golden_test {

std::vector<std::string> kernel_names() {
  std::set<std::string> names;
  for (const auto& [function, name] : launches().names) names.insert(name);
  return {names.begin(), names.end()};
}

std::vector<std::size_t> take_launched_kernels() {
  const std::vector<std::string> names = kernel_names();
  Launches& all = launches();
  const std::lock_guard lock(all.mutex);
  std::set<std::size_t> found;
  for (const void* function : all.launched) {
    const auto known = all.names.find(function);
    if (known == all.names.end()) continue;  // not registered here
    const auto at = std::lower_bound(names.begin(), names.end(), known->second);
    found.insert(static_cast<std::size_t>(at - names.begin()));
  }
  all.launched.clear();
  return {found.begin(), found.end()};
}

}  // namespace qsim::golden_test
