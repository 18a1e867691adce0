// The gradient of a convolution's input with mma.sync: any stride, dilation, groups and strides of
// dx. First the weights are packed to bfloat16, then blocks gather g by tap.
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/direct_input_gradient.h"
#include "golden/kernels/train/cuda/backward/input_gradient.cuh"
#include "golden/kernels/train/cuda/backward/input_gradient_wgmma.h"
#include "golden/kernels/train/cuda/backward/linear_input_gradient.h"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

struct PackArgs {
  const std::int8_t* w;  // [out_channels][taps][group_in]
  const float* scales;
  std::uint16_t* packed;  // [out_channels / group_out][group_in][depth]
  int groups, group_in, group_out, taps;
  int depth, tap_depth;  // of a tap
};

constexpr int kPackThreads = 256;
constexpr int kPackTile = 32;

// Turns 32 channels of g and 32 of x of one tap.
__global__ void __launch_bounds__(kPackThreads)
    pack_weights(const __grid_constant__ PackArgs args, int out_tiles, int in_tiles) {
  golden::cuda::begin_kernel();
  __shared__ float tile[kPackTile][kPackTile + 1];
  int left = static_cast<int>(blockIdx.x);
  const int first_in = left % in_tiles * kPackTile;
  left /= in_tiles;
  const int first_out = left % out_tiles * kPackTile;
  left /= out_tiles;
  const int tap = left % args.taps;
  const int group = left / args.taps;
  const int lane = static_cast<int>(threadIdx.x) % kPackTile;
  for (int i = static_cast<int>(threadIdx.x) / kPackTile; i < kPackTile;
       i += kPackThreads / kPackTile) {
    const int in_group = first_out + i;
    const int in = first_in + lane;
    if (in_group >= args.group_out || in >= args.group_in) continue;
    const std::int64_t out = std::int64_t{group} * args.group_out + in_group;
    tile[i][lane] =
        static_cast<float>(args.w[(out * args.taps + tap) * args.group_in + in]) * args.scales[out];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x) / kPackTile; i < kPackTile;
       i += kPackThreads / kPackTile) {
    const int in = first_in + i;
    const int out = first_out + lane;
    if (in >= args.group_in || out >= args.tap_depth) continue;
    std::uint16_t* to = args.packed + (std::int64_t{group} * args.group_in + in) * args.depth;
    const float value = out < args.group_out ? tile[lane][i] : 0.0F;
    store_real(to, RealType::kBfloat16, tap * args.tap_depth + out, value);
    // What is left of the last step.
    if (tap + 1 == args.taps && out + 1 == args.tap_depth) {
      for (int k = args.taps * args.tap_depth; k < args.depth; ++k) to[k] = 0;
    }
  }
}

// Copies of a thread: two rows of g, one of the weights, 16 bytes of each.
template <bool kVectors>
class InputCopies {
 public:
  __device__ InputCopies(const InputGradientArgs& args, const InputBlock& block)
      : args_(args), block_(block) {
    const int thread = static_cast<int>(threadIdx.x);
    const ConvGeometry& c = args.conv;
    chunk_ = thread % 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      pixels_[i] = block.pixel(c, thread / 4 + 64 * i);
      rows_[i] = args.g +
                 (pixels_[i].inside ? std::int64_t{pixels_[i].b} * c.out_height * c.out_width : 0) *
                     c.out_channels +
                 block.group * c.group_out;
    }
    const int column = block.first_column + thread / 4;
    has_column_ = column < c.group_in;
    weights_ = args.weights +
               (std::int64_t{block.group} * c.group_in + (has_column_ ? column : 0)) * args.depth +
               chunk_ * 8;
  }

  // Copies the operands of the step to a stage at `shared`.
  __device__ void copy(const InputSteps& step, std::uint32_t shared) const {
    const int thread = static_cast<int>(threadIdx.x);
    const ConvGeometry& c = args_.conv;
    const int in_chunk = step.chunk * kInputDepth;
    const int first = ((step.tap_h * c.kernel_w + step.tap_w) * args_.chunks + step.chunk) *
                      kInputDepth;  // flat depths have one tap of all chunks
    copy_16(shared + kInputRows * 64 + in_rows_of_64(thread / 4, chunk_), weights_ + first,
            has_column_);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t to = shared + in_rows_of_64(thread / 4 + 64 * i, chunk_);
      if constexpr (kVectors) {
        const int oy = pixels_[i].row + step.shift_h;
        const int ox = pixels_[i].column + step.shift_w;
        const int channel = in_chunk + chunk_ * 8;
        const bool inside = is_inside(pixels_[i], oy, ox) && channel < c.group_out;
        const std::int64_t at = (std::int64_t{oy} * c.out_width + ox) * c.out_channels + channel;
        copy_16(to, rows_[i] + (inside ? at : 0), inside);
      } else {
        store_16(to, gather(pixels_[i], rows_[i], in_chunk + chunk_ * 8));
      }
    }
  }

 private:
  __device__ bool is_inside(const InputPixel& pixel, int oy, int ox) const {
    return pixel.inside && oy >= 0 && oy < args_.conv.out_height && ox >= 0 &&
           ox < args_.conv.out_width;
  }

  // Eight flat depths of a pixel.
  __device__ uint4 gather(const InputPixel& pixel, const std::uint16_t* row, int first) const {
    const ConvGeometry& c = args_.conv;
    std::uint32_t words[4] = {};
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int tap = (first + j) / c.group_out;
      const int tap_h = tap / c.kernel_w;
      if (tap_h >= c.kernel_h) break;
      const OutputShift h(block_.phase_h, c.pad_top, tap_h, c.dilation_h, c.stride_h);
      const OutputShift w(block_.phase_w, c.pad_left, tap - tap_h * c.kernel_w, c.dilation_w,
                          c.stride_w);
      const int oy = pixel.row + h.shift;
      const int ox = pixel.column + w.shift;
      if (!h.whole || !w.whole || !is_inside(pixel, oy, ox)) continue;
      const std::uint32_t value = row[(std::int64_t{oy} * c.out_width + ox) * c.out_channels +
                                      first + j - tap * c.group_out];
      words[j / 2] |= value << (j % 2 * 16);
    }
    return {words[0], words[1], words[2], words[3]};
  }

  const InputGradientArgs& args_;
  const InputBlock& block_;
  InputPixel pixels_[2];
  const std::uint16_t* rows_[2];
  const std::uint16_t* weights_;
  int chunk_;
  bool has_column_;
};

template <bool kVectors>
__global__ void __launch_bounds__(kInputThreads, 2)
    input_gradient(const __grid_constant__ InputGradientArgs args,
                   const __grid_constant__ InputGradientArgs step_args) {
  golden::cuda::begin_kernel();
  __shared__ __align__(128) std::uint8_t stages[kInputStages * kInputStageBytes];
  const InputBlock block(args);
  if (block.first_row >= args.conv.batch * block.rows_h * block.rows_w) return;
  const InputCopies<kVectors> copies(args, block);
  InputBlock step_block = block;
  if (!kVectors) step_block.phase_h = step_block.phase_w = 0;
  InputSteps ahead(step_args, step_block);
  const std::uint32_t shared = golden::cuda::to_shared(stages);
  int copied = 0;
  const auto copy_next = [&] {
    if (!ahead.at_end()) {
      copies.copy(ahead, shared + copied % kInputStages * kInputStageBytes);
      ahead.advance();
      ++copied;
    }
    golden::cuda::commit_copies();
  };
  for (int i = 0; i < kInputStages - 1; ++i) copy_next();
  InputSums sums;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_row = warp % 4 * 32;
  const int first_column = warp / 4 * 32;
  for (int step = 0; step < copied; ++step) {
    golden::cuda::wait_copies<kInputStages - 2>();
    __syncthreads();
    copy_next();
    const std::uint32_t a = shared + step % kInputStages * kInputStageBytes;
    sums.multiply(a, a + kInputRows * 64, first_row, first_column);
  }
  sums.store(args, block, first_row, first_column);
}

struct InputPlan {
  bool vectors;
  int tap_depth, depth, chunks;
};

InputPlan plan_of(const ConvInputGradient& call) {
  const ConvGeometry c = geometry_of(call.conv);
  InputPlan plan{};
  plan.vectors = c.group_out % 8 == 0 && is_aligned_16(call.g);
  const int steps = (c.group_out + kInputDepth - 1) / kInputDepth;
  plan.tap_depth = plan.vectors ? steps * kInputDepth : c.group_out;
  plan.depth =
      (c.kernel_h * c.kernel_w * plan.tap_depth + kInputDepth - 1) / kInputDepth * kInputDepth;
  plan.chunks = plan.vectors ? steps : plan.depth / kInputDepth;
  return plan;
}

void enqueue_packing(const ConvInputGradient& call, const InputPlan& plan, std::uint16_t* packed,
                     cudaStream_t stream) {
  const ConvGeometry c = geometry_of(call.conv);
  PackArgs args{};
  args.w = call.conv.w;
  args.scales = call.w_scales;
  args.packed = packed;
  args.groups = c.groups;
  args.group_in = c.group_in;
  args.group_out = c.group_out;
  args.taps = c.kernel_h * c.kernel_w;
  args.depth = plan.depth;
  args.tap_depth = plan.tap_depth;
  const int out_tiles = (plan.tap_depth + kPackTile - 1) / kPackTile;
  const int in_tiles = (c.group_in + kPackTile - 1) / kPackTile;
  golden::cuda::launch_kernel("launching pack_weights", pack_weights,
                              std::int64_t{args.taps} * c.groups * out_tiles * in_tiles,
                              kPackThreads, 0, stream, args, out_tiles, in_tiles);
}

}  // namespace

std::size_t workspace_bytes(const ConvInputGradient& call) {
  if (call.dx.elems() == 0) return 0;
  return for_any_address(call, [](const ConvInputGradient& at) -> std::size_t {
    if (has_wgmma_input_gradient(at)) return wgmma_input_workspace_bytes(at);
    if (has_direct_input_gradient(at)) return 0;
    if (has_linear_input_gradient(at)) return linear_input_workspace_bytes(at);
    return static_cast<std::size_t>(at.conv.x_shape.channels) *
           static_cast<std::size_t>(plan_of(at).depth) * 2;
  });
}

void enqueue(const ConvInputGradient& call, void* workspace, void* stream) {
  if (call.dx.elems() == 0) return;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (has_wgmma_input_gradient(call)) {
    enqueue_wgmma_input_gradient(call, workspace, cuda_stream);
    return;
  }
  if (has_direct_input_gradient(call)) {
    enqueue_direct_input_gradient(call, cuda_stream);
    return;
  }
  if (has_linear_input_gradient(call)) {
    enqueue_linear_input_gradient(call, workspace, cuda_stream);
    return;
  }
  const InputPlan plan = plan_of(call);
  if (plan.depth > 0) {
    enqueue_packing(call, plan, static_cast<std::uint16_t*>(workspace), cuda_stream);
  }
  InputGradientArgs args{};
  args.conv = geometry_of(call.conv);
  ConvGeometry& c = args.conv;
  args.g = call.g;
  args.weights = static_cast<const std::uint16_t*>(workspace);
  args.passes = call.passes;
  args.dx = view_of(call.dx);
  args.depth = plan.depth;
  args.chunks = plan.chunks;
  args.column_tiles = (c.group_in + kInputColumns - 1) / kInputColumns;
  args.phases_h = std::min(c.stride_h, c.height);
  args.phases_w = std::min(c.stride_w, c.width);
  const std::int64_t rows = std::int64_t{c.batch} * ((c.height + c.stride_h - 1) / c.stride_h) *
                            ((c.width + c.stride_w - 1) / c.stride_w);
  args.phase_tiles = static_cast<int>((rows + kInputRows - 1) / kInputRows);
  args.pairs = call.dx.strides[3] == 1 && c.group_in % 2 == 0 &&
               has_aligned_vectors(call.dx, 3, 2 * bytes_of(call.dx.type));
  const std::int64_t blocks =
      std::int64_t{args.column_tiles} * args.phase_tiles * args.phases_h * args.phases_w * c.groups;
  InputGradientArgs steps = args;
  if (!plan.vectors) {
    steps.conv.kernel_h = steps.conv.kernel_w = 1;
    steps.conv.pad_top = steps.conv.pad_left = 0;
  }
  if (plan.depth == 0) steps.conv.kernel_h = 0;
  golden::cuda::launch_kernel("launching input_gradient",
                              plan.vectors ? input_gradient<true> : input_gradient<false>, blocks,
                              kInputThreads, 0, cuda_stream, args, steps);
}

}  // namespace qsim::golden::train::cuda
