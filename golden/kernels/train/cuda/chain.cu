// A chain's arithmetic beside its convolutions on a GPU: one small kernel each.
#include "golden/device/launch.cuh"
#include "golden/kernels/train/chain_arithmetic.h"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    spread_scales(const __grid_constant__ SpreadScales call) {
  golden::cuda::begin_kernel();
  const std::int64_t o = golden::cuda::grid_thread();
  if (o < call.count) call.to[o] = call.from[call.from_count == 1 ? 0 : o];
}

// One block, as all read the number of batches before it is moved.
__global__ void __launch_bounds__(kThreads)
    normalize_statistics(const __grid_constant__ NormalizeStatistics call) {
  golden::cuda::begin_kernel();
  const std::int64_t batches = *call.batches + 1;
  __syncthreads();
  if (threadIdx.x == 0 && call.sums != nullptr) *call.batches = batches;
  for (std::int64_t o = threadIdx.x; o < call.channels; o += kThreads) {
    normalize_channel(call, o, batches);
  }
}

// A block has a channel.
__global__ void __launch_bounds__(kThreads)
    fold_levels(const __grid_constant__ FoldLevels call, bool vectors) {
  golden::cuda::begin_kernel();
  __shared__ bool reads;
  const std::int64_t o = blockIdx.x;
  if (threadIdx.x == 0) reads = fold_channel(call, o);
  if (call.w_used == nullptr) return;
  __syncthreads();
  const std::int8_t* from = call.w + o * call.weights;
  std::int8_t* to = call.w_used + o * call.weights;
  if (vectors) {
    const std::int64_t count = call.weights / 16;
    for (std::int64_t i = threadIdx.x; i < count; i += kThreads) {
      reinterpret_cast<uint4*>(to)[i] =
          reads ? reinterpret_cast<const uint4*>(from)[i] : make_uint4(0, 0, 0, 0);
    }
  } else {
    for (std::int64_t i = threadIdx.x; i < call.weights; i += kThreads) {
      to[i] = reads ? from[i] : std::int8_t{0};
    }
  }
}

// One block.
__global__ void __launch_bounds__(kThreads) trial_scale(const __grid_constant__ TrialScale call) {
  golden::cuda::begin_kernel();
  __shared__ double units[kThreads];
  double most = 0;
  for (std::int64_t o = threadIdx.x; o < call.channels; o += kThreads) {
    most = greater(unit_of_channel(call, o), most);
  }
  units[threadIdx.x] = most;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kThreads; ++i) most = greater(units[i], most);
  *call.trial = trial_of_unit(most);
}

__global__ void measure_scale_of(const __grid_constant__ MeasureScale call) {
  golden::cuda::begin_kernel();
  if (threadIdx.x == 0) measure_scale(call);
}

__global__ void __launch_bounds__(kThreads) observe_rows(const __grid_constant__ ObserveRows call) {
  golden::cuda::begin_kernel();
  const std::int64_t row = golden::cuda::grid_thread();
  if (row < call.rows) observe_row(call, row);
}

__global__ void __launch_bounds__(kThreads)
    normalization_gradient(const __grid_constant__ NormalizationGradient call) {
  golden::cuda::begin_kernel();
  const std::int64_t o = golden::cuda::grid_thread();
  if (o < call.channels) differentiate_channel(call, o);
}

template <typename Kernel, typename... Args>
void launch(const char* what, Kernel kernel, std::int64_t blocks, void* stream,
            const Args&... args) {
  if (blocks == 0) return;
  golden::cuda::launch_kernel(what, kernel, blocks, kThreads, 0, static_cast<cudaStream_t>(stream),
                              args...);
}

std::int64_t blocks_of(std::int64_t items) { return (items + kThreads - 1) / kThreads; }

}  // namespace

void enqueue(const SpreadScales& call, void* /*workspace*/, void* stream) {
  launch("launching spread_scales", spread_scales, blocks_of(call.count), stream, call);
}

void enqueue(const NormalizeStatistics& call, void* /*workspace*/, void* stream) {
  launch("launching normalize_statistics", normalize_statistics, 1, stream, call);
}

void enqueue(const FoldLevels& call, void* /*workspace*/, void* stream) {
  const auto place =
      reinterpret_cast<std::uintptr_t>(call.w) | reinterpret_cast<std::uintptr_t>(call.w_used);
  const bool vectors = call.weights % 16 == 0 && place % 16 == 0;
  launch("launching fold_levels", fold_levels, call.channels, stream, call, vectors);
}

void enqueue(const TrialScale& call, void* /*workspace*/, void* stream) {
  launch("launching trial_scale", trial_scale, 1, stream, call);
}

void enqueue(const MeasureScale& call, void* /*workspace*/, void* stream) {
  launch("launching measure_scale", measure_scale_of, 1, stream, call);
}

void enqueue(const ObserveRows& call, void* /*workspace*/, void* stream) {
  launch("launching observe_rows", observe_rows, blocks_of(call.rows), stream, call);
}

void enqueue(const NormalizationGradient& call, void* /*workspace*/, void* stream) {
  launch("launching normalization_gradient", normalization_gradient, blocks_of(call.channels),
         stream, call);
}

}  // namespace qsim::golden::train::cuda
