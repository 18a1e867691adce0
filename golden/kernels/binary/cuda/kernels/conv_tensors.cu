// Binary convolution of tensors with mma.sync on bits (compute capability 8.0 and later). A block
// of threads computes 64 output pixels by 64 channels; words and weights come from the caches,
// fragment by fragment, at the strides of their tensors.
#include <limits>

#include <cooperative_groups.h>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "golden/device/launch.cuh"
#include "golden/kernels/binary/cuda/binary_tensors.h"
#include "golden/kernels/binary/cuda/kernels/bit_product.cuh"

namespace qsim::golden {
namespace {

constexpr int kThreads = 128;
constexpr int kRows = 64;
constexpr int kColumns = 64;
constexpr int kBlocksOfMultiprocessor = 2;
constexpr int kColumnGroups = kColumns / 8;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

// The words of x from `first` on, every `step`th: neighbours have neighbouring pixels.
__device__ inline void pack_words(const float* x, const BitStrides& strides,
                                  const ImageShape& shape, const BinaryThresholds& v, int bases,
                                  bool by_sign, std::uint64_t* packed, std::int64_t first,
                                  std::int64_t step) {
  const std::int64_t words = (shape.channels + 63) / 64;
  const std::int64_t pixels = shape.batch * shape.height * shape.width;
  for (std::int64_t i = first; i < pixels * words; i += step) {
    const std::int64_t pixel = i % pixels;
    const std::int64_t word = i / pixels;
    const float* from = x + pixel % shape.width * strides[2] +
                        pixel / shape.width % shape.height * strides[1] +
                        pixel / shape.width / shape.height * strides[0] + word * 64 * strides[3];
    const auto count = static_cast<int>(min(std::int64_t{64}, shape.channels - word * 64));
    for (int base = 0; base < bases; ++base) {
      const float threshold =
          v.on_device != nullptr ? v.on_device[base * v.stride] : v.values[base];
      std::uint64_t bits = 0;
      for (int c = 0; c < count; ++c) {
        const float value = __ldg(from + c * strides[3]);
        const bool one = by_sign ? value >= 0.0F : __fadd_rn(value, threshold) > 0.5F;
        bits |= std::uint64_t{one} << c;
      }
      packed[(pixel * bases + base) * words + word] = bits;
    }
  }
}

__global__ void pack_tensor(const float* x, BitStrides strides, ImageShape shape,
                            BinaryThresholds v, int bases, bool by_sign, std::uint64_t* packed) {
  cuda::begin_kernel();
  pack_words(x, strides, shape, v, bases, by_sign, packed, cuda::grid_thread(),
             cuda::grid_threads());
}

// A place in the words of a window.
struct WordPlace {
  int ky = 0;
  int kx = 0;
  int word = 0;

  __device__ void advance(const BinaryTensorConv& conv, int words, int by) {
    word += by;
    while (word >= words) {
      word -= words;
      if (++kx < static_cast<int>(conv.window.kernel_w)) continue;
      kx = 0;
      ++ky;
    }
  }
  __device__ bool is_end(const BinaryTensorConv& conv) const {
    return ky >= static_cast<int>(conv.window.kernel_h);
  }
};

// One tile. Lane (g, q) of a warp has rows g and g + 8, and words q of each step of four.
class Tile {
 public:
  __device__ Tile(const BinaryTensorConv& conv, std::int64_t tile)
      : conv_(conv),
        words_(static_cast<int>((conv.input.channels + 63) / 64)),
        last_mask_(conv.input.channels % 64 == 0
                       ? kAll
                       : (std::uint64_t{1} << (conv.input.channels % 64)) - 1) {
    const std::int64_t column_tiles = (conv.output.channels + kColumns - 1) / kColumns;
    first_column_ = tile % column_tiles * kColumns;
    const std::int64_t row = tile / column_tiles * kRows + threadIdx.x / 32 * 16 + lane() / 4;
    for (int h = 0; h < 2; ++h) locate(h, row + 8 * h);
    start_.advance(conv, words_, lane() % 4);
  }

  __device__ void compute() {
    float y[4 * kColumnGroups];
    for_each_value([&](int at, int, std::int64_t channel) {
      y[at] = conv_.bias == nullptr || channel >= conv_.output.channels
                  ? 0.0F
                  : conv_.bias[channel * conv_.bias_stride];
    });
#pragma unroll 1
    for (int base = 0; base < conv_.bases; ++base) add_base(base, y);
    for_each_value([&](int at, int h, std::int64_t channel) {
      if (!is_row_[h] || channel >= conv_.output.channels) return;
      outputs_[h][channel] = isnan(y[at]) ? __uint_as_float(0x7FC00000U) : y[at];
    });
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x % 32); }

  // function(place among a thread's values, row h, channel)
  template <typename Function>
  __device__ void for_each_value(const Function& function) const {
#pragma unroll
    for (int t = 0; t < kColumnGroups; ++t) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        function(4 * t + k, k / 2, first_column_ + 8 * t + lane() % 4 * 2 + k % 2);
      }
    }
  }

  __device__ void locate(int h, std::int64_t row) {
    const ImageShape& out = conv_.output;
    const std::int64_t batch = row / out.width / out.height;
    is_row_[h] = batch < out.batch;
    y_[h] = row / out.width % out.height * conv_.window.stride_h - conv_.window.pad_top;
    x_[h] = row % out.width * conv_.window.stride_w - conv_.window.pad_left;
    pictures_[h] = conv_.bits + batch * conv_.bit_strides[0];
    outputs_[h] = conv_.y + row * out.channels;
  }

  // The bits of row h at a place that count: none of a pad. `at`: the offset of its words.
  __device__ std::uint64_t mask_of(int h, const WordPlace& place, std::int64_t& at) const {
    const std::int64_t y = y_[h] + place.ky * conv_.window.dilation_h;
    const std::int64_t x = x_[h] + place.kx * conv_.window.dilation_w;
    at = y * conv_.bit_strides[1] + x * conv_.bit_strides[2] + place.word * conv_.bit_strides[4];
    const bool inside = is_row_[h] && !place.is_end(conv_) && y >= 0 && y < conv_.input.height &&
                        x >= 0 && x < conv_.input.width;
    if (!inside) return 0;
    return place.word + 1 == words_ ? last_mask_ : kAll;
  }

  // counts += popcount(a & b) with a of rows and b of columns; ones += popcount(a). input_base -1:
  // a is 1 where a bit counts.
  __device__ void multiply(int base, int input_base, std::int32_t (&counts)[4 * kColumnGroups],
                           std::int32_t (&ones)[2]) const {
#pragma unroll
    for (std::int32_t& count : counts) count = 0;
    ones[0] = ones[1] = 0;
    const std::int64_t first =
        (first_column_ + lane() / 4) * conv_.word_strides[0] + base * conv_.word_strides[1];
    WordPlace place = start_;
    const std::int64_t steps = (conv_.window.kernel_h * conv_.window.kernel_w * words_ + 3) / 4;
#pragma unroll 1
    for (std::int64_t step = 0; step < steps; ++step, place.advance(conv_, words_, 4)) {
      std::uint32_t a[4];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        std::int64_t at = 0;
        std::uint64_t word = mask_of(h, place, at);
        if (word != 0 && input_base >= 0) {
          word &= pictures_[h][at + input_base * conv_.bit_strides[3]];
        }
        a[h] = static_cast<std::uint32_t>(word);
        a[2 + h] = static_cast<std::uint32_t>(word >> 32);
        ones[h] += __popcll(word);
      }
      const std::uint64_t* tap = conv_.words + first + place.ky * conv_.word_strides[2] +
                                 place.kx * conv_.word_strides[3] +
                                 place.word * conv_.word_strides[4];
#pragma unroll
      for (int t = 0; t < kColumnGroups; ++t) {
        std::uint64_t b = 0;
        if (!place.is_end(conv_) && first_column_ + 8 * t + lane() / 4 < conv_.output.channels) {
          b = __ldg(
              reinterpret_cast<const unsigned long long*>(tap + 8 * t * conv_.word_strides[0]));
        }
        cuda::mma_bits(counts + 4 * t, a,
                       {static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32)});
      }
    }
    cuda::sum_lanes(ones);
  }

  // y = fma(alpha, s, y) with s = the fma of all beta_j * dot_j: BinaryConv's order.
  __device__ void add_base(int base, float (&y)[4 * kColumnGroups]) const {
    std::int32_t counts[4 * kColumnGroups];
    std::int32_t ones[2];
    std::int32_t inside[4 * kColumnGroups];  // the sum of B over what counts
    multiply(base, -1, counts, ones);
#pragma unroll
    for (int i = 0; i < 4 * kColumnGroups; ++i) inside[i] = 2 * counts[i] - ones[i % 4 / 2];
    float s[4 * kColumnGroups] = {};
#pragma unroll 1
    for (int j = 0; j < conv_.input_bases; ++j) {
      multiply(base, j, counts, ones);
      const float beta = conv_.beta[j * conv_.beta_stride];
#pragma unroll
      for (int i = 0; i < 4 * kColumnGroups; ++i) {
        const std::int32_t dot = 4 * counts[i] - 2 * ones[i % 4 / 2] - inside[i];
        s[i] = __fmaf_rn(beta, __int2float_rn(dot), s[i]);
      }
    }
    for_each_value([&](int at, int, std::int64_t channel) {
      if (channel >= conv_.output.channels) return;
      y[at] = __fmaf_rn(conv_.alpha[base * conv_.alpha_base_stride + channel * conv_.alpha_stride],
                        s[at], y[at]);
    });
  }

  const BinaryTensorConv& conv_;
  int words_;
  std::uint64_t last_mask_;
  std::int64_t first_column_ = 0;
  WordPlace start_;
  bool is_row_[2];
  std::int64_t y_[2];
  std::int64_t x_[2];
  const std::uint64_t* pictures_[2];
  float* outputs_[2];
};

__device__ inline void compute_tiles(const BinaryTensorConv& conv, std::int64_t tiles) {
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) Tile(conv, tile).compute();
}

__global__ void __launch_bounds__(kThreads, kBlocksOfMultiprocessor)
    conv_bits(const __grid_constant__ BinaryTensorConv conv, std::int64_t tiles) {
  cuda::begin_kernel();
  compute_tiles(conv, tiles);
}

// All blocks run at once: when every one has packed its part of x, they convolve.
__global__ void __launch_bounds__(kThreads, kBlocksOfMultiprocessor)
    pack_and_conv(const __grid_constant__ BinaryTensorConv conv, std::int64_t tiles) {
  pack_words(conv.x, conv.x_strides, conv.input, conv.v, conv.input_bases, false, conv.packed,
             cuda::grid_thread(), cuda::grid_threads());
  cooperative_groups::this_grid().sync();
  compute_tiles(conv, tiles);
}

int multiprocessors() {
  int device = 0;
  int count = 0;
  cuda::check(cudaGetDevice(&device), "asking for the device");
  cuda::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
              "asking for the multiprocessors");
  return count;
}

void launch_together(const BinaryTensorConv& conv, std::int64_t tiles, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(multiprocessors() * kBlocksOfMultiprocessor));
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  config.attrs = &together;
  config.numAttrs = 1;
  cuda::check(cudaLaunchKernelEx(&config, pack_and_conv, conv, tiles), "launching abc_conv2d");
}

}  // namespace

void enqueue_binary_tensors(const BinaryTensorConv& given, void* stream) {
  BinaryTensorConv conv = given;
  const std::int64_t pixels = conv.output.batch * conv.output.height * conv.output.width;
  const std::int64_t words = bit_words(conv.input.channels);
  const std::int64_t depth =
      checked_mul(checked_mul(conv.window.kernel_h, conv.window.kernel_w), words);
  const std::int64_t tiles =
      checked_mul(ceil_div(pixels, kRows), ceil_div(conv.output.channels, kColumns));
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 4;
  if (pixels > kMost || conv.output.channels > kMost || depth > kMost) {
    throw_bad_input("binary convolution on a GPU: the output has " + std::to_string(pixels) +
                    " pixels of " + std::to_string(conv.output.channels) +
                    " channels, and a window " + std::to_string(depth) + " words; at most " +
                    std::to_string(kMost) + " of each");
  }
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (conv.bits != nullptr) {
    const std::int64_t most = std::int64_t{multiprocessors()} * 64;
    return cuda::launch_kernel("launching binary_conv2d", conv_bits, std::min(tiles, most),
                               kThreads, 0, cuda_stream, conv, tiles);
  }
  conv.bits = conv.packed;
  conv.bit_strides = {{conv.input.height * conv.input.width * conv.input_bases * words,
                       conv.input.width * conv.input_bases * words, conv.input_bases * words, words,
                       1}};
  launch_together(conv, tiles, cuda_stream);
}

void enqueue_binary_pack_tensor(const float* x, const BitStrides& x_strides,
                                const ImageShape& shape, const BinaryThresholds& v, int bases,
                                bool by_sign, std::uint64_t* packed, void* stream) {
  constexpr int kPackThreads = 256;
  const std::int64_t items = shape.batch * shape.height * shape.width * bit_words(shape.channels);
  cuda::launch_kernel("launching pack_activations", pack_tensor,
                      cuda::grid_stride_blocks(items, kPackThreads), kPackThreads, 0,
                      static_cast<cudaStream_t>(stream), x, x_strides, shape, v, bases, by_sign,
                      packed);
}

}  // namespace qsim::golden
