// A block has up to 32 channels, some rows of taps and a part of the pixels. A thread multiplies
// a few pixels of g with the levels at their taps; its sums stay in registers until the end.
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/direct_weight_gradient.cuh"
#include "golden/kernels/train/cuda/backward/direct_weight_gradient.h"
#include "golden/kernels/train/cuda/backward/real_values.cuh"
#include "golden/kernels/train/cuda/backward/weight_sums.cuh"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kMostChunks = 4;  // eights of channels of a block
constexpr int kBlocks = 396;    // wanted: 3 for each of 132 multiprocessors

// Adds the warps' sums [kWarps][chunks][kSums] in their order.
template <typename Task>
__device__ void store_block(const DirectWeightArgs& args, const float* shared, int first_chunk,
                            int task, int part) {
  const ConvGeometry& c = args.conv;
  const int chunks = min(args.block_chunks, args.chunks - first_chunk);
  const int first_row = task / Task::kOutParts * Task::kRows;
  for (int i = static_cast<int>(threadIdx.x); i < chunks * Task::kSums; i += kThreads) {
    int left = i;
    const int in = left % kDirectChannels;
    left /= kDirectChannels;
    const int out = left % Task::kOuts + task % Task::kOutParts * Task::kOuts;
    left /= Task::kOuts;
    const int column = left % Task::kColumns;
    left /= Task::kColumns;
    const int row = left % Task::kRows + first_row;
    const int chunk = first_chunk + left / Task::kRows;
    if (row >= c.kernel_h || column >= c.kernel_w) continue;
    float sum = shared[i];
    for (int warp = 1; warp < kWarps; ++warp) {
      sum += shared[warp * args.block_chunks * Task::kSums + i];
    }
    const int channel = chunk * kDirectChannels + in / Task::kGroup * Task::kGroup + out;
    const int depth = c.kernel_h * c.kernel_w * Task::kGroup;
    args.sums[(std::int64_t{part} * c.out_channels + channel) * depth +
              (row * c.kernel_w + column) * Task::kGroup + in % Task::kGroup] = sum;
  }
}

template <typename Task, int kStride>
__global__ void __launch_bounds__(kThreads, 3)
    direct_weight_gradient(const __grid_constant__ DirectWeightArgs args) {
  golden::cuda::begin_kernel();
  __shared__ float shared[kWarps * kMostChunks * Task::kSums];
  int left = static_cast<int>(blockIdx.x);
  const int first_chunk = left % args.slabs * args.block_chunks;
  left /= args.slabs;
  const int task = left % args.tasks;
  const int part = left / args.tasks;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane_chunk = thread % args.block_chunks;
  const int block_items = kThreads / args.block_chunks;
  DirectWeightSums<Task, kStride> sums(args, first_chunk + lane_chunk, task);
  if (first_chunk + lane_chunk < args.chunks) {
    const int first = part * args.rounds * block_items + thread / args.block_chunks;
    const int end = min(args.items, (part + 1) * args.rounds * block_items);
    for (int item = first; item < end; item += block_items) sums.add(item);
  }
  __syncwarp();
  sums.add_lanes(args.block_chunks);
  if (thread % 32 < args.block_chunks) {
    sums.store(shared + (thread / 32 * args.block_chunks + lane_chunk) * Task::kSums);
  }
  __syncthreads();
  store_block<Task>(args, shared, first_chunk, task, part);
}

// Along a row; 0 for any.
int known_stride(const Window& w) {
  return w.dilation_w == 1 && w.stride_w <= 2 ? static_cast<int>(w.stride_w) : 0;
}

struct DirectWeightPlan {
  int block_chunks, slabs, tasks;
  int items, rounds, parts;
};

// The plan depends on the shapes only.
DirectWeightPlan plan_of(const LevelConv& conv) {
  DirectWeightPlan plan{};
  const int chunks = direct_chunks(conv);
  plan.block_chunks = chunks >= kMostChunks ? kMostChunks : chunks >= 2 ? 2 : 1;
  plan.slabs = (chunks + plan.block_chunks - 1) / plan.block_chunks;
  const bool all_rows = conv.in_channels() == 1 && conv.window.kernel_w <= 3;
  const auto kernel_h = static_cast<int>(conv.window.kernel_h);
  plan.tasks = all_rows ? (kernel_h + 2) / 3 : kernel_h * (conv.in_channels() == 8 ? 2 : 1);
  const int pixels = direct_weight_pixels(known_stride(conv.window));
  const std::int64_t row_items = (conv.y_shape.width + pixels - 1) / pixels;
  const std::int64_t items = conv.y_shape.batch * conv.y_shape.height * row_items;
  const std::int64_t block_items = kThreads / plan.block_chunks;
  const std::int64_t all_blocks = std::int64_t{kBlocks} * block_items;
  plan.items = static_cast<int>(items);
  plan.rounds = static_cast<int>((items * plan.slabs * plan.tasks + all_blocks - 1) / all_blocks);
  plan.parts =
      static_cast<int>((items + plan.rounds * block_items - 1) / (plan.rounds * block_items));
  return plan;
}

using DirectWeightKernel = void (*)(const DirectWeightArgs);

template <int kStride>
DirectWeightKernel kernel_of(const ConvGeometry& c) {
  switch (c.group_in) {
    case 1:
      if (c.kernel_w <= 3) return direct_weight_gradient<DirectTask<1, 1, 3, 3>, kStride>;
      return c.kernel_w <= 5 ? direct_weight_gradient<DirectTask<1, 1, 1, 5>, kStride>
                             : direct_weight_gradient<DirectTask<1, 1, 1, 7>, kStride>;
    case 2:
      return direct_weight_gradient<DirectTask<2, 2, 1, 3>, kStride>;
    case 4:
      return direct_weight_gradient<DirectTask<4, 4, 1, 3>, kStride>;
    default:
      return direct_weight_gradient<DirectTask<8, 4, 1, 3>, kStride>;
  }
}

}  // namespace

bool has_direct_weight_gradient(const ConvWeightGradient& call) {
  const LevelConv& conv = call.conv;
  const Window& w = conv.window;
  return has_direct_groups(conv) && w.kernel_w <= (conv.in_channels() == 1 ? 7 : 3) &&
         is_aligned_16(call.g) && reinterpret_cast<std::uintptr_t>(conv.q) % 8 == 0;
}

std::size_t direct_weight_workspace_bytes(const ConvWeightGradient& call) {
  return static_cast<std::size_t>(plan_of(call.conv).parts * call.dw.elems()) * sizeof(float);
}

void enqueue_direct_weight_gradient(const ConvWeightGradient& call, void* workspace,
                                    cudaStream_t stream) {
  const DirectWeightPlan plan = plan_of(call.conv);
  DirectWeightArgs args{};
  args.conv = geometry_of(call.conv);
  const ConvGeometry& c = args.conv;
  args.q = call.conv.q;
  args.zero_point = call.conv.zero_point;
  args.g = call.g;
  args.sums = static_cast<float*>(workspace);
  args.chunks = direct_chunks(call.conv);
  args.block_chunks = plan.block_chunks;
  args.slabs = plan.slabs;
  args.tasks = plan.tasks;
  args.items = plan.items;
  args.rounds = plan.rounds;
  const int stride = known_stride(call.conv.window);
  const int pixels = direct_weight_pixels(stride);
  args.row_items = golden::cuda::FastDivisor((c.out_width + pixels - 1) / pixels);
  args.height = golden::cuda::FastDivisor(c.out_height);
  golden::cuda::launch_kernel("launching direct_weight_gradient",
                              stride == 0   ? kernel_of<0>(c)
                              : stride == 1 ? kernel_of<1>(c)
                                            : kernel_of<2>(c),
                              std::int64_t{plan.parts} * plan.slabs * plan.tasks, kThreads, 0,
                              stream, args);
  enqueue_weight_sums(
      {args.sums, call.scale, call.passes, view_of(call.dw), call.dw.is_dense(), false, false}, c,
      plan.parts, stream);
}

}  // namespace qsim::golden::train::cuda
