// How a kernel may take more shared memory than the 48 KB that each has.
#pragma once

namespace qsim::golden::cuda {

// Lets launches of a kernel on the current device take all that the device has for a block. The
// limit belongs to the kernel and not to a launch: threads that launch it with other sizes at the
// same time set the same number. CUDA is asked once for each kernel and device: it would take a
// third of a launch's time. A program that resets a device (cudaDeviceReset) has to end then.
void allow_all_shared_memory_of(const void* kernel);

template <typename... Params>
void allow_all_shared_memory(void (*kernel)(Params...)) {
  allow_all_shared_memory_of(reinterpret_cast<const void*>(kernel));
}

}  // namespace qsim::golden::cuda
