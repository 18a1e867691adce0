// A plain copy whose reads and writes are mixed in any ratio: what a kernel that reads and writes
// as many bytes is compared with.
#pragma once

#include <cstdint>

#include "golden/device/stream.h"

namespace qsim::golden::cuda {

// Enqueues a kernel that reads `read_bytes` at `from` and writes `write_bytes` at `to`, both in
// equal parts by all blocks. Both are multiples of 16 and aligned to 16, and either may be 0. With
// equal sizes `to` becomes a copy of `from`; else the bytes written have no meaning.
void launch_mixed_copy(const void* from, std::int64_t read_bytes, void* to,
                       std::int64_t write_bytes, cudaStream_t stream);

// Seconds of such a kernel on the current device, with cold caches (cold_timer.h): the median.
double time_mixed_copy(const Stream& stream, std::int64_t read_bytes, std::int64_t write_bytes);

}  // namespace qsim::golden::cuda
