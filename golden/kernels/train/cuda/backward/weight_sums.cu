#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/weight_sums.cuh"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kManyParts = 16;

template <int kCount>
struct alignas(4 * kCount) Vector {
  float values[kCount];

  __device__ void add(const Vector& other) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] += other.values[i];
  }
};

// A thread adds kVector elements of a slice of the parts; kSlices of them make a sum.
template <int kSlices, int kVector>
__global__ void __launch_bounds__(kThreads)
    weight_sums(const __grid_constant__ WeightOutput out, const __grid_constant__ ConvGeometry conv,
                int parts) {
  golden::cuda::begin_kernel();
  constexpr int kColumns = kThreads / kSlices;
  using Values = Vector<kVector>;
  __shared__ Values sums[kSlices > 1 ? kSlices : 1][kSlices > 1 ? kColumns : 1];
  const int depth = conv.kernel_h * conv.kernel_w * conv.group_in;
  const std::int64_t elems = std::int64_t{conv.out_channels} * depth;
  const int lane = static_cast<int>(threadIdx.x) % kColumns;
  const int slice = static_cast<int>(threadIdx.x) / kColumns;
  const std::int64_t elem = (std::int64_t{blockIdx.x} * kColumns + lane) * kVector;
  const int of_slice = (parts + kSlices - 1) / kSlices;
  const int end = min(parts, (slice + 1) * of_slice);
  Values sum{};
  if (elem < elems) {
#pragma unroll 8
    for (int part = slice * of_slice; part < end; ++part) {
      sum.add(*reinterpret_cast<const Values*>(out.sums + part * elems + elem));
    }
  }
  if constexpr (kSlices > 1) {
    sums[slice][lane] = sum;
    __syncthreads();
    if (slice != 0) return;
    for (int i = 1; i < kSlices; ++i) sum.add(sums[i][lane]);
  }
  if (elem >= elems) return;
  if constexpr (kVector == 4) {
    const std::uint32_t bits =
        out.passes == nullptr ? 0xF : __ldg(out.passes + elem / 8) >> (elem % 8);
    const float scale = *out.scale;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum.values[i] = (bits >> i & 1) != 0 ? sum.values[i] * scale : 0;
    *reinterpret_cast<Values*>(static_cast<float*>(out.dw.data) + elem) = sum;
  } else {
    const int row = static_cast<int>(elem / depth);
    store_weight(out, conv, row, static_cast<int>(elem - std::int64_t{row} * depth), sum.values[0]);
  }
}

}  // namespace

void enqueue_weight_sums(const WeightOutput& out, const ConvGeometry& conv, int parts,
                         cudaStream_t stream) {
  const std::int64_t elems =
      std::int64_t{conv.out_channels} * conv.kernel_h * conv.kernel_w * conv.group_in;
  const auto launch = [&](auto kernel, int of_block) {
    golden::cuda::launch_kernel("launching weight_sums", kernel, (elems + of_block - 1) / of_block,
                                kThreads, 0, stream, out, conv, parts);
  };
  const bool vectors =
      out.dense && elems % 4 == 0 && reinterpret_cast<std::uintptr_t>(out.dw.data) % 16 == 0;
  if (parts > kManyParts) {
    vectors ? launch(weight_sums<8, 4>, kThreads / 8 * 4) : launch(weight_sums<8, 1>, kThreads / 8);
  } else {
    vectors ? launch(weight_sums<1, 4>, kThreads * 4) : launch(weight_sums<1, 1>, kThreads);
  }
}

}  // namespace qsim::golden::train::cuda
