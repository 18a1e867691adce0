// What a thread of direct_input_gradient.cu adds up.
#pragma once

#include "golden/device/fast_divisor.h"
#include "golden/kernels/train/cuda/backward/direct_conv.cuh"
#include "golden/kernels/train/cuda/backward/real_values.cuh"

namespace qsim::golden::train::cuda {

inline constexpr int kDirectInputThreads = 256;
inline constexpr int kDirectInputPixels = 4;  // of a thread

enum class DirectOrder : std::uint8_t { kChannels, kPixels, kAny };  // what a store of dx takes

struct DirectInputArgs {
  ConvGeometry conv;
  const std::int8_t* w;
  const float* scales;
  const std::uint16_t* g;
  const std::uint8_t* passes;
  RealView dx;
  DirectOrder order;
  int chunks;        // in all
  int block_chunks;  // of a block
  int slabs;         // blocks that have all chunks
  int items;         // fours of pixels
  golden::cuda::FastDivisor row_items, height, stride_h, stride_w;
};

// Four pixels of a row of x.
struct DirectItem {
  int b, y, x;

  __device__ DirectItem(const DirectInputArgs& args, int index) {
    const int row = args.row_items.divide(index);
    x = (index - row * args.row_items.divisor()) * kDirectInputPixels;
    b = args.height.divide(row);
    y = row - b * args.height.divisor();
  }
};

// Weights of a block in float32: [tap][channel of the group of y][two fours of a chunk][chunk][4
// channels of x], so that threads of other chunks read other banks.
template <int kGroup>
class DirectWeights {
 public:
  __device__ DirectWeights(const DirectInputArgs& args, float* shared)
      : args_(args), shared_(shared) {}

  __device__ void fill(int first_chunk, int chunks) const {
    const int taps = args_.conv.kernel_h * args_.conv.kernel_w;
    const int depth = taps * kGroup;
    for (int i = static_cast<int>(threadIdx.x); i < chunks * kDirectChannels * depth;
         i += kDirectInputThreads) {
      const int in_block = i / depth;
      const int tap = (i - in_block * depth) / kGroup;
      const int out = first_chunk * kDirectChannels + in_block;
      const int of_group = in_block % kGroup;
      const int in = in_block % kDirectChannels - of_group + i % kGroup;
      const float value =
          static_cast<float>(args_.w[std::int64_t{out} * depth + i - in_block * depth]) *
          args_.scales[out];
      shared_[at(tap, of_group, in / 4, in_block / kDirectChannels) + in % 4] =
          __bfloat162float(__float2bfloat16_rn(value));
    }
  }

  __device__ void load(int tap, int of_group, int chunk, float (&values)[8]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float4 four =
          *reinterpret_cast<const float4*>(shared_ + at(tap, of_group, half, chunk));
      values[4 * half] = four.x;
      values[4 * half + 1] = four.y;
      values[4 * half + 2] = four.z;
      values[4 * half + 3] = four.w;
    }
  }

 private:
  __device__ int at(int tap, int of_group, int half, int chunk) const {
    return (((tap * kGroup + of_group) * 2 + half) * args_.block_chunks + chunk) * 4;
  }

  const DirectInputArgs& args_;
  float* shared_;
};

// The taps of a row, as kernels know them: three without gaps at stride 1, or any number at stride
// 1, at 2, or at any stride.
enum class DirectTaps : std::uint8_t { kThree, kStrideOne, kStrideTwo, kAny };

// Sums of a thread, of pixels and channels. `row` below is a row of g, `from` the thread's first
// pixel plus the pad.
template <int kGroup>
class DirectSums {
 public:
  float values[kDirectInputPixels][kDirectChannels] = {};

  __device__ DirectSums(const DirectInputArgs& args, const DirectWeights<kGroup>& weights,
                        int chunk)
      : args_(args), weights_(weights), chunk_(chunk) {}

  template <DirectTaps kTaps>
  __device__ void add_row(int tap_h, const std::uint16_t* row, int from) {
    const int first_tap = tap_h * args_.conv.kernel_w;
    if constexpr (kTaps == DirectTaps::kThree) {
      add_three(first_tap, row, from - 2);
    } else {
      for (int tap_w = 0; tap_w < args_.conv.kernel_w; ++tap_w) {
        const int tap = first_tap + tap_w;
        const int at_tap = from - tap_w * args_.conv.dilation_w;
        if constexpr (kTaps == DirectTaps::kStrideOne) {
          add_tap<0, 1>(tap, row, at_tap);
        } else if constexpr (kTaps == DirectTaps::kAny) {
          add_tap<0, 1, true>(tap, row, at_tap);
        } else if (at_tap % 2 == 0) {
          add_tap<0, 2>(tap, row, at_tap);
        } else {
          add_tap<1, 2>(tap, row, at_tap);
        }
      }
    }
  }

 private:
  // Every kStep-th pixel from kFirst on at one tap. kStep is the stride, unless kDivides says that
  // it may be any.
  template <int kFirst, int kStep, bool kDivides = false>
  __device__ void add_tap(int tap, const std::uint16_t* row, int from) {
    EightReals g[kDirectInputPixels];
#pragma unroll
    for (int p = kFirst; p < kDirectInputPixels; p += kStep) {
      const int x = kDivides ? args_.stride_w.divide(max(from + p, 0)) : (from + p) / kStep;
      const bool whole = !kDivides || x * args_.conv.stride_w == from + p;
      if (whole && from + p >= 0) load(row, x, g[p]);
    }
#pragma unroll
    for (int of_group = 0; of_group < kGroup; ++of_group) {
      float w[kDirectChannels];
      weights_.load(tap, of_group, chunk_, w);
#pragma unroll
      for (int p = kFirst; p < kDirectInputPixels; p += kStep) multiply(p, g[p], of_group, w);
    }
  }

  // Three taps: each place of g is read once for all of them. `x` is that of the first pixel and
  // the last tap.
  __device__ void add_three(int first_tap, const std::uint16_t* row, int x) {
    constexpr int kPlaces = kDirectInputPixels + 2;
    EightReals g[kPlaces];
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      if (x + i >= 0) load(row, x + i, g[i]);
    }
#pragma unroll
    for (int of_group = 0; of_group < kGroup; ++of_group) {
      float w[3][kDirectChannels];
#pragma unroll
      for (int tap = 0; tap < 3; ++tap) {
        weights_.load(first_tap + tap, of_group, chunk_, w[tap]);
      }
#pragma unroll
      for (int i = 0; i < kPlaces; ++i) {
#pragma unroll
        for (int tap = 0; tap < 3; ++tap) {
          const int p = i + tap - 2;
          if (p >= 0 && p < kDirectInputPixels) multiply(p, g[i], of_group, w[tap]);
        }
      }
    }
  }

  __device__ void load(const std::uint16_t* row, int x, EightReals& g) const {
    if (x < args_.conv.out_width) g.load(row + std::int64_t{x} * args_.conv.out_channels);
  }

  __device__ void multiply(int p, const EightReals& g, int of_group,
                           const float (&w)[kDirectChannels]) {
#pragma unroll
    for (int c = 0; c < kDirectChannels; ++c) {
      values[p][c] = fmaf(g[c / kGroup * kGroup + of_group], w[c], values[p][c]);
    }
  }

  const DirectInputArgs& args_;
  const DirectWeights<kGroup>& weights_;
  int chunk_;
};

}  // namespace qsim::golden::train::cuda
