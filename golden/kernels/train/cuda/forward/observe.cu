// Observers: the range of a tensor, by blocks, and what follows from it, by one block. The least
// and the most of numbers do not depend on the order.
#include <algorithm>

#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/forward/reals.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"
#include "golden/kernels/train/level_arithmetic.h"

namespace qsim::golden::train::cuda {
namespace {

using namespace golden::cuda;

constexpr int kThreads = 256;
constexpr int kMostBlocks = 132 * 8;  // all that are resident on an H200
constexpr int kVectors = 4;           // loads of a thread under way

struct Range {
  float least = INFINITY;
  float most = -INFINITY;

  __device__ void include(float value) {
    if (!(fabsf(value) < INFINITY)) return;
    least = fminf(least, value);
    most = fmaxf(most, value);
  }
  __device__ void include(const Range& other) {
    least = fminf(least, other.least);
    most = fmaxf(most, other.most);
  }
};

// Joins the ranges of all threads of the block; only its first thread gets the result.
__device__ Range block_range(Range range) {
  __shared__ Range warps[kThreads / 32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    Range other;
    other.least = __shfl_xor_sync(0xFFFFFFFFU, range.least, step);
    other.most = __shfl_xor_sync(0xFFFFFFFFU, range.most, step);
    range.include(other);
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = range;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < kThreads / 32; ++i) range.include(warps[i]);
  }
  return range;
}

// Elements that lie in memory without gaps, in any order, from an aligned address on.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    observe_gapless(const T* x, std::int64_t elems, Range* ranges) {
  begin_kernel();
  using Vector = RealVector<T>;
  const std::int64_t vectors = elems / Vector::kCount;
  Range range;
  std::int64_t i = grid_thread();
  for (; i + (kVectors - 1) * grid_threads() < vectors; i += kVectors * grid_threads()) {
    Vector loaded[kVectors];
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      loaded[k] = load_vector<T>(x + (i + k * grid_threads()) * Vector::kCount);
    }
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
#pragma unroll
      for (int e = 0; e < Vector::kCount; ++e) range.include(real_of(loaded[k].values[e]));
    }
  }
  for (; i < vectors; i += grid_threads()) {
    const Vector loaded = load_vector<T>(x + i * Vector::kCount);
#pragma unroll
    for (int e = 0; e < Vector::kCount; ++e) range.include(real_of(loaded.values[e]));
  }
  const std::int64_t rest = vectors * Vector::kCount + grid_thread();
  if (rest < elems) range.include(real_of(x[rest]));
  range = block_range(range);
  if (threadIdx.x == 0) ranges[blockIdx.x] = range;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    observe_strided(const __grid_constant__ RealTensor x, Range* ranges) {
  begin_kernel();
  Range range;
  for (std::int64_t i = grid_thread(); i < elems_of(x); i += grid_threads()) {
    range.include(real_of(static_cast<const T*>(x.data)[RealPlace(x, i).offset(x)]));
  }
  range = block_range(range);
  if (threadIdx.x == 0) ranges[blockIdx.x] = range;
}

__device__ void remember(const Observe& call, const Range& range) {
  float* state = call.state;
  const bool first = state[2] == 0;
  state[2] = state[2] + 1;
  const float least = range.least + 0.0F;  // a zero is +0
  const float most = range.most + 0.0F;
  if (first || call.observer == Observer::kLast) {
    state[0] = least;
    state[1] = most;
  } else if (call.observer == Observer::kAll) {
    state[0] = fminf(state[0], least);
    state[1] = fmaxf(state[1], most);
  } else {
    state[0] = state[0] + call.momentum * (least - state[0]);
    state[1] = state[1] + call.momentum * (most - state[1]);
  }
}

__device__ void write_scale(const Observe& call) {
  const Levels& levels = call.levels;
  if (levels.scale_kind == ScaleKind::kGiven) return;
  if (levels.scale_kind == ScaleKind::kAffine) {
    const AffineScale made = affine_scale(call.state[0], call.state[1], levels.lo, levels.hi);
    *call.scale = made.scale;
    *call.zero_point = made.zero_point;
    return;
  }
  const float most = fmaxf(fabsf(call.state[0]), fabsf(call.state[1]));
  *call.scale = symmetric_scale(most, levels.hi, levels.scale_kind == ScaleKind::kPowerOfTwo);
  if (call.zero_point != nullptr) *call.zero_point = 0;
}

__global__ void __launch_bounds__(kThreads)
    finish_observing(const __grid_constant__ Observe call, const Range* ranges, int count) {
  begin_kernel();
  Range range;
  for (int i = threadIdx.x; i < count; i += kThreads) range.include(ranges[i]);
  range = block_range(range);
  if (threadIdx.x != 0) return;
  if (range.least <= range.most) remember(call, range);
  write_scale(call);
  if (call.scale_copy != nullptr) *call.scale_copy = *call.scale;
  if (call.zero_point_copy != nullptr) *call.zero_point_copy = *call.zero_point;
}

int blocks_of(std::int64_t items) {
  return static_cast<int>(
      std::clamp<std::int64_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks));
}

}  // namespace

std::size_t workspace_bytes(const Observe&) { return kMostBlocks * sizeof(Range); }

void enqueue(const Observe& call, void* workspace, void* stream) {
  auto* ranges = static_cast<Range*>(workspace);
  auto* const on = static_cast<cudaStream_t>(stream);
  const RealTensor& x = call.x;
  int blocks = 0;
  if (x.data != nullptr && x.elems() > 0) {
    with_real(x.type, [&](auto real) {
      using T = decltype(real);
      if (is_gapless(x) && is_aligned(x.data, 16)) {
        blocks = blocks_of(x.elems() / RealVector<T>::kCount);
        launch_kernel("launching observe", observe_gapless<T>, blocks, kThreads, 0, on,
                      static_cast<const T*>(x.data), x.elems(), ranges);
      } else {
        blocks = blocks_of(x.elems());
        launch_kernel("launching observe", observe_strided<T>, blocks, kThreads, 0, on, x, ranges);
      }
    });
  }
  launch_kernel("launching observe", finish_observing, 1, kThreads, 0, on, call,
                static_cast<const Range*>(ranges), blocks);
}

}  // namespace qsim::golden::train::cuda
