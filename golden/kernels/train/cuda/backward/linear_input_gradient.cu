// A block has up to 64 pixels and 64 channels of x; its depths are channels of g, or a part of
// them. A thread turns the weights that it has copied to bfloat16, while those of later steps are
// on their way.
#include "golden/device/launch.cuh"
#include "golden/device/shared_memory.cuh"
#include "golden/kernels/train/cuda/backward/bfloat16_tiles.cuh"
#include "golden/kernels/train/cuda/backward/conv_geometry.h"
#include "golden/kernels/train/cuda/backward/linear_input_gradient.h"
#include "golden/kernels/train/cuda/backward/real_values.cuh"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kColumns = 64;  // channels of x of a block
constexpr int kDepth = 64;    // channels of g of a step
constexpr int kStages = 6;
constexpr int kLevelBytes = kDepth * kColumns;
constexpr int kTurnedBytes = 2 * kLevelBytes;
constexpr int kMostPixels = 64;

struct LinearArgs {
  const std::uint16_t* g;
  const std::int8_t* w;  // [out][in]
  const float* scales;
  const std::uint8_t* passes;
  float* sums;  // [parts][pixels][in], or null
  RealView dx;
  int pixels, in, out, height, width;
  int column_tiles, part_steps;
};

__device__ inline void store_dx(const LinearArgs& args, int pixel, int channel, float value) {
  const int row = pixel / args.width;
  const int b = row / args.height;
  if (!passes_at(args.passes, std::int64_t{pixel} * args.in + channel)) value = 0;
  store_real(args.dx.data, args.dx.type,
             b * args.dx.stride_b + (row - b * args.height) * args.dx.stride_h +
                 (pixel - row * args.width) * args.dx.stride_w + channel * args.dx.stride_c,
             value);
}

// kTiles: of 32 pixels.
template <int kTiles>
class LinearBlock {
 public:
  static constexpr int kGBytes = kTiles * 32 * 128;
  static constexpr int kStageBytes = kLevelBytes + kGBytes;
  static constexpr int kSharedBytes = kStages * kStageBytes + 2 * kTurnedBytes + 128;

  __device__ LinearBlock(const LinearArgs& args, std::uint32_t shared)
      : args_(args), turned_(shared), stages_(shared + 2 * kTurnedBytes) {
    const int block = static_cast<int>(blockIdx.x);
    first_column_ = block % args.column_tiles * kColumns;
    part_ = block / args.column_tiles;
    first_ = part_ * args.part_steps * kDepth;
    steps_ = min(args.part_steps, (args.out - first_ + kDepth - 1) / kDepth);
  }

  __device__ void run() {
    for (int step = 0; step < kStages - 1; ++step) copy(step);
    golden::cuda::wait_copies<kStages - 2>();
    turn(0);
    for (int step = 0; step < steps_; ++step) {
      golden::cuda::wait_copies<kStages - 3>();
      __syncthreads();
      copy(step + kStages - 1);
      if (step + 1 < steps_) turn(step + 1);
      multiply(step);
    }
    store();
  }

 private:
  __device__ std::uint32_t stage(int step) const {
    return stages_ + static_cast<std::uint32_t>(step % kStages * kStageBytes);
  }

  __device__ void copy(int step) const {
    const int thread = static_cast<int>(threadIdx.x);
    if (step < steps_) {
      const int column = first_column_ + thread % 4 * 16;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int in_step = thread / 4 + 32 * i;
        const int out = first_ + step * kDepth + in_step;
        const bool inside = out < args_.out && column < args_.in;
        copy_16(stage(step) + static_cast<std::uint32_t>(in_step * kColumns + thread % 4 * 16),
                args_.w + (inside ? std::int64_t{out} * args_.in + column : 0), inside);
      }
      const int out = first_ + step * kDepth + thread % 8 * 8;
#pragma unroll
      for (int i = 0; i < 2 * kTiles; ++i) {
        const int pixel = thread / 8 + 16 * i;
        const bool inside = out < args_.out && pixel < args_.pixels;
        copy_16(stage(step) + kLevelBytes + in_rows_of_128(pixel, thread % 8),
                args_.g + (inside ? std::int64_t{pixel} * args_.out + out : 0), inside);
      }
    }
    golden::cuda::commit_copies();
  }

  // The levels that this thread has copied, as bfloat16(level * scale).
  __device__ void turn(int step) const {
    const int thread = static_cast<int>(threadIdx.x);
    const std::uint32_t to = turned_ + static_cast<std::uint32_t>(step % 2 * kTurnedBytes);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int in_step = thread / 4 + 32 * i;
      const int out = min(first_ + step * kDepth + in_step, args_.out - 1);
      const float scale = args_.scales[out];
      uint4 levels;
      asm volatile(
          "ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
          : "=r"(levels.x), "=r"(levels.y), "=r"(levels.z), "=r"(levels.w)
          : "r"(stage(step) + static_cast<std::uint32_t>(in_step * kColumns + thread % 4 * 16))
          : "memory");
      store_16(to + in_rows_of_128(in_step, thread % 4 * 2),
               {two(levels.x, 0, scale), two(levels.x, 2, scale), two(levels.y, 0, scale),
                two(levels.y, 2, scale)});
      store_16(to + in_rows_of_128(in_step, thread % 4 * 2 + 1),
               {two(levels.z, 0, scale), two(levels.z, 2, scale), two(levels.w, 0, scale),
                two(levels.w, 2, scale)});
    }
  }

  __device__ static std::uint32_t two(std::uint32_t levels, std::uint32_t first, float scale) {
    const float shift = level_shift(0);
    const std::uint32_t word = levels ^ 0x80808080u;
    const std::uint32_t low = __byte_perm(word, 0x4B000000u, 0x7440u | first);
    const std::uint32_t high = __byte_perm(word, 0x4B000000u, 0x7440u | (first + 1));
    return bfloat16_pair((__uint_as_float(low) - shift) * scale,
                         (__uint_as_float(high) - shift) * scale);
  }

  __device__ void multiply(int step) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const std::uint32_t g = stage(step) + kLevelBytes;
    const std::uint32_t w = turned_ + static_cast<std::uint32_t>(step % 2 * kTurnedBytes);
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      std::uint32_t columns[4];
      load_turned(columns, w + in_rows_of_128(16 * k + lane % 16, 2 * warp + lane / 16));
#pragma unroll
      for (int i = 0; i < 2 * kTiles; ++i) {
        std::uint32_t rows[4];
        golden::cuda::load_matrices(rows,
                                    g + in_rows_of_128(16 * i + lane % 16, 2 * k + lane / 16));
        multiply_bfloat16(sums_[i][0], rows, columns[0], columns[1]);
        multiply_bfloat16(sums_[i][1], rows, columns[2], columns[3]);
      }
    }
  }

  __device__ void store() const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int i = 0; i < 2 * kTiles; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int pixel = 16 * i + lane / 4 + j / 2 % 2 * 8;
        const int channel = first_column_ + 16 * warp + j / 4 * 8 + lane % 4 * 2 + j % 2;
        if (pixel >= args_.pixels || channel >= args_.in) continue;
        const float sum = sums_[i][j / 4][j % 4];
        if (args_.sums == nullptr) {
          store_dx(args_, pixel, channel, sum);
        } else {
          args_.sums[(std::int64_t{part_} * args_.pixels + pixel) * args_.in + channel] = sum;
        }
      }
    }
  }

  const LinearArgs& args_;
  std::uint32_t turned_, stages_;
  int first_column_, part_, first_, steps_;
  float sums_[2 * kTiles][2][4] = {};
};

template <int kTiles>
__global__ void __launch_bounds__(kThreads)
    linear_input_gradient(const __grid_constant__ LinearArgs args) {
  golden::cuda::begin_kernel();
  const std::uint32_t shared = golden::cuda::to_shared(golden::cuda::dynamic_shared());
  LinearBlock<kTiles>(args, (shared + 127) / 128 * 128).run();
}

__global__ void __launch_bounds__(kThreads)
    linear_input_sums(const __grid_constant__ LinearArgs args, int parts) {
  golden::cuda::begin_kernel();
  const std::int64_t elems = std::int64_t{args.pixels} * args.in;
  const std::int64_t elem = golden::cuda::grid_thread();
  if (elem >= elems) return;
  float sum = 0;
#pragma unroll 8
  for (int part = 0; part < parts; ++part) sum += args.sums[part * elems + elem];
  const int pixel = static_cast<int>(elem / args.in);
  store_dx(args, pixel, static_cast<int>(elem - std::int64_t{pixel} * args.in), sum);
}

struct LinearPlan {
  int column_tiles, parts, part_steps;
};

// The plan depends on the shapes only: about three blocks for each of 132 multiprocessors.
LinearPlan plan_of(const LevelConv& conv) {
  constexpr int kBlocks = 396;
  constexpr int kFewestSteps = 8;
  LinearPlan plan{};
  plan.column_tiles = count31((conv.x_shape.channels + kColumns - 1) / kColumns);
  const int steps = count31((conv.y_shape.channels + kDepth - 1) / kDepth);
  const int parts = std::max(std::min(kBlocks / plan.column_tiles, steps / kFewestSteps), 1);
  plan.part_steps = (steps + parts - 1) / parts;
  plan.parts = (steps + plan.part_steps - 1) / plan.part_steps;
  return plan;
}

}  // namespace

bool has_linear_input_gradient(const ConvInputGradient& call) {
  const LevelConv& conv = call.conv;
  const ImageShape& x = conv.x_shape;
  const ImageShape& y = conv.y_shape;
  return conv.window == Window{} && conv.groups == 1 && x.height == y.height &&
         x.width == y.width && conv.pixels() > 0 && conv.pixels() <= kMostPixels &&
         x.channels % 16 == 0 && y.channels > 0 && y.channels % 8 == 0 && is_aligned_16(call.g) &&
         is_aligned_16(conv.w);
}

std::size_t linear_input_workspace_bytes(const ConvInputGradient& call) {
  const LinearPlan plan = plan_of(call.conv);
  return plan.parts == 1 ? 0
                         : static_cast<std::size_t>(plan.parts * call.dx.elems()) * sizeof(float);
}

void enqueue_linear_input_gradient(const ConvInputGradient& call, void* workspace,
                                   cudaStream_t stream) {
  const LinearPlan plan = plan_of(call.conv);
  LinearArgs args{};
  args.g = call.g;
  args.w = call.conv.w;
  args.scales = call.w_scales;
  args.passes = call.passes;
  args.sums = plan.parts > 1 ? static_cast<float*>(workspace) : nullptr;
  args.dx = view_of(call.dx);
  args.pixels = count31(call.conv.pixels());
  args.in = count31(call.conv.x_shape.channels);
  args.out = count31(call.conv.y_shape.channels);
  args.height = count31(call.conv.x_shape.height);
  args.width = count31(call.conv.x_shape.width);
  args.column_tiles = plan.column_tiles;
  args.part_steps = plan.part_steps;
  const auto kernel = args.pixels > 32 ? linear_input_gradient<2> : linear_input_gradient<1>;
  const int shared = args.pixels > 32 ? LinearBlock<2>::kSharedBytes : LinearBlock<1>::kSharedBytes;
  golden::cuda::allow_all_shared_memory(kernel);
  golden::cuda::launch_kernel("launching linear_input_gradient", kernel,
                              std::int64_t{plan.column_tiles} * plan.parts, kThreads,
                              static_cast<std::size_t>(shared), stream, args);
  if (plan.parts == 1) return;
  golden::cuda::launch_kernel("launching linear_input_sums", linear_input_sums,
                              (call.dx.elems() + kThreads - 1) / kThreads, kThreads, 0, stream,
                              args, plan.parts);
}

}  // namespace qsim::golden::train::cuda
