#include <algorithm>
#include <vector>

#include "core/checked_math.h"
#include "core/error.h"
#include "golden/device/cold_timer.h"
#include "golden/device/copy_time.h"
#include "golden/device/device_buffer.h"
#include "golden/device/devices.h"
#include "golden/device/launch.cuh"
#include "golden/device/mixed_copy.h"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kVectorsOfThread = 8;
constexpr std::int64_t kVectorsOfBlock = kThreads * kVectorsOfThread;

// The instruction is volatile, so that a vector that is not written is read all the same.
__device__ uint4 read_vector(const uint4* from) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

// Block b of n copies the vectors from reads * b / n on, and writes from writes * b / n on.
__global__ void __launch_bounds__(kThreads)
    mixed_copy(const uint4* from, std::int64_t reads, uint4* to, std::int64_t writes) {
  begin_kernel();
  const std::int64_t block = blockIdx.x;
  const std::int64_t blocks = gridDim.x;
  const std::int64_t read_end = reads * (block + 1) / blocks;
  const std::int64_t write_end = writes * (block + 1) / blocks;
  const std::int64_t read = reads * block / blocks + threadIdx.x;
  const std::int64_t write = writes * block / blocks + threadIdx.x;
  uint4 values[kVectorsOfThread] = {};
#pragma unroll
  for (int i = 0; i < kVectorsOfThread; ++i) {
    if (read + i * kThreads < read_end) values[i] = read_vector(from + read + i * kThreads);
  }
#pragma unroll
  for (int i = 0; i < kVectorsOfThread; ++i) {
    if (write + i * kThreads < write_end) __stcs(to + write + i * kThreads, values[i]);
  }
}

}  // namespace

void launch_mixed_copy(const void* from, std::int64_t read_bytes, void* to,
                       std::int64_t write_bytes, cudaStream_t stream) {
  constexpr std::int64_t kVectorBytes = sizeof(uint4);
  QSIM_CHECK(read_bytes % kVectorBytes == 0 && write_bytes % kVectorBytes == 0,
             "a mixed copy of whole vectors");
  const std::int64_t reads = read_bytes / kVectorBytes;
  const std::int64_t writes = write_bytes / kVectorBytes;
  // A slice of a rounded-down split is at most one vector larger than the average one.
  const std::int64_t blocks =
      std::max<std::int64_t>(1, ceil_div(std::max(reads, writes), kVectorsOfBlock - 1));
  launch_kernel("launching mixed_copy", mixed_copy, blocks, kThreads, 0, stream,
                static_cast<const uint4*>(from), reads, static_cast<uint4*>(to), writes);
}

double time_mixed_copy(const Stream& stream, std::int64_t read_bytes, std::int64_t write_bytes) {
  const auto bytes = static_cast<std::size_t>(read_bytes + write_bytes);
  const int rotations = cold_rotations(bytes);
  std::vector<DeviceBuffer> from;
  std::vector<DeviceBuffer> to;
  for (int i = 0; i < rotations; ++i) {
    from.push_back(poisoned(static_cast<std::size_t>(read_bytes)));
    to.push_back(poisoned(static_cast<std::size_t>(write_bytes)));
  }
  return median(time_cold(stream, rotations, [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    launch_mixed_copy(from[at].as<void>(), read_bytes, to[at].as<void>(), write_bytes,
                      stream.get());
  }));
}

}  // namespace qsim::golden::cuda

namespace qsim::golden {

double time_copy(std::int64_t read_bytes, std::int64_t write_bytes, int device) {
  use_device(device);
  const auto whole = [](std::int64_t bytes) { return ceil_div(bytes, 16) * 16; };
  return cuda::time_mixed_copy(cuda::Stream(), whole(read_bytes), whole(write_bytes));
}

}  // namespace qsim::golden
