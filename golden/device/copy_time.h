// How long a plain copy takes on a device, for programs that include no CUDA.
#pragma once

#include <cstdint>

namespace qsim::golden {

// Seconds of a kernel on `device` that reads and writes as many bytes, rounded up to multiples of
// 16, and does nothing else (mixed_copy.h): the median with cold caches. Throws Error (exit code 3)
// without that device.
double time_copy(std::int64_t read_bytes, std::int64_t write_bytes, int device);

}  // namespace qsim::golden
