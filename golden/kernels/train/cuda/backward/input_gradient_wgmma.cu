#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/device_attribute.h"
#include "golden/kernels/train/cuda/backward/input_gradient_store.cuh"
#include "golden/kernels/train/cuda/backward/input_gradient_wgmma.cuh"
#include "golden/kernels/train/cuda/backward/input_gradient_wgmma.h"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kPackThreads = 256;

struct BlockPacking {
  const std::int8_t* w;  // [out_channels][taps][group_in]
  const float* scales;
  std::uint16_t* packed;  // [groups][in_blocks][out_blocks][taps][64 of x][64 of g]
  int in_blocks, out_blocks, taps;
};

__global__ void __launch_bounds__(kPackThreads)
    pack_blocks(const __grid_constant__ BlockPacking args) {
  golden::cuda::begin_kernel();
  __shared__ float tile[kTileChannels][kTileChannels + 1];
  int left = static_cast<int>(blockIdx.x);
  const int tap = left % args.taps;
  left /= args.taps;
  const int out_block = left % args.out_blocks;
  left /= args.out_blocks;
  const int in_block = left % args.in_blocks;
  const int group = left / args.in_blocks;
  const int lane = static_cast<int>(threadIdx.x) % kTileChannels;
  constexpr int kStep = kPackThreads / kTileChannels;
  for (int i = static_cast<int>(threadIdx.x) / kTileChannels; i < kTileChannels; i += kStep) {
    const std::int64_t out =
        (std::int64_t{group} * args.out_blocks + out_block) * kTileChannels + i;
    const std::int64_t at =
        ((out * args.taps + tap) * args.in_blocks + in_block) * kTileChannels + lane;
    tile[i][lane] = static_cast<float>(args.w[at]) * args.scales[out];
  }
  __syncthreads();
  std::uint16_t* to = args.packed + std::int64_t{blockIdx.x} * kTileChannels * kTileChannels;
  for (int i = static_cast<int>(threadIdx.x) / kTileChannels; i < kTileChannels; i += kStep) {
    store_real(to, RealType::kBfloat16, i * kTileChannels + lane, tile[lane][i]);
  }
}

template <int kKernelW, bool kSmall>
__global__ void __launch_bounds__(kWgmmaThreads, 1)
    input_gradient_wgmma(const __grid_constant__ WgmmaInputArgs args,
                         const __grid_constant__ CUtensorMap g,
                         const __grid_constant__ CUtensorMap weights) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ WgmmaBarriers barriers;
  const std::uint32_t memory = golden::cuda::to_shared(golden::cuda::dynamic_shared());
  const std::uint32_t boxes = (memory + 1023) / 1024 * 1024;
  constexpr int kBoxBytes = WgmmaConsumer<kKernelW, kSmall>::kBoxBytes;
  const std::uint32_t taps = boxes + static_cast<std::uint32_t>(args.stages.boxes * kBoxBytes);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kMostBoxStages; ++i) {
      barriers.box_full[i].init(1);
      barriers.box_empty[i].init(8);
    }
    for (int i = 0; i < kMostTapStages; ++i) {
      barriers.taps_full[i].init(1);
      barriers.taps_empty[i].init(8);
    }
    golden::cuda::fence_barrier_init();
  }
  __syncthreads();
  golden::cuda::begin_kernel();
  const int warp = __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x) / 32, 0);
  if (warp == 8) {
    if (threadIdx.x % 32 == 0) produce(args, g, weights, barriers, boxes, taps);
    return;
  }
  const int half = warp / 4;
  WgmmaConsumer<kKernelW, kSmall> consumer(args, barriers, boxes, taps, half);
  int lead = half == 0 ? min(args.stages.lead, args.kernel_h * args.out_blocks) : 0;
  if (half == 1) asm volatile("bar.sync 1, 256;" ::: "memory");
  for (int i = static_cast<int>(blockIdx.x); i < args.jobs; i += static_cast<int>(gridDim.x)) {
    float sums[64];
    const TileStore<kSmall> dx(args, WgmmaJob(args, i), half);
    consumer.multiply(sums, lead);
    lead = 0;
    dx.store(sums);
  }
#else
  __trap();  // compiled for an architecture without wgmma
#endif
}

// Tiles of four small pictures where those of one would be emptier.
bool is_small(const ConvInputGradient& call) {
  const ImageShape& x = call.conv.x_shape;
  return x.height <= kSmallSide && x.width <= kSmallSide && x.batch > 1 &&
         call.conv.window.kernel_w == kMostTaps;
}

struct Tiling {
  std::int64_t side, pictures, tiles_y, tiles_x, tiles_b;

  explicit Tiling(const ConvInputGradient& call) {
    const ImageShape& x = call.conv.x_shape;
    side = is_small(call) ? kSmallSide : kTileSide;
    pictures = is_small(call) ? kSmallPictures : 1;
    tiles_y = (x.height + side - 1) / side;
    tiles_x = (x.width + side - 1) / side;
    tiles_b = (x.batch + pictures - 1) / pictures;
  }
  std::int64_t places() const { return tiles_b * pictures * tiles_y * tiles_x * side * side; }
};

WgmmaInputArgs args_of(const ConvInputGradient& call) {
  const LevelConv& conv = call.conv;
  const Window& w = conv.window;
  WgmmaInputArgs args{};
  args.passes = call.passes;
  args.dx = view_of(call.dx);
  args.batch = count31(conv.x_shape.batch);
  args.height = count31(conv.x_shape.height);
  args.width = count31(conv.x_shape.width);
  args.channels = count31(conv.x_shape.channels);
  args.kernel_h = static_cast<int>(w.kernel_h);
  args.kernel_w = static_cast<int>(w.kernel_w);
  args.origin_y = static_cast<int>(w.pad_top - w.kernel_h + 1);
  args.origin_x = static_cast<int>(w.pad_left - w.kernel_w + 1);
  args.groups = count31(conv.groups);
  args.in_blocks = count31(conv.in_channels() / kTileChannels);
  args.out_blocks = count31(conv.out_channels() / kTileChannels);
  const Tiling tiling(call);
  args.side = static_cast<int>(tiling.side);
  args.pictures = static_cast<int>(tiling.pictures);
  args.tiles_y = count31(tiling.tiles_y);
  args.tiles_x = count31(tiling.tiles_x);
  args.tiles_b = count31(tiling.tiles_b);
  args.jobs = count31(tiling.tiles_b * tiling.tiles_y * tiling.tiles_x * args.in_blocks *
                      std::int64_t{args.groups});
  args.resident = args.groups == 1 && args.in_blocks == 1 && args.out_blocks == 1;
  args.stages = args.resident ? kResidentStages : kStreamedStages;
  const int pair_bytes = 2 * bytes_of(call.dx.type);
  if (call.dx.strides[3] == 1 && has_aligned_vectors(call.dx, 3, 2 * pair_bytes)) {
    args.order = DxOrder::kChannelQuads;
  } else {
    args.order = call.dx.strides[2] == 1 && has_aligned_vectors(call.dx, 2, pair_bytes)
                     ? DxOrder::kRowPairs
                     : DxOrder::kAny;
  }
  return args;
}

}  // namespace

bool has_wgmma_input_gradient(const ConvInputGradient& call) {
  const LevelConv& conv = call.conv;
  const Window& w = conv.window;
  const bool shape = w.stride_h == 1 && w.stride_w == 1 && w.dilation_h == 1 && w.dilation_w == 1 &&
                     w.kernel_h <= kMostTaps && w.kernel_w <= kMostTaps &&
                     conv.in_channels() % kTileChannels == 0 &&
                     conv.out_channels() % kTileChannels == 0 && conv.pixels() > 0;
  if (!shape || !is_aligned_16(call.g) || reinterpret_cast<std::uintptr_t>(call.passes) % 2 != 0) {
    return false;
  }
  const ImageShape& x = conv.x_shape;
  const bool fills = 5 * x.batch * x.height * x.width >= 2 * Tiling(call).places();
  return fills && device_attribute(cudaDevAttrComputeCapabilityMajor) == 9;
}

std::size_t wgmma_input_workspace_bytes(const ConvInputGradient& call) {
  return static_cast<std::size_t>(call.conv.y_shape.channels * call.conv.depth()) * 2;
}

void enqueue_wgmma_input_gradient(const ConvInputGradient& call, void* workspace,
                                  cudaStream_t stream) {
  const WgmmaInputArgs args = args_of(call);
  const int taps = args.kernel_h * args.kernel_w;
  const std::int64_t pack_tiles =
      std::int64_t{args.groups} * args.in_blocks * args.out_blocks * taps;
  golden::cuda::launch_kernel(
      "launching pack_blocks", pack_blocks, pack_tiles, kPackThreads, 0, stream,
      BlockPacking{call.conv.w, call.w_scales, static_cast<std::uint16_t*>(workspace),
                   args.in_blocks, args.out_blocks, taps});
  const auto unsigned_of = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const ImageShape& y = call.conv.y_shape;
  const CUtensorMap g =
      golden::cuda::make_tensor_map(call.g,
                                    {unsigned_of(y.channels * 2), unsigned_of(y.width),
                                     unsigned_of(y.height), unsigned_of(y.batch)},
                                    {128, static_cast<std::uint32_t>(args.side + args.kernel_w - 1),
                                     static_cast<std::uint32_t>(args.side + args.kernel_h - 1),
                                     static_cast<std::uint32_t>(args.pictures)});
  const CUtensorMap weights = golden::cuda::make_tensor_map(
      workspace, {128, unsigned_of(pack_tiles * kTileChannels)},
      {128, static_cast<std::uint32_t>(args.kernel_w * kTileChannels)});
  const bool small = args.side == kSmallSide;
  const auto kernel = small                ? input_gradient_wgmma<3, true>
                      : args.kernel_w == 3 ? input_gradient_wgmma<3, false>
                      : args.kernel_w == 2 ? input_gradient_wgmma<2, false>
                                           : input_gradient_wgmma<1, false>;
  golden::cuda::allow_all_shared_memory(kernel);
  golden::cuda::launch_kernel(
      "launching input_gradient_wgmma", kernel,
      std::min(args.jobs, device_attribute(cudaDevAttrMultiProcessorCount)), kWgmmaThreads,
      static_cast<std::size_t>(args.stages.bytes(small ? kSmallBoxBytes : kTileBoxBytes)), stream,
      args, g, weights);
}

}  // namespace qsim::golden::train::cuda
