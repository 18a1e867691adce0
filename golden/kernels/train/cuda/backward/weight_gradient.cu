// The gradient of a convolution's weights with mma.sync: any stride, dilation and groups. The
// pixels are divided into parts by the shapes alone; the parts' sums go to the workspace and are
// added in their order.
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/direct_weight_gradient.h"
#include "golden/kernels/train/cuda/backward/first_weight_gradient.h"
#include "golden/kernels/train/cuda/backward/weight_gradient_load.cuh"
#include "golden/kernels/train/cuda/backward/weight_gradient_wgmma.h"
#include "golden/kernels/train/cuda/backward/weight_sums.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

template <bool kVectorsOfG, bool kVectorsOfQ>
__global__ void __launch_bounds__(kWeightThreads, 4)
    weight_gradient(const __grid_constant__ WeightGradientArgs args) {
  golden::cuda::begin_kernel();
  __shared__ __align__(128)
      std::uint8_t memory[(kWeightStagesOfG + kWeightStagesOfQ) * kWeightTileBytes];
  const auto block = WeightBlock::of<kVectorsOfQ>(args);
  const OperandCopies<kVectorsOfG> operand(args, block);
  LevelLoads<kVectorsOfQ> levels(args, block);
  const std::uint32_t g = golden::cuda::to_shared(memory);
  const std::uint32_t q = g + kWeightStagesOfG * kWeightTileBytes;
  const int all_steps = (args.pixels + kWeightPixels - 1) / kWeightPixels;
  const int first = block.part * args.part_steps;
  const int steps = min(args.part_steps, all_steps - first);
  const auto pixel = [&](int step) { return (first + step) * kWeightPixels; };
  const auto copy = [&](int step) {
    if (step < steps) operand.copy(pixel(step), g + step % kWeightStagesOfG * kWeightTileBytes);
    golden::cuda::commit_copies();
  };
  copy(0);
  copy(1);
  if (steps > 0) {
    levels.load(pixel(0));
    levels.store(q);
  }
  if (steps > 1) levels.load(pixel(1));
  WeightSums sums;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_row = warp % 2 * 32;
  const int first_column = warp / 2 * 32;
  for (int step = 0; step < steps; ++step) {
    golden::cuda::wait_copies<1>();
    __syncthreads();
    copy(step + 2);
    sums.multiply(g + step % kWeightStagesOfG * kWeightTileBytes,
                  q + step % kWeightStagesOfQ * kWeightTileBytes, first_row, first_column);
    if (step + 1 < steps) levels.store(q + (step + 1) % kWeightStagesOfQ * kWeightTileBytes);
    if (step + 2 < steps) levels.load(pixel(step + 2));
  }
  const int of_tap = block.tap * args.conv.group_in;
  sums.store(args, block.part, block.group, block.first_row + first_row,
             of_tap + block.first_column + first_column,
             kVectorsOfQ ? of_tap + args.conv.group_in : args.depth);
}

// How the work is divided, by the shapes alone.
struct WeightPlan {
  bool vectors_of_g, vectors_of_q;
  int row_tiles, column_tiles;
  int parts, part_steps;
};

WeightPlan plan_of(const ConvWeightGradient& call) {
  constexpr std::int64_t kBlocks = 1056;  // wanted: 8 for each of 132 multiprocessors
  constexpr std::int64_t kFewestSteps = 8;
  const ConvGeometry c = geometry_of(call.conv);
  WeightPlan plan{};
  plan.vectors_of_g = c.group_out % 8 == 0 && is_aligned_16(call.g);
  plan.vectors_of_q = c.group_in % 8 == 0 && reinterpret_cast<std::uintptr_t>(call.conv.q) % 8 == 0;
  plan.row_tiles = (c.group_out + kWeightRows - 1) / kWeightRows;
  const std::int64_t depth = call.conv.depth();
  plan.column_tiles =
      plan.vectors_of_q
          ? c.kernel_h * c.kernel_w * ((c.group_in + kWeightColumns - 1) / kWeightColumns)
          : static_cast<int>((depth + kWeightColumns - 1) / kWeightColumns);
  const std::int64_t tiles = std::int64_t{plan.row_tiles} * plan.column_tiles * c.groups;
  const std::int64_t steps = (call.conv.pixels() + kWeightPixels - 1) / kWeightPixels;
  std::int64_t parts = std::min(kBlocks / std::max<std::int64_t>(tiles, 1), steps / kFewestSteps);
  parts = std::max<std::int64_t>(parts, 1);
  plan.part_steps = static_cast<int>((steps + parts - 1) / parts);
  plan.parts =
      plan.part_steps == 0 ? 1 : static_cast<int>((steps + plan.part_steps - 1) / plan.part_steps);
  return plan;
}

auto kernel_of(const WeightPlan& plan) {
  if (plan.vectors_of_g) {
    return plan.vectors_of_q ? weight_gradient<true, true> : weight_gradient<true, false>;
  }
  return plan.vectors_of_q ? weight_gradient<false, true> : weight_gradient<false, false>;
}

bool takes_pairs(const ConvWeightGradient& call) {
  return call.dw.is_dense() && call.conv.depth() % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(call.dw.data) % 8 == 0;
}

}  // namespace

std::size_t workspace_bytes(const ConvWeightGradient& call) {
  if (call.dw.elems() == 0) return 0;
  return for_any_address(call, [](const ConvWeightGradient& at) -> std::size_t {
    if (has_wgmma_weight_gradient(at)) return wgmma_weight_workspace_bytes(at);
    if (has_direct_weight_gradient(at)) return direct_weight_workspace_bytes(at);
    if (has_first_weight_gradient(at)) return first_weight_workspace_bytes(at);
    const WeightPlan plan = plan_of(at);
    return plan.parts == 1 ? 0
                           : static_cast<std::size_t>(plan.parts * at.dw.elems()) * sizeof(float);
  });
}

void enqueue(const ConvWeightGradient& call, void* workspace, void* stream) {
  if (call.dw.elems() == 0) return;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (has_wgmma_weight_gradient(call)) {
    enqueue_wgmma_weight_gradient(call, workspace, cuda_stream);
    return;
  }
  if (has_direct_weight_gradient(call)) {
    enqueue_direct_weight_gradient(call, workspace, cuda_stream);
    return;
  }
  if (has_first_weight_gradient(call)) {
    enqueue_first_weight_gradient(call, workspace, cuda_stream);
    return;
  }
  const WeightPlan plan = plan_of(call);
  WeightGradientArgs args{};
  args.conv = geometry_of(call.conv);
  args.q = call.conv.q;
  args.zero_point = call.conv.zero_point;
  args.g = call.g;
  const bool pairs = takes_pairs(call);
  args.out = {plan.parts > 1 ? static_cast<float*>(workspace) : nullptr,
              call.scale,
              call.passes,
              view_of(call.dw),
              call.dw.is_dense(),
              pairs,
              plan.parts == 1 && pairs && call.conv.in_channels() % 32 == 0 &&
                  reinterpret_cast<std::uintptr_t>(call.passes) % 4 == 0};
  args.picture = golden::cuda::FastDivisor(std::max(args.conv.out_height * args.conv.out_width, 1));
  args.width = golden::cuda::FastDivisor(std::max(args.conv.out_width, 1));
  args.pixels = static_cast<int>(call.conv.pixels());
  args.depth = static_cast<int>(call.conv.depth());
  args.row_tiles = plan.row_tiles;
  args.column_tiles = plan.column_tiles;
  args.part_steps = plan.part_steps;
  const std::int64_t blocks =
      std::int64_t{plan.parts} * plan.row_tiles * plan.column_tiles * args.conv.groups;
  golden::cuda::launch_kernel("launching weight_gradient", kernel_of(plan), blocks, kWeightThreads,
                              0, cuda_stream, args);
  if (plan.parts > 1) enqueue_weight_sums(args.out, args.conv, plan.parts, cuda_stream);
}

}  // namespace qsim::golden::train::cuda
