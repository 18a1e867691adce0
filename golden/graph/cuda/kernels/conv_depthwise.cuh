// A depthwise convolution: a filter for each channel, so that reading and writing activations
// bounds it. A thread has four neighbouring channels. It turns the words of four neighbouring
// pixels into one word a channel, and dp4a multiplies that by four taps of the filter's row.
#pragma once

#include "golden/device/fast_divisor.h"
#include "golden/device/launch.cuh"
#include "golden/graph/cuda/kernels/conv_mma_store.cuh"

namespace qsim::golden::cuda {

inline constexpr int kDepthwiseThreads = 256;

struct Depthwise {
  const std::uint32_t* input;  // words of four channels
  // [kernel_h][parts][channels]: four taps of a row, the first in the lowest byte, zero padded.
  const std::uint32_t* weights;
  std::uint32_t* output;
  OutputParams params;
  int height, width, words;  // of the input; `words` of a pixel
  int out_height, out_width;
  int kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w;
  int parts;           // of a row of the filter
  std::uint32_t fill;  // the zero point, four times
  // A thread's place: word, column of threads, row of threads, picture.
  FastDivisor by_word, by_column, by_row;
  int threads;
};

struct DepthwisePlace {
  int word, column, row, picture;

  __device__ DepthwisePlace(const Depthwise& conv, int thread) {
    const int column_index = conv.by_word.divide(thread);
    word = thread - column_index * conv.by_word.divisor();
    const int row_index = conv.by_column.divide(column_index);
    column = column_index - row_index * conv.by_column.divisor();
    picture = conv.by_row.divide(row_index);
    row = row_index - picture * conv.by_row.divisor();
  }
};

// sum + the products of four activations and four weights, bytes of both words.
template <bool kUnsigned>
__device__ inline std::int32_t multiply_taps(std::uint32_t activations, std::uint32_t weights,
                                             std::int32_t sum) {
  std::int32_t result;
  if constexpr (kUnsigned) {
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(activations), "r"(weights), "r"(sum));
  } else {
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(activations), "r"(weights), "r"(sum));
  }
  return result;
}

// by_channel[c]: channel c of the four pixels, the first one lowest.
__device__ inline void transpose_pixels(const std::uint32_t (&pixels)[4],
                                        std::uint32_t (&by_channel)[4]) {
  const std::uint32_t low01 = __byte_perm(pixels[0], pixels[1], 0x5140);
  const std::uint32_t high01 = __byte_perm(pixels[0], pixels[1], 0x7362);
  const std::uint32_t low23 = __byte_perm(pixels[2], pixels[3], 0x5140);
  const std::uint32_t high23 = __byte_perm(pixels[2], pixels[3], 0x7362);
  by_channel[0] = __byte_perm(low01, low23, 0x5410);
  by_channel[1] = __byte_perm(low01, low23, 0x7632);
  by_channel[2] = __byte_perm(high01, high23, 0x5410);
  by_channel[3] = __byte_perm(high01, high23, 0x7632);
}

__device__ inline void load_taps(const Depthwise& conv, int row, int part, int word,
                                 std::uint32_t (&taps)[4]) {
  const uint4 four = __ldg(reinterpret_cast<const uint4*>(
      conv.weights + ((row * conv.parts + part) * conv.words + word) * 4));
  taps[0] = four.x;
  taps[1] = four.y;
  taps[2] = four.z;
  taps[3] = four.w;
}

template <FinishKind kKind>
__device__ inline std::uint32_t finish_word(const ChannelConstants<4, kKind>& constants,
                                            const std::int32_t (&sums)[4]) {
  std::int32_t values[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) values[c] = constants.value(sums[c], c);
  return pack_bytes(values);
}

// Any window: a thread has one output pixel.
template <bool kUnsigned, FinishKind kKind>
__global__ void __launch_bounds__(kDepthwiseThreads)
    depthwise_kernel(const __grid_constant__ Depthwise conv) {
  begin_kernel();
  const int thread =
      static_cast<int>(blockIdx.x) * kDepthwiseThreads + static_cast<int>(threadIdx.x);
  if (thread >= conv.threads) return;
  const DepthwisePlace place(conv, thread);
  const std::uint32_t* picture =
      conv.input + std::int64_t{place.picture} * conv.height * conv.width * conv.words + place.word;
  std::int32_t sums[4] = {};
  for (int ky = 0; ky < conv.kernel_h; ++ky) {
    const int y = place.row * conv.stride_h - conv.pad_top + ky * conv.dilation_h;
    const bool row_inside = static_cast<unsigned>(y) < static_cast<unsigned>(conv.height);
    for (int part = 0; part < conv.parts; ++part) {
      std::uint32_t pixels[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int x =
            place.column * conv.stride_w - conv.pad_left + (part * 4 + i) * conv.dilation_w;
        const bool inside =
            row_inside && static_cast<unsigned>(x) < static_cast<unsigned>(conv.width);
        pixels[i] = inside ? picture[(std::int64_t{y} * conv.width + x) * conv.words] : conv.fill;
      }
      std::uint32_t activations[4];
      std::uint32_t taps[4];
      transpose_pixels(pixels, activations);
      load_taps(conv, ky, part, place.word, taps);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        sums[c] = multiply_taps<kUnsigned>(activations[c], taps[c], sums[c]);
      }
    }
  }
  const ChannelConstants<4, kKind> constants(conv.params, place.word * 4);
  conv.output[thread] = finish_word<kKind>(constants, sums);
}

// Windows of 3x3: a thread has two columns and kRows rows of output pixels. Each row of input that
// they share is read and turned once.
template <bool kUnsigned, FinishKind kKind, int kStride, int kRows>
class Depthwise3x3 {
 public:
  __device__ Depthwise3x3(const Depthwise& conv, int thread)
      : conv_(conv), place_(conv, thread), constants_(conv.params, place_.word * 4) {
    first_x_ = place_.column * 2 * kStride - conv.pad_left;
    first_y_ = place_.row * kRows * kStride - conv.pad_top;
    picture_ = conv.input + std::int64_t{place_.picture} * conv.height * conv.width * conv.words +
               place_.word;
#pragma unroll
    for (int ky = 0; ky < 3; ++ky) load_taps(conv, ky, 0, place_.word, taps_[ky]);
  }

  __device__ void run() {
    std::int32_t sums[kRows][2][4] = {};
#pragma unroll
    for (int row = 0; row < kInputRows; ++row) {
      std::uint32_t left[4];
      std::uint32_t right[4];
      read_row(row, left, right);
#pragma unroll
      for (int out = 0; out < kRows; ++out) {
        const int ky = row - out * kStride;
        if (ky < 0 || ky > 2) continue;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          sums[out][0][c] = multiply_taps<kUnsigned>(left[c], taps_[ky][c], sums[out][0][c]);
          sums[out][1][c] = multiply_taps<kUnsigned>(
              right[c], kStride == 1 ? taps_[ky][c] << 8 : taps_[ky][c], sums[out][1][c]);
        }
        if (ky == 2) store(out, sums[out]);
      }
    }
  }

 private:
  static constexpr int kInputRows = (kRows - 1) * kStride + 3;
  static constexpr int kPixels = 3 + kStride;  // of an input row

  // The operands of the left and the right output, whose taps are bytes 0..2 of a word; of stride 1
  // the right one's are bytes 1..3 of the left one's word.
  __device__ void read_row(int row, std::uint32_t (&left)[4], std::uint32_t (&right)[4]) const {
    const int y = first_y_ + row;
    const bool row_inside = static_cast<unsigned>(y) < static_cast<unsigned>(conv_.height);
    const std::uint32_t* from = picture_ + std::int64_t{y} * conv_.width * conv_.words;
    std::uint32_t pixels[kPixels];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      const int x = first_x_ + i;
      const bool inside =
          row_inside && static_cast<unsigned>(x) < static_cast<unsigned>(conv_.width);
      pixels[i] = inside ? from[x * conv_.words] : conv_.fill;
    }
    const std::uint32_t four[4] = {pixels[0], pixels[1], pixels[2], pixels[3]};
    transpose_pixels(four, left);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      // Bytes 2 and 3, then channel c of the fifth pixel; the highest byte meets a tap of 0.
      right[c] = kStride == 1 ? left[c]
                              : __byte_perm(left[c], pixels[kPixels - 1],
                                            0x0032 + 0x100 * static_cast<unsigned>(4 + c));
    }
  }

  __device__ void store(int out, const std::int32_t (&sums)[2][4]) const {
    const int y = place_.row * kRows + out;
    if (y >= conv_.out_height) return;
    std::uint32_t* to = conv_.output +
                        ((std::int64_t{place_.picture} * conv_.out_height + y) * conv_.out_width +
                         place_.column * 2) *
                            conv_.words +
                        place_.word;
    to[0] = finish_word<kKind>(constants_, sums[0]);
    if (place_.column * 2 + 1 < conv_.out_width) {
      to[conv_.words] = finish_word<kKind>(constants_, sums[1]);
    }
  }

  const Depthwise& conv_;
  DepthwisePlace place_;
  ChannelConstants<4, kKind> constants_;
  int first_x_;
  int first_y_;
  const std::uint32_t* picture_;
  std::uint32_t taps_[3][4];
};

template <bool kUnsigned, FinishKind kKind, int kStride, int kRows>
__global__ void __launch_bounds__(kDepthwiseThreads)
    depthwise_3x3_kernel(const __grid_constant__ Depthwise conv) {
  begin_kernel();
  const int thread =
      static_cast<int>(blockIdx.x) * kDepthwiseThreads + static_cast<int>(threadIdx.x);
  if (thread < conv.threads) {
    Depthwise3x3<kUnsigned, kKind, kStride, kRows>(conv, thread).run();
  }
}

}  // namespace qsim::golden::cuda
