// Two kernels: an implicit GEMM on mma.sync for groups of enough channels, and plain loops for the
// others. Both read the tensors where they are.
#include <limits>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "golden/graph/cuda/kernels/conv_mma_kernel.cuh"
#include "golden/graph/cuda/tensors/conv_tensors.h"

namespace qsim::golden::cuda {
namespace {

using Tile = MmaTile64x64;
constexpr int kDirectThreads = 256;
constexpr int kLoads = Tile::kM * kMmaChunks / kMmaThreads;  // chunks of a thread, of each operand
constexpr int kRowStep = kMmaThreads / kMmaChunks;
constexpr std::int64_t kNowhere = -(std::int64_t{1} << 62);  // a row above every picture

// The output value of a wrapped psum.
__device__ inline std::int32_t finish_tensor(const TensorConv& conv, std::int32_t psum,
                                             std::int64_t channel) {
  const std::int32_t bias = conv.bias == nullptr ? 0 : conv.bias[channel * conv.bias_stride];
  constexpr float kLeast = 0x1p-40F;  // requantizer_of()'s range
  constexpr float kMost = 16777215.0F;
  const float scale = fminf(fmaxf(conv.scales[channel * conv.scale_stride], kLeast), kMost);
  const std::int64_t t = std::int64_t{psum} + bias;
  const auto narrow = static_cast<std::int32_t>(t);
  if (conv.rounding == RequantizerRounding::kFloat32 && narrow == t) {
    const float product = __fmul_rn(__int2float_rn(narrow), scale);
    const auto least = static_cast<float>(conv.lo - conv.y_zero_point);
    const auto most = static_cast<float>(conv.hi - conv.y_zero_point);
    return nearest_int(fminf(fmaxf(product, least), most)) + conv.y_zero_point;
  }
  const Requantizer requantizer = requantizer_of_real(scale, conv.rounding);
  return clamp_to(rounded_product(t, requantizer) + conv.y_zero_point, conv.lo, conv.hi);
}

// A place in gemm_k: a position of the window, and a channel of the group.
struct DepthPlace {
  int ky = 0;
  int kx = 0;
  int channel = 0;

  __device__ void advance(const TensorConv& conv, int channels, int by) {
    channel += by;
    while (channel >= channels) {
      channel -= channels;
      if (++kx < static_cast<int>(conv.window.kernel_w)) continue;
      kx = 0;
      ++ky;
    }
  }
  __device__ bool is_end(const TensorConv& conv) const {
    return ky >= static_cast<int>(conv.window.kernel_h);
  }
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

// Brings a stage of both operands, chunk by chunk, by way of registers: a pad is the zero point,
// which no copy of 16 bytes fills in. kWhole: 16 channels of a place follow each other, aligned.
template <bool kWhole>
class StageLoader {
 public:
  __device__ StageLoader(const TensorConv& conv, std::int64_t first_pixel, int group,
                         int first_column)
      : conv_(conv),
        channels_(static_cast<int>(conv.x_shape.channels / conv.groups)),
        columns_(static_cast<int>(conv.y_shape.channels / conv.groups)),
        pad_((static_cast<std::uint32_t>(conv.x_zero_point) & 0xFF) * 0x01010101U) {
    const int row = threadIdx.x / kMmaChunks;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      locate(i, first_pixel + row + i * kRowStep, group);
      const int column = first_column + row + i * kRowStep;
      weights_[i] = column < columns_ ? conv.weights + (std::int64_t{group} * columns_ + column) *
                                                           conv.weight_strides.batch
                                      : nullptr;
    }
    place_.advance(conv, channels_, static_cast<int>(threadIdx.x % kMmaChunks) * kMmaChunk);
  }

  // The thread's chunks of the next stage to registers.
  __device__ void fetch() {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      inputs_[i] = input_chunk(i);
      columns_read_[i] = weight_chunk(i);
      weight_sums_[i] += sum_bytes(columns_read_[i]);
    }
    place_.advance(conv_, channels_, kMmaDepth);
  }

  // What was fetched to a stage of shared memory.
  __device__ void store(std::uint8_t* stage) const {
    const int row = threadIdx.x / kMmaChunks;
    const int chunk = threadIdx.x % kMmaChunks;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = mma_chunk_offset(row + i * kRowStep, chunk);
      *reinterpret_cast<uint4*>(stage + at) = inputs_[i];
      *reinterpret_cast<uint4*>(stage + Tile::kM * kMmaDepth + at) = columns_read_[i];
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
  __device__ void locate(int i, std::int64_t pixel, int group) {
    const ImageShape& y = conv_.y_shape;
    const std::int64_t ox = pixel % y.width;
    const std::int64_t oy = pixel / y.width % y.height;
    const std::int64_t batch = pixel / y.width / y.height;
    y_[i] = batch < y.batch ? oy * conv_.window.stride_h - conv_.window.pad_top : kNowhere;
    x_[i] = ox * conv_.window.stride_w - conv_.window.pad_left;
    pictures_[i] = conv_.x + batch * conv_.x_strides.batch +
                   std::int64_t{group} * channels_ * conv_.x_strides.channels;
  }

  // The first byte of a place for row i; null: a pad.
  __device__ const std::uint8_t* input_at(int i, const DepthPlace& place) const {
    const std::int64_t y = y_[i] + place.ky * conv_.window.dilation_h;
    const std::int64_t x = x_[i] + place.kx * conv_.window.dilation_w;
    if (y < 0 || y >= conv_.x_shape.height || x < 0 || x >= conv_.x_shape.width) return nullptr;
    return pictures_[i] + y * conv_.x_strides.height + x * conv_.x_strides.width +
           place.channel * conv_.x_strides.channels;
  }
  __device__ const std::int8_t* weight_at(int i, const DepthPlace& place) const {
    if (weights_[i] == nullptr || place.is_end(conv_)) return nullptr;
    return weights_[i] + place.ky * conv_.weight_strides.height +
           place.kx * conv_.weight_strides.width + place.channel * conv_.weight_strides.channels;
  }

  __device__ uint4 input_chunk(int i) const {
    if constexpr (kWhole) {
      const std::uint8_t* from = place_.is_end(conv_) ? nullptr : input_at(i, place_);
      return from == nullptr ? make_uint4(pad_, pad_, pad_, pad_)
                             : __ldg(reinterpret_cast<const uint4*>(from));
    } else {
      DepthPlace place = place_;
      return gather([&](int) {
        const std::uint8_t* from = place.is_end(conv_) ? nullptr : input_at(i, place);
        place.advance(conv_, channels_, 1);
        return from == nullptr ? static_cast<std::uint8_t>(pad_) : __ldg(from);
      });
    }
  }
  __device__ uint4 weight_chunk(int i) const {
    if constexpr (kWhole) {
      const std::int8_t* from = weight_at(i, place_);
      return from == nullptr ? make_uint4(0, 0, 0, 0) : __ldg(reinterpret_cast<const uint4*>(from));
    } else {
      DepthPlace place = place_;
      return gather([&](int) {
        const std::int8_t* from = weight_at(i, place);
        place.advance(conv_, channels_, 1);
        return from == nullptr ? std::uint8_t{0} : static_cast<std::uint8_t>(__ldg(from));
      });
    }
  }

  const TensorConv& conv_;
  int channels_;
  int columns_;
  std::uint32_t pad_;
  DepthPlace place_;
  std::int64_t y_[kLoads];
  std::int64_t x_[kLoads];
  const std::uint8_t* pictures_[kLoads];
  const std::int8_t* weights_[kLoads];
  uint4 inputs_[kLoads];
  uint4 columns_read_[kLoads];
  int weight_sums_[kLoads] = {};
};

// Writes the tile, one byte a thread and channel, neighbours to neighbours.
__device__ inline void store_tile(const TensorConv& conv, const std::uint8_t* values,
                                  std::int64_t first_pixel, int group, int first_column) {
  const int columns = static_cast<int>(conv.y_shape.channels / conv.groups);
  const std::int64_t pixels = conv.y_shape.batch * conv.y_shape.height * conv.y_shape.width;
  for (int i = threadIdx.x; i < Tile::kM * Tile::kN; i += kMmaThreads) {
    const std::int64_t pixel = first_pixel + i / Tile::kN;
    const int column = first_column + i % Tile::kN;
    if (pixel >= pixels || column >= columns) continue;
    conv.y[pixel * conv.y_shape.channels + std::int64_t{group} * columns + column] = values[i];
  }
}

template <bool kUnsigned, bool kWhole>
__global__ void __launch_bounds__(kMmaThreads)
    conv_tensors_mma(const __grid_constant__ TensorConv conv, int column_tiles, int depth_steps) {
  begin_kernel();
  constexpr int kStageBytes = (Tile::kM + Tile::kN) * kMmaDepth;
  __shared__ __align__(16) std::uint8_t memory[2 * kStageBytes];
  __shared__ std::int32_t weight_sums[Tile::kN];
  const int column_tile = static_cast<int>(blockIdx.x) % column_tiles;
  const int tile = static_cast<int>(blockIdx.x) / column_tiles;
  const int group = tile % static_cast<int>(conv.groups);
  const std::int64_t first_pixel = std::int64_t{tile / static_cast<int>(conv.groups)} * Tile::kM;
  const int first_column = column_tile * Tile::kN;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp / 2 * Tile::kRows;
  const int warp_column = warp % 2 * Tile::kColumns;

  StageLoader<kWhole> loader(conv, first_pixel, group, first_column);
  std::int32_t sums[Tile::kRows / 16][Tile::kColumns / 8][4] = {};
  loader.fetch();
  loader.store(memory);
  __syncthreads();
  for (int step = 0; step < depth_steps; ++step) {
    if (step + 1 < depth_steps) loader.fetch();
    multiply_stage<Tile, kUnsigned>(sums, to_shared(memory + step % 2 * kStageBytes), warp_row,
                                    warp_column);
    if (step + 1 < depth_steps) loader.store(memory + (step + 1) % 2 * kStageBytes);
    __syncthreads();
  }
  loader.store_weight_sums(weight_sums);
  __syncthreads();

  const int lane = threadIdx.x % 32;
  const int columns = static_cast<int>(conv.y_shape.channels / conv.groups);
#pragma unroll
  for (int m = 0; m < Tile::kRows / 16; ++m) {
#pragma unroll
    for (int n = 0; n < Tile::kColumns / 8; ++n) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int row = warp_row + m * 16 + lane / 4 + k / 2 * 8;
        const int column = warp_column + n * 8 + lane % 4 * 2 + k % 2;
        if (first_column + column >= columns) continue;
        const std::uint32_t fold = static_cast<std::uint32_t>(conv.x_zero_point) *
                                   static_cast<std::uint32_t>(weight_sums[column]);
        const auto psum =
            static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[m][n][k]) - fold);
        memory[row * Tile::kN + column] = static_cast<std::uint8_t>(
            finish_tensor(conv, psum, std::int64_t{group} * columns + first_column + column));
      }
    }
  }
  __syncthreads();
  store_tile(conv, memory, first_pixel, group, first_column);
}

// One output byte a thread.
__global__ void __launch_bounds__(kDirectThreads)
    conv_tensors_direct(const __grid_constant__ TensorConv conv) {
  begin_kernel();
  const ImageShape& shape = conv.y_shape;
  const Window& w = conv.window;
  const std::int64_t channels = conv.x_shape.channels / conv.groups;
  const std::int64_t columns = shape.channels / conv.groups;
  const std::int64_t count = shape.batch * shape.height * shape.width * shape.channels;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t channel = i % shape.channels;
    const std::int64_t pixel = i / shape.channels;
    const std::int64_t ox = pixel % shape.width;
    const std::int64_t oy = pixel / shape.width % shape.height;
    const std::uint8_t* picture = conv.x +
                                  pixel / shape.width / shape.height * conv.x_strides.batch +
                                  channel / columns * channels * conv.x_strides.channels;
    const std::int8_t* weights = conv.weights + channel * conv.weight_strides.batch;
    std::uint32_t psum = 0;
    for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
      const std::int64_t y = oy * w.stride_h + ky * w.dilation_h - w.pad_top;
      if (y < 0 || y >= conv.x_shape.height) continue;
      for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
        const std::int64_t x = ox * w.stride_w + kx * w.dilation_w - w.pad_left;
        if (x < 0 || x >= conv.x_shape.width) continue;
        const std::uint8_t* values = picture + y * conv.x_strides.height + x * conv.x_strides.width;
        const std::int8_t* tap =
            weights + ky * conv.weight_strides.height + kx * conv.weight_strides.width;
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int32_t value =
              activation(__ldg(values + c * conv.x_strides.channels), conv.x_is_unsigned) -
              conv.x_zero_point;
          psum += static_cast<std::uint32_t>(value * __ldg(tap + c * conv.weight_strides.channels));
        }
      }
    }
    conv.y[i] =
        static_cast<std::uint8_t>(finish_tensor(conv, static_cast<std::int32_t>(psum), channel));
  }
}

bool is_whole(const TensorConv& conv) {
  const auto whole = [](const void* data, const Strides4& strides) {
    return reinterpret_cast<std::uintptr_t>(data) % kMmaChunk == 0 && strides.channels == 1 &&
           strides.batch % kMmaChunk == 0 && strides.height % kMmaChunk == 0 &&
           strides.width % kMmaChunk == 0;
  };
  return conv.x_shape.channels / conv.groups % kMmaChunk == 0 && whole(conv.x, conv.x_strides) &&
         whole(conv.weights, conv.weight_strides);
}

template <bool kUnsigned>
void launch_mma(const TensorConv& conv, std::int64_t pixels, std::int64_t depth,
                cudaStream_t stream) {
  const auto column_tiles =
      static_cast<int>(ceil_div(conv.y_shape.channels / conv.groups, Tile::kN));
  const auto depth_steps = static_cast<int>(ceil_div(depth, kMmaDepth));
  const std::int64_t blocks = ceil_div(pixels, Tile::kM) * conv.groups * column_tiles;
  const auto kernel =
      is_whole(conv) ? conv_tensors_mma<kUnsigned, true> : conv_tensors_mma<kUnsigned, false>;
  launch_kernel("launching conv2d_int8", kernel, blocks, kMmaThreads, 0, stream, conv, column_tiles,
                depth_steps);
}

}  // namespace

void enqueue_conv(const TensorConv& conv, void* stream) {
  const ImageShape& y = conv.y_shape;
  const std::int64_t pixels = y.batch * y.height * y.width;
  const std::int64_t channels = conv.x_shape.channels / conv.groups;
  const std::int64_t depth =
      checked_mul(checked_mul(conv.window.kernel_h, conv.window.kernel_w), channels);
  const std::int64_t columns = y.channels / conv.groups;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t blocks = checked_mul(checked_mul(ceil_div(pixels, Tile::kM), conv.groups),
                                          ceil_div(columns, Tile::kN));
  if (y.channels > kMost - Tile::kN || depth > kMost - kMmaDepth || blocks > kMost) {
    throw_bad_input("conv2d_int8 on a GPU: " + std::to_string(pixels) + " output pixels of " +
                    std::to_string(y.channels) + " channels, each a sum of " +
                    std::to_string(depth) + " products, are too many for one launch");
  }
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  // A tile of few columns is mostly empty, and a sum of few products ends before a stage is full.
  if (columns < 8 || depth < 16) {
    return launch_kernel("launching conv2d_int8", conv_tensors_direct,
                         grid_stride_blocks(pixels * y.channels, kDirectThreads), kDirectThreads, 0,
                         cuda_stream, conv);
  }
  if (conv.x_is_unsigned) {
    launch_mma<true>(conv, pixels, depth, cuda_stream);
  } else {
    launch_mma<false>(conv, pixels, depth, cuda_stream);
  }
}

}  // namespace qsim::golden::cuda
