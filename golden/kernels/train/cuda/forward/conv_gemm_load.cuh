// Brings the operands of an int8 convolution to shared memory as the rows of an implicit GEMM: any
// window, groups and channels, and any zero_point, which pads are.
#pragma once

#include "golden/graph/cuda/kernels/conv_mma_kernel.cuh"
#include "golden/kernels/train/cuda/forward/conv_finish.cuh"

namespace qsim::golden::train::cuda {

using namespace golden::cuda;

using GemmTile = MmaTile64x64;

// A place in gemm_k: a position of the window, and a channel of the group.
struct DepthPlace {
  int ky = 0;
  int kx = 0;
  int channel = 0;

  __device__ void advance(const ConvSizes& conv, int by) {
    channel += by;
    while (channel >= conv.channels && ky < conv.kernel_h) {
      channel -= conv.channels;
      if (++kx < conv.kernel_w) continue;
      kx = 0;
      ++ky;
    }
  }
  __device__ bool is_end(const ConvSizes& conv) const { return ky >= conv.kernel_h; }
};

// Sixteen bytes that `byte_of(i)` gives.
template <typename ByteOf>
__device__ inline uint4 gather(const ByteOf& byte_of) {
  std::uint32_t words[4] = {};
#pragma unroll
  for (int i = 0; i < kMmaChunk; ++i) {
    words[i / 4] |= static_cast<std::uint32_t>(byte_of(i)) << (i % 4 * 8);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ inline int sum_bytes(uint4 chunk) {
  int sum = __dp4a(static_cast<int>(chunk.x), 0x01010101, 0);
  sum = __dp4a(static_cast<int>(chunk.y), 0x01010101, sum);
  sum = __dp4a(static_cast<int>(chunk.z), 0x01010101, sum);
  return __dp4a(static_cast<int>(chunk.w), 0x01010101, sum);
}

// kWhole: 16 channels of a place follow each other, aligned.
template <bool kWhole>
class GemmLoader {
 public:
  __device__ GemmLoader(const ConvSizes& conv, int zero_point, int first_pixel, int group,
                        int first_column)
      : conv_(conv), pad_((static_cast<std::uint32_t>(zero_point) & 0xFF) * 0x01010101U) {
    const int row = static_cast<int>(threadIdx.x) / kMmaChunks;
    const std::int64_t depth = std::int64_t{conv.kernel_h} * conv.kernel_w * conv.channels;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int pixel = first_pixel + row + i * kRowStep;
      const PixelPlace place(conv, pixel);
      y_[i] = pixel < conv.pixels ? place.y * conv.stride_h - conv.pad_top : kNowhere;
      x_[i] = place.x * conv.stride_w - conv.pad_left;
      pictures_[i] = conv.q +
                     std::int64_t{place.batch} * conv.height * conv.width * conv.all_channels +
                     std::int64_t{group} * conv.channels;
      const int column = first_column + row + i * kRowStep;
      weights_[i] = column < conv.columns
                        ? conv.w + (std::int64_t{group} * conv.columns + column) * depth
                        : nullptr;
    }
    place_.advance(conv, static_cast<int>(threadIdx.x) % kMmaChunks * kMmaChunk);
  }

  // The thread's chunks of the next stage to registers.
  __device__ void fetch() {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      inputs_[i] = input_chunk(i);
      columns_read_[i] = weight_chunk(i);
      weight_sums_[i] += sum_bytes(columns_read_[i]);
    }
    place_.advance(conv_, kMmaDepth);
  }

  // What was fetched to a stage of shared memory.
  __device__ void store(std::uint8_t* stage) const {
    const int row = static_cast<int>(threadIdx.x) / kMmaChunks;
    const int chunk = static_cast<int>(threadIdx.x) % kMmaChunks;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = mma_chunk_offset(row + i * kRowStep, chunk);
      *reinterpret_cast<uint4*>(stage + at) = inputs_[i];
      *reinterpret_cast<uint4*>(stage + GemmTile::kM * kMmaDepth + at) = columns_read_[i];
    }
  }

  // The sum of all weights of each column to `sums`, by the four threads that have its chunks.
  __device__ void store_weight_sums(std::int32_t* sums) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      int sum = weight_sums_[i];
      sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
      sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
      if (threadIdx.x % kMmaChunks == 0) sums[threadIdx.x / kMmaChunks + i * kRowStep] = sum;
    }
  }

 private:
  static constexpr int kRowStep = kMmaThreads / kMmaChunks;
  static constexpr int kLoads = GemmTile::kM / kRowStep;  // chunks of a thread, of each operand
  static constexpr int kNowhere = -(1 << 30);             // a row above every picture

  // The first byte of a place for row i; null: a pad.
  __device__ const std::int8_t* input_at(int i, const DepthPlace& place) const {
    const int y = y_[i] + place.ky * conv_.dilation_h;
    const int x = x_[i] + place.kx * conv_.dilation_w;
    if (y < 0 || y >= conv_.height || x < 0 || x >= conv_.width) return nullptr;
    return pictures_[i] + (std::int64_t{y} * conv_.width + x) * conv_.all_channels + place.channel;
  }
  __device__ const std::int8_t* weight_at(int i, const DepthPlace& place) const {
    if (weights_[i] == nullptr || place.is_end(conv_)) return nullptr;
    return weights_[i] + (place.ky * conv_.kernel_w + place.kx) * conv_.channels + place.channel;
  }

  __device__ uint4 input_chunk(int i) const {
    if constexpr (kWhole) {
      const std::int8_t* from = place_.is_end(conv_) ? nullptr : input_at(i, place_);
      return from == nullptr ? make_uint4(pad_, pad_, pad_, pad_)
                             : __ldg(reinterpret_cast<const uint4*>(from));
    } else {
      DepthPlace place = place_;
      return gather([&](int) {
        if (place.is_end(conv_)) return std::uint8_t{0};  // the weight is 0
        const std::int8_t* from = input_at(i, place);
        place.advance(conv_, 1);
        return static_cast<std::uint8_t>(from == nullptr ? pad_ : __ldg(from));
      });
    }
  }
  __device__ uint4 weight_chunk(int i) const {
    const std::int8_t* from = weight_at(i, place_);
    if constexpr (kWhole) {
      return from == nullptr ? make_uint4(0, 0, 0, 0) : __ldg(reinterpret_cast<const uint4*>(from));
    } else {
      const int depth = conv_.kernel_h * conv_.kernel_w * conv_.channels;
      const int at = (place_.ky * conv_.kernel_w + place_.kx) * conv_.channels + place_.channel;
      return gather([&](int k) {
        return from == nullptr || at + k >= depth ? std::uint8_t{0}
                                                  : static_cast<std::uint8_t>(__ldg(from + k));
      });
    }
  }

  const ConvSizes& conv_;
  std::uint32_t pad_;
  DepthPlace place_;
  int y_[kLoads];
  int x_[kLoads];
  const std::int8_t* pictures_[kLoads];
  const std::int8_t* weights_[kLoads];
  uint4 inputs_[kLoads];
  uint4 columns_read_[kLoads];
  int weight_sums_[kLoads] = {};
};

}  // namespace qsim::golden::train::cuda
