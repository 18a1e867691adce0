#include <algorithm>
#include <vector>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "core/base/median.h"
#include "golden/device/cold_timer.h"
#include "golden/device/copy_time.h"
#include "golden/device/device_buffer.h"
#include "golden/device/devices.h"
#include "golden/device/launch.cuh"
#include "golden/device/mixed_copy.h"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kMostVectors = 8;           // that a thread reads or writes
constexpr std::int64_t kLineVectors = 8;  // of 128 bytes: where slices begin

// The instruction is volatile, so that a vector that is not written is read all the same.
__device__ uint4 read_vector(const uint4* from) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

// How vectors are divided among blocks, by lines: the first `longer` blocks have one more.
struct Slices {
  std::int64_t vectors;
  std::int64_t lines;  // of a block
  std::int64_t longer;

  __device__ std::int64_t begin(std::int64_t block) const {
    return min((block * lines + min(block, longer)) * kLineVectors, vectors);
  }
};

Slices slices(std::int64_t vectors, std::int64_t blocks) {
  const std::int64_t lines = ceil_div(vectors, kLineVectors);
  return {vectors, lines / blocks, lines % blocks};
}

// Each block copies a slice of the vectors read to a slice of those written.
__global__ void __launch_bounds__(kThreads)
    mixed_copy(const uint4* from, Slices reads, uint4* to, Slices writes) {
  begin_kernel();
  const std::int64_t block = blockIdx.x;
  const std::int64_t read = reads.begin(block);
  const std::int64_t write = writes.begin(block);
  const auto read_count = static_cast<int>(reads.begin(block + 1) - read);
  const auto write_count = static_cast<int>(writes.begin(block + 1) - write);
  const auto first = static_cast<int>(threadIdx.x);
  uint4 values[kMostVectors] = {};
#pragma unroll
  for (int i = 0; i < kMostVectors; ++i) {
    if (first + i * kThreads < read_count)
      values[i] = read_vector(from + read + first + i * kThreads);
  }
#pragma unroll
  for (int i = 0; i < kMostVectors; ++i) {
    if (first + i * kThreads < write_count) __stcs(to + write + first + i * kThreads, values[i]);
  }
}

// So many blocks that a thread has one vector of the smaller side, which was the fastest of 1, 2
// and 4; more where it would have too many of the larger one.
std::int64_t copy_blocks(std::int64_t reads, std::int64_t writes) {
  const std::int64_t larger = std::max(reads, writes);
  const std::int64_t smaller = std::min(reads, writes);
  // A slice is at most one line larger than the average one.
  const auto of_vectors = [](std::int64_t vectors, std::int64_t of_thread) {
    return ceil_div(vectors, of_thread * kThreads - kLineVectors);
  };
  const std::int64_t fewest = of_vectors(larger, kMostVectors);
  const std::int64_t wanted = smaller == 0 ? of_vectors(larger, 4) : of_vectors(smaller, 1);
  return std::max({std::int64_t{1}, fewest, wanted});
}

}  // namespace

void launch_mixed_copy(const void* from, std::int64_t read_bytes, void* to,
                       std::int64_t write_bytes, cudaStream_t stream) {
  constexpr std::int64_t kVectorBytes = sizeof(uint4);
  QSIM_CHECK(read_bytes % kVectorBytes == 0 && write_bytes % kVectorBytes == 0,
             "a mixed copy of whole vectors");
  const std::int64_t reads = read_bytes / kVectorBytes;
  const std::int64_t writes = write_bytes / kVectorBytes;
  const std::int64_t blocks = copy_blocks(reads, writes);
  launch_kernel("launching mixed_copy", mixed_copy, blocks, kThreads, 0, stream,
                static_cast<const uint4*>(from), slices(reads, blocks), static_cast<uint4*>(to),
                slices(writes, blocks));
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
