// The small kernels between the passes over long groups.
#include "golden/kernels/convert/cuda/launches.h"
#include "golden/kernels/convert/cuda/long_groups.cuh"

namespace qsim::golden::cuda {
namespace {

__global__ void choose_bin(const __grid_constant__ QuantizeParams p, int level) {
  begin_kernel();
  Workspace& w = *p.workspace;
  std::uint64_t rank = w.rank;
  std::uint32_t bin = 0;
  if (level == 0) {
    const auto total = static_cast<std::int64_t>(total_of(w.counts[0]));
    rank = total == 0 ? 0 : static_cast<std::uint64_t>(percentile_rank(total, p.percentile));
  }
  pick_bin(w.counts[level], rank, bin);
  if (level == 0) {
    w.bin = bin;
    w.rank = rank;
  } else {
    clip_extents(w.extents(), w.bin << 7 | bin);
  }
}

// The largest of all extents, for a global scale.
__global__ void join_long_extents(const __grid_constant__ QuantizeParams p) {
  begin_kernel();
  std::uint32_t largest = 0;
  for (std::int64_t g = grid_thread(); g < p.groups; g += grid_threads()) {
    const std::uint32_t* extents = p.workspace->extents() + 2 * g;
    largest = max(largest, max(extents[0], extents[1]));
  }
  largest = __reduce_max_sync(0xFFFFFFFF, largest);
  if (threadIdx.x % 32 == 0) raise(&p.workspace->whole, largest);
}

__global__ void make_long_scales(const __grid_constant__ QuantizeParams p) {
  begin_kernel();
  ScaleRule rule = p.rule;
  if (rule.scales == ScaleFormat::kE4m3) {
    rule.set_global({static_cast<std::uint16_t>(p.workspace->whole), 0});
    if (grid_thread() == 0) *p.scales.global = rule.global;
  }
  for (std::int64_t g = grid_thread(); g < p.groups; g += grid_threads()) {
    const std::uint32_t* extents = p.workspace->extents() + 2 * g;
    store_scale(
        rule.of({static_cast<std::uint16_t>(extents[0]), static_cast<std::uint16_t>(extents[1])}),
        p.scales, g);
  }
}

}  // namespace

void launch_choose_bin(const QuantizeParams& p, int level, cudaStream_t stream) {
  launch_kernel("launching choose_bin", choose_bin, 1, 1, 0, stream, p, level);
}

void launch_long_scales(const QuantizeParams& p, cudaStream_t stream) {
  const std::int64_t blocks = std::max<std::int64_t>(1, grid_stride_blocks(p.groups, kLongThreads));
  if (p.rule.scales == ScaleFormat::kE4m3) {
    launch_kernel("launching join_long_extents", join_long_extents, blocks, kLongThreads, 0, stream,
                  p);
  }
  launch_kernel("launching make_long_scales", make_long_scales, blocks, kLongThreads, 0, stream, p);
}

}  // namespace qsim::golden::cuda
