// The words of a thread's two output pixels, loaded as the fragments of a product of bits. Words
// outside the picture are 0, so that they add nothing to popcount(a & b).
#pragma once

#include <cstdint>

#include "golden/binary/cuda/conv_args.h"

namespace qsim::golden::cuda {

template <typename T>
__device__ inline const T* table(const BinaryConvArgs& args, std::uint64_t offset) {
  return reinterpret_cast<const T*>(args.packed + offset);
}

// A window of the input.
struct WindowPlace {
  std::int32_t pixel;    // its first pixel of all pictures', which may be outside its own
  std::int32_t windows;  // its class, by what is inside
};

// The window of output pixel `row`, at position `position` of its max-pool. Rows beyond the last
// output pixel take the first one's window; their results are not written.
__device__ inline WindowPlace window_place(const BinaryConvArgs& args, std::uint32_t row,
                                           std::int32_t position) {
  if (row >= args.output_rows) row = 0;
  const std::uint32_t line = row / args.output_width;
  const std::uint32_t batch = line / args.output_height;
  auto y = static_cast<std::int32_t>(line - batch * args.output_height);
  auto x = static_cast<std::int32_t>(row - line * args.output_width);
  if (args.has_pool != 0) {
    const std::int32_t below = position / args.pool_size;
    y = y * args.pool_stride + below;
    x = x * args.pool_stride + position - below * args.pool_size;
  }
  const std::int32_t windows = __ldg(table<std::int32_t>(args, args.rows) + y) +
                               __ldg(table<std::int32_t>(args, args.columns) + x);
  const std::int32_t first_line =
      static_cast<std::int32_t>(batch) * args.height + y * args.stride_h - args.pad_top;
  return {first_line * args.width + x * args.stride_w - args.pad_left, windows};
}

// Fragments of kGroupSteps products: [step][row g, row g + 8; their low halves, their high halves].
using GroupWords = std::uint32_t[kGroupSteps][4];

// The halves of the word at `from`, or 0 without reading where `inside` is 0. The order of such
// loads is the source's, which keeps the number of addresses in registers low.
__device__ inline void load_if(std::uint32_t inside, const std::uint8_t* from, std::uint32_t& low,
                               std::uint32_t& high) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.u32 p, %3, 0;\nmov.u32 %0, 0;\nmov.u32 %1, 0;\n"
      "@p ld.global.nc.v2.u32 {%0, %1}, [%2];\n}\n"
      : "=&r"(low), "=&r"(high)
      : "l"(from), "r"(inside));
}

// Group `group` of the base of activations that begins `base_bytes` after the pixel.
__device__ inline void load_group(const BinaryConvArgs& args, const WindowPlace (&places)[2],
                                  std::int32_t base_bytes, std::int32_t group, GroupWords& words) {
  const std::uint32_t q = threadIdx.x % 4;
  const int4 offsets = __ldg(table<int4>(args, args.offsets) + group * kStepWords + q);
  const std::int32_t offset[kGroupSteps] = {offsets.x, offsets.y, offsets.z};
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const std::uint32_t* masks = table<std::uint32_t>(args, args.masks);
    const std::uint32_t inside = __ldg(masks + places[h].windows * args.groups + group) >> q;
    const std::uint8_t* first =
        args.input + static_cast<std::int64_t>(places[h].pixel) * args.pixel_bytes + base_bytes;
#pragma unroll
    for (int step = 0; step < kGroupSteps; ++step) {
      load_if(inside >> (kStepWords * step) & 1, first + offset[step], words[step][h],
              words[step][2 + h]);
    }
  }
}

// Adds the popcounts of a thread's own words to those of its two rows.
__device__ inline void count_words(const GroupWords& words, std::int32_t (&ones)[2]) {
#pragma unroll
  for (int step = 0; step < kGroupSteps; ++step) {
#pragma unroll
    for (int h = 0; h < 2; ++h) ones[h] += __popc(words[step][h]) + __popc(words[step][2 + h]);
  }
}

// The popcounts of the rows, of what their four lanes have.
__device__ inline void sum_lanes(std::int32_t (&ones)[2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    ones[h] += __shfl_xor_sync(0xFFFFFFFFu, ones[h], 1);
    ones[h] += __shfl_xor_sync(0xFFFFFFFFu, ones[h], 2);
  }
}

}  // namespace qsim::golden::cuda
