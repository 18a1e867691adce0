#include "golden/device/launch.cuh"
#include "golden/train/cuda/backward/weight_sums.cuh"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kColumns = 32;
constexpr int kSlices = 8;  // of the parts

__global__ void __launch_bounds__(kColumns* kSlices)
    weight_sums(const __grid_constant__ WeightOutput out, const __grid_constant__ ConvGeometry conv,
                int parts) {
  golden::cuda::begin_kernel();
  __shared__ float sums[kSlices][kColumns];
  const int depth = conv.kernel_h * conv.kernel_w * conv.group_in;
  const std::int64_t elems = std::int64_t{conv.out_channels} * depth;
  const int lane = static_cast<int>(threadIdx.x) % kColumns;
  const int slice = static_cast<int>(threadIdx.x) / kColumns;
  const std::int64_t elem = std::int64_t{blockIdx.x} * kColumns + lane;
  const int of_slice = (parts + kSlices - 1) / kSlices;
  const int end = min(parts, (slice + 1) * of_slice);
  float sum = 0;
  if (elem < elems) {
#pragma unroll 8
    for (int part = slice * of_slice; part < end; ++part) sum += out.sums[part * elems + elem];
  }
  sums[slice][lane] = sum;
  __syncthreads();
  if (slice != 0 || elem >= elems) return;
  for (int i = 1; i < kSlices; ++i) sum += sums[i][lane];
  const int row = static_cast<int>(elem / depth);
  store_weight(out, conv, row, static_cast<int>(elem - std::int64_t{row} * depth), sum);
}

}  // namespace

void enqueue_weight_sums(const WeightOutput& out, const ConvGeometry& conv, int parts,
                         cudaStream_t stream) {
  const std::int64_t elems =
      std::int64_t{conv.out_channels} * conv.kernel_h * conv.kernel_w * conv.group_in;
  golden::cuda::launch_kernel("launching weight_sums", weight_sums,
                              (elems + kColumns - 1) / kColumns, kColumns * kSlices, 0, stream, out,
                              conv, parts);
}

}  // namespace qsim::golden::train::cuda
