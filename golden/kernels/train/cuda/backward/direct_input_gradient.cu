// A block has some eights of channels, whose weights it keeps in shared memory, and walks over
// pixels. A thread reads g at each tap of its four pixels.
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/direct_input_gradient.cuh"
#include "golden/kernels/train/cuda/backward/direct_input_gradient.h"
#include "golden/kernels/train/cuda/backward/real_values.cuh"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kThreads = kDirectInputThreads;
constexpr int kPixels = kDirectInputPixels;
constexpr int kMostChunks = 8;     // eights of channels of a block
constexpr int kMostDepth = 192;    // of an output: 48 KiB of weights
constexpr int kMostBlocks = 1056;  // 8 for each of 132 multiprocessors

__device__ void store_eight(const RealView& dx, std::int64_t at, const float (&v)[8]) {
  if (dx.type == RealType::kFloat32) {
    store_quad(dx.data, dx.type, at, {v[0], v[1], v[2], v[3]});
    store_quad(dx.data, dx.type, at + 4, {v[4], v[5], v[6], v[7]});
    return;
  }
  std::uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (dx.type == RealType::kFloat16) {
      const __half2 pair = __floats2half2_rn(v[2 * i], v[2 * i + 1]);
      words[i] = *reinterpret_cast<const std::uint32_t*>(&pair);
    } else {
      words[i] = bfloat16_pair(v[2 * i], v[2 * i + 1]);
    }
  }
  *reinterpret_cast<uint4*>(static_cast<std::uint16_t*>(dx.data) + at) = {words[0], words[1],
                                                                          words[2], words[3]};
}

// Sets what does not pass to 0, and stores.
__device__ void store_sums(const DirectInputArgs& args, const DirectItem& item, int chunk,
                           float (&sums)[kPixels][kDirectChannels]) {
  const ConvGeometry& c = args.conv;
  const RealView& dx = args.dx;
  const int pixels = min(kPixels, c.width - item.x);
  const std::int64_t first = (std::int64_t{item.b} * c.height + item.y) * c.width + item.x;
  const std::int64_t at = item.b * dx.stride_b + item.y * dx.stride_h + item.x * dx.stride_w +
                          chunk * kDirectChannels * dx.stride_c;
#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
    if (p >= pixels) break;
    const unsigned bits =
        args.passes == nullptr ? 0xFFu : __ldg(args.passes + (first + p) * args.chunks + chunk);
#pragma unroll
    for (int i = 0; i < kDirectChannels; ++i) {
      if ((bits >> i & 1) == 0) sums[p][i] = 0;
    }
    if (args.order == DirectOrder::kChannels) {
      store_eight(dx, at + p * dx.stride_w, sums[p]);
    } else if (args.order == DirectOrder::kAny || pixels < kPixels) {
#pragma unroll
      for (int i = 0; i < kDirectChannels; ++i) {
        store_real(dx.data, dx.type, at + p * dx.stride_w + i * dx.stride_c, sums[p][i]);
      }
    }
  }
  if (args.order != DirectOrder::kPixels || pixels < kPixels) return;
#pragma unroll
  for (int i = 0; i < kDirectChannels; ++i) {
    store_quad(dx.data, dx.type, at + i * dx.stride_c,
               {sums[0][i], sums[1][i], sums[2][i], sums[3][i]});
  }
}

template <int kGroup, DirectTaps kTaps>
__global__ void __launch_bounds__(kThreads, kGroup == 1 && kTaps != DirectTaps::kThree ? 3 : 2)
    direct_input_gradient(const __grid_constant__ DirectInputArgs args) {
  golden::cuda::begin_kernel();
  extern __shared__ float4 shared[];
  const DirectWeights<kGroup> weights(args, reinterpret_cast<float*>(shared));
  const ConvGeometry& c = args.conv;
  const int first_chunk = static_cast<int>(blockIdx.x) % args.slabs * args.block_chunks;
  const int chunks = min(args.block_chunks, args.chunks - first_chunk);
  weights.fill(first_chunk, chunks);
  __syncthreads();
  const int block_items = kThreads / args.block_chunks;
  const int in_block = static_cast<int>(threadIdx.x) / args.block_chunks;
  const int chunk = static_cast<int>(threadIdx.x) - in_block * args.block_chunks;
  if (in_block >= block_items || chunk >= chunks) return;
  const int all_items = static_cast<int>(gridDim.x) / args.slabs * block_items;
  const std::uint16_t* const g = args.g + (first_chunk + chunk) * kDirectChannels;
  for (std::int64_t i = static_cast<int>(blockIdx.x) / args.slabs * block_items + in_block;
       i < args.items; i += all_items) {
    const DirectItem item(args, static_cast<int>(i));
    DirectSums<kGroup> sums(args, weights, chunk);
    for (int tap_h = 0; tap_h < c.kernel_h; ++tap_h) {
      const int from_h = item.y + c.pad_top - tap_h * c.dilation_h;
      if (from_h < 0) break;
      const int y = args.stride_h.divide(from_h);
      if (y * c.stride_h != from_h || y >= c.out_height) continue;
      const std::uint16_t* const row =
          g + (std::int64_t{item.b} * c.out_height + y) * c.out_width * c.out_channels;
      sums.template add_row<kTaps>(tap_h, row, item.x + c.pad_left);
    }
    store_sums(args, item, first_chunk + chunk, sums.values);
  }
}

using DirectInputKernel = void (*)(const DirectInputArgs);

template <int kGroup>
DirectInputKernel kernel_of(const ConvGeometry& c) {
  if (c.stride_w > 2) return direct_input_gradient<kGroup, DirectTaps::kAny>;
  if (c.stride_w == 2) return direct_input_gradient<kGroup, DirectTaps::kStrideTwo>;
  if (c.kernel_w == 3 && c.dilation_w == 1) {
    return direct_input_gradient<kGroup, DirectTaps::kThree>;
  }
  return direct_input_gradient<kGroup, DirectTaps::kStrideOne>;
}

DirectInputKernel kernel_of(const ConvGeometry& c) {
  switch (c.group_in) {
    case 1:
      return kernel_of<1>(c);
    case 2:
      return kernel_of<2>(c);
    case 4:
      return kernel_of<4>(c);
    default:
      return kernel_of<8>(c);
  }
}

DirectOrder order_of(const RealTensor& dx) {
  const int bytes = bytes_of(dx.type);
  if (dx.strides[3] == 1 && has_aligned_vectors(dx, 3, 16)) return DirectOrder::kChannels;
  if (dx.strides[2] == 1 && has_aligned_vectors(dx, 2, kPixels * bytes)) {
    return DirectOrder::kPixels;
  }
  return DirectOrder::kAny;
}

}  // namespace

bool has_direct_input_gradient(const ConvInputGradient& call) {
  const LevelConv& conv = call.conv;
  return has_direct_groups(conv) && conv.depth() <= kMostDepth && is_aligned_16(call.g);
}

void enqueue_direct_input_gradient(const ConvInputGradient& call, cudaStream_t stream) {
  DirectInputArgs args{};
  args.conv = geometry_of(call.conv);
  const ConvGeometry& c = args.conv;
  args.w = call.conv.w;
  args.scales = call.w_scales;
  args.g = call.g;
  args.passes = call.passes;
  args.dx = view_of(call.dx);
  args.order = order_of(call.dx);
  args.chunks = direct_chunks(call.conv);
  args.slabs = (args.chunks + kMostChunks - 1) / kMostChunks;
  args.block_chunks = (args.chunks + args.slabs - 1) / args.slabs;
  const int row_items = (c.width + kPixels - 1) / kPixels;
  args.items = c.batch * c.height * row_items;
  args.row_items = golden::cuda::FastDivisor(row_items);
  args.height = golden::cuda::FastDivisor(c.height);
  args.stride_h = golden::cuda::FastDivisor(c.stride_h);
  args.stride_w = golden::cuda::FastDivisor(c.stride_w);
  const int block_items = kThreads / args.block_chunks;
  const int wanted = (args.items + block_items - 1) / block_items;
  const int blocks = std::min(wanted, std::max(kMostBlocks / args.slabs, 1));
  const std::size_t shared = static_cast<std::size_t>(args.block_chunks * kDirectChannels *
                                                      c.kernel_h * c.kernel_w * c.group_in) *
                             sizeof(float);
  golden::cuda::launch_kernel("launching direct_input_gradient", kernel_of(c),
                              std::int64_t{blocks} * args.slabs, kThreads, shared, stream, args);
}

}  // namespace qsim::golden::train::cuda
