#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/device_attribute.h"
#include "golden/kernels/train/cuda/backward/weight_gradient_wgmma.cuh"
#include "golden/kernels/train/cuda/backward/weight_gradient_wgmma.h"
#include "golden/kernels/train/cuda/backward/weight_sums.cuh"

namespace qsim::golden::train::cuda {
namespace {

using Tall = SlabShape<8, 16, 1>;
using Seven = SlabShape<7, 16, 1>;
using Four = SlabShape<4, 16, 1>;
using Pair = SlabShape<8, 8, 2>;

template <typename Shape>
__global__ void __launch_bounds__(kSlabThreads, 1)
    weight_gradient_wgmma(const __grid_constant__ WgmmaWeightArgs args,
                          const __grid_constant__ CUtensorMap g) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ SlabBarriers barriers;
  const std::uint32_t memory = golden::cuda::to_shared(golden::cuda::dynamic_shared());
  const std::uint32_t stages = (memory + 1023) / 1024 * 1024;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kSlabStages; ++i) {
      barriers.full[i].init(kSlabProducers + 1);
      barriers.empty[i].init(kSlabConsumers / 32);
    }
    golden::cuda::fence_barrier_init();
  }
  __syncthreads();
  golden::cuda::begin_kernel();
  const SlabBlock block(args);
  const int group = __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x) / 128, 0);
  if (group == 3) {
    golden::cuda::give_registers<kSlabProducerRegisters>();
    SlabProducer<Shape>(args, g, barriers, stages, block).run();
  } else {
    golden::cuda::take_registers<kSlabConsumerRegisters>();
    float sums[3][32] = {};
    multiply_slabs<Shape>(block, barriers, stages, group, sums);
    store_slab_sums(args, block, group, sums);
  }
#else
  __trap();  // compiled for an architecture without wgmma
#endif
}

struct SlabPlan {
  int rows, width, pictures;  // of a slab
  std::int64_t tiles_y, tiles_x, slabs, parts;

  std::int64_t places() const { return slabs * rows * width * pictures; }
};

SlabPlan plan_with(const ImageShape& y, int rows, int width, int pictures) {
  const std::int64_t tiles_y = (y.height + rows - 1) / rows;
  const std::int64_t tiles_x = (y.width + width - 1) / width;
  const std::int64_t slabs = (y.batch + pictures - 1) / pictures * tiles_y * tiles_x;
  return {rows, width, pictures, tiles_y, tiles_x, slabs, 1};
}

// The plan depends on the shapes only: the slabs that leave the fewest places beyond the pictures,
// and as many parts as give 132 blocks.
SlabPlan plan_of(const LevelConv& conv) {
  constexpr std::int64_t kBlocks = 132;
  const ImageShape& y = conv.y_shape;
  SlabPlan plan = plan_with(y, Tall::kRows, Tall::kWidth, Tall::kPictures);
  const auto consider = [&](const SlabPlan& other) {
    if (other.places() < plan.places()) plan = other;
  };
  consider(plan_with(y, Seven::kRows, Seven::kWidth, Seven::kPictures));
  consider(plan_with(y, Four::kRows, Four::kWidth, Four::kPictures));
  if (y.width <= Pair::kWidth) {
    consider(plan_with(y, Pair::kRows, Pair::kWidth, Pair::kPictures));
  }
  const std::int64_t tiles = conv.groups * (conv.in_channels() / 64) * (conv.out_channels() / 64);
  plan.parts = std::clamp<std::int64_t>(kBlocks / tiles, 1, plan.slabs);
  return plan;
}

auto kernel_of(const SlabPlan& plan) {
  if (plan.pictures == Pair::kPictures) return weight_gradient_wgmma<Pair>;
  if (plan.rows == Tall::kRows) return weight_gradient_wgmma<Tall>;
  return plan.rows == Seven::kRows ? weight_gradient_wgmma<Seven> : weight_gradient_wgmma<Four>;
}

}  // namespace

bool has_wgmma_weight_gradient(const ConvWeightGradient& call) {
  const LevelConv& conv = call.conv;
  const Window& w = conv.window;
  const bool shape = w.stride_h == 1 && w.stride_w == 1 && w.dilation_h == 1 && w.dilation_w == 1 &&
                     w.kernel_h == 3 && w.kernel_w == 3 && conv.in_channels() % 64 == 0 &&
                     conv.out_channels() % 64 == 0 && conv.pixels() > 0;
  if (!shape || !is_aligned_16(call.g) || !is_aligned_16(conv.q)) return false;
  const bool fills = 5 * conv.pixels() >= 2 * plan_of(conv).places();
  return fills && device_attribute(cudaDevAttrComputeCapabilityMajor) == 9;
}

std::size_t wgmma_weight_workspace_bytes(const ConvWeightGradient& call) {
  return static_cast<std::size_t>(plan_of(call.conv).parts * call.dw.elems()) * sizeof(float);
}

void enqueue_wgmma_weight_gradient(const ConvWeightGradient& call, void* workspace,
                                   cudaStream_t stream) {
  const LevelConv& conv = call.conv;
  const SlabPlan plan = plan_of(conv);
  const ConvGeometry geometry = geometry_of(conv);
  WgmmaWeightArgs args{};
  args.q = conv.q;
  args.zero_point = conv.zero_point;
  args.sums = static_cast<float*>(workspace);
  args.batch = geometry.batch;
  args.height = geometry.height;
  args.width = geometry.width;
  args.channels = geometry.channels;
  args.pad_top = geometry.pad_top;
  args.pad_left = geometry.pad_left;
  args.out_channels = geometry.out_channels;
  args.group_in = geometry.group_in;
  args.groups = geometry.groups;
  args.out_blocks = geometry.group_out / 64;
  args.in_blocks = geometry.group_in / 64;
  args.tiles_y = golden::cuda::FastDivisor(static_cast<int>(plan.tiles_y));
  args.tiles_x = golden::cuda::FastDivisor(static_cast<int>(plan.tiles_x));
  args.slabs = count31(plan.slabs);
  args.parts = static_cast<int>(plan.parts);
  const auto unsigned_of = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const ImageShape& y = conv.y_shape;
  const CUtensorMap g = golden::cuda::make_tensor_map(
      call.g,
      {unsigned_of(y.channels * 2), unsigned_of(y.width), unsigned_of(y.height),
       unsigned_of(y.batch)},
      {128, static_cast<std::uint32_t>(plan.width), static_cast<std::uint32_t>(plan.rows),
       static_cast<std::uint32_t>(plan.pictures)});
  const auto kernel = kernel_of(plan);
  golden::cuda::allow_all_shared_memory(kernel);
  golden::cuda::launch_kernel(
      "launching weight_gradient_wgmma", kernel,
      plan.parts * args.out_blocks * args.in_blocks * std::int64_t{args.groups}, kSlabThreads,
      kSlabSharedBytes, stream, args, g);
  enqueue_weight_sums(
      {args.sums, call.scale, call.passes, view_of(call.dw), call.dw.is_dense(), false, false},
      geometry, args.parts, stream);
}

}  // namespace qsim::golden::train::cuda
