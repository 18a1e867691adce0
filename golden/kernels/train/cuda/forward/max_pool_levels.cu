// Max pooling of levels: 16 channels a thread where they are aligned, else one.
#include <algorithm>
#include <limits>

#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/forward/reals.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

using namespace golden::cuda;

constexpr int kThreads = 256;

__device__ inline uint4 most_of(uint4 a, uint4 b) {
  return make_uint4(__vmaxs4(a.x, b.x), __vmaxs4(a.y, b.y), __vmaxs4(a.z, b.z), __vmaxs4(a.w, b.w));
}
__device__ inline std::int8_t most_of(std::int8_t a, std::int8_t b) { return a < b ? b : a; }

// T: 16 channels or one. Index: of outputs.
template <typename T, typename Index>
__global__ void __launch_bounds__(kThreads)
    max_pool(const __grid_constant__ MaxPool call, T least) {
  begin_kernel();
  const ImageShape& x = call.x_shape;
  const ImageShape& y = call.y_shape;
  const Window& w = call.window;
  const auto units = static_cast<Index>(x.channels / static_cast<std::int64_t>(sizeof(T)));
  const auto width = static_cast<Index>(y.width);
  const auto height = static_cast<Index>(y.height);
  const Index count = static_cast<Index>(y.batch) * height * width * units;
  for (auto i = static_cast<Index>(grid_thread()); i < count;
       i += static_cast<Index>(grid_threads())) {
    const Index pixel = i / units;
    const Index row = pixel / width;
    const T* picture = reinterpret_cast<const T*>(call.q) +
                       static_cast<std::int64_t>(row / height) * x.height * x.width * units +
                       i % units;
    const std::int64_t from_y = static_cast<std::int64_t>(row % height) * w.stride_h - w.pad_top;
    const std::int64_t from_x = static_cast<std::int64_t>(pixel % width) * w.stride_w - w.pad_left;
    T most = least;
    for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
      const std::int64_t at_y = from_y + ky * w.dilation_h;
      if (at_y < 0 || at_y >= x.height) continue;
      for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
        const std::int64_t at_x = from_x + kx * w.dilation_w;
        if (at_x < 0 || at_x >= x.width) continue;
        most = most_of(most, __ldg(picture + (at_y * x.width + at_x) * units));
      }
    }
    reinterpret_cast<T*>(call.y)[i] = most;
  }
}

template <typename T>
void launch(const MaxPool& call, T least, cudaStream_t stream) {
  const ImageShape& y = call.y_shape;
  const std::int64_t items =
      y.batch * y.height * y.width * y.channels / static_cast<std::int64_t>(sizeof(T));
  if (items == 0) return;
  // A count of 32 bits does not wrap where the stride over the grid is added.
  const bool narrow = items < (std::int64_t{1} << 31);
  launch_kernel("launching max_pool_levels",
                narrow ? max_pool<T, std::uint32_t> : max_pool<T, std::int64_t>,
                grid_stride_blocks(items, kThreads), kThreads, 0, stream, call, least);
}

}  // namespace

std::size_t workspace_bytes(const MaxPool&) { return 0; }

void enqueue(const MaxPool& call, void* /*workspace*/, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  if (call.x_shape.channels % 16 == 0 && is_aligned(call.q, 16) && is_aligned(call.y, 16)) {
    constexpr unsigned kLeast = 0x80808080U;
    launch(call, make_uint4(kLeast, kLeast, kLeast, kLeast), on);
  } else {
    launch(call, std::int8_t{-128}, on);
  }
}

}  // namespace qsim::golden::train::cuda
