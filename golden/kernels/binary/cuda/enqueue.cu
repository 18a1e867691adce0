// What is enqueued: the layer by its plan, quantize and pack with the two quantizers, unpack.
#include <algorithm>

#include "golden/kernels/binary/cuda/binary_cuda.h"
#include "golden/kernels/binary/cuda/kernels/conv_kernels.h"
#include "golden/kernels/binary/cuda/kernels/pack_bits.cuh"

namespace qsim::golden {
namespace {

struct DeviceThresholds {
  float v[cuda::kMostListed];
  __device__ bool operator()(float x, int base) const { return __fadd_rn(x, v[base]) > 0.5F; }
};

struct DeviceSign {
  __device__ bool operator()(float x, int /*base*/) const { return x >= 0.0F; }
};

__global__ void unpack_bits(const std::uint64_t* bits, std::int64_t elements, std::int32_t channels,
                            std::int32_t words, std::int32_t bases, std::int32_t base, float* x) {
  cuda::begin_kernel();
  for (std::int64_t i = cuda::grid_thread(); i < elements; i += cuda::grid_threads()) {
    const std::int64_t pixel = i / channels;
    const auto c = static_cast<std::int32_t>(i - pixel * channels);
    const std::uint64_t word = bits[(pixel * bases + base) * words + c / 64];
    x[i] = (word >> (c % 64) & 1) != 0 ? 1.0F : -1.0F;
  }
}

std::int64_t pixels_of(const ImageShape& shape) { return shape.batch * shape.height * shape.width; }

int attribute(cudaDeviceAttr wanted) {
  int device = 0;
  int value = 0;
  cuda::check(cudaGetDevice(&device), "asking for the device");
  cuda::check(cudaDeviceGetAttribute(&value, wanted, device), "asking for an attribute");
  return value;
}

}  // namespace

bool has_wgmma() {
  int device = 0;
  int major = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) {
    cudaGetLastError();  // is not the next call's
    return false;
  }
  return major == 9;
}

int multiprocessors() {
  int device = 0;
  int count = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    cudaGetLastError();  // is not the next call's
    return 132;
  }
  return count;
}

void enqueue_binary_conv(const BinaryCudaPlan& plan, const void* packed, const void* bits,
                         void* output, void* stream, bool constant_weights) {
  require_addresses(plan, packed, bits, output);
  cuda::BinaryConvArgs args = plan.args;
  args.packed = static_cast<const std::uint8_t*>(packed);
  args.input = static_cast<const std::uint8_t*>(bits);
  args.output = output;
  args.constant = constant_weights ? 1 : 0;
  cuda::launch_conv(plan.tile, args, plan.shared_bytes, attribute(cudaDevAttrMultiProcessorCount),
                    static_cast<cudaStream_t>(stream));
}

void enqueue_binary_pack(const float* x, const ImageShape& shape, std::span<const float> v,
                         std::uint64_t* bits, void* stream) {
  require_bits(shape, static_cast<int>(v.size()));
  DeviceThresholds thresholds{};
  std::copy(v.begin(), v.end(), thresholds.v);
  cuda::launch_pack(x, pixels_of(shape), device_channels(shape),
                    static_cast<std::int32_t>(v.size()), thresholds, bits,
                    static_cast<cudaStream_t>(stream));
}

void enqueue_binary_pack_signs(const float* x, const ImageShape& shape, std::uint64_t* bits,
                               void* stream) {
  require_bits(shape, 1);
  cuda::launch_pack(x, pixels_of(shape), device_channels(shape), 1, DeviceSign{}, bits,
                    static_cast<cudaStream_t>(stream));
}

void enqueue_binary_unpack(const std::uint64_t* bits, const ImageShape& shape, int bases, int base,
                           float* x, void* stream) {
  require_bits(shape, bases);
  QSIM_CHECK(base >= 0 && base < bases, "no such base");
  constexpr int kThreads = 256;
  const std::int64_t elements = pixels_of(shape) * shape.channels;
  cuda::launch_kernel("launching unpack", unpack_bits, cuda::grid_stride_blocks(elements, kThreads),
                      kThreads, 0, static_cast<cudaStream_t>(stream), bits, elements,
                      device_channels(shape), static_cast<std::int32_t>(bit_words(shape.channels)),
                      static_cast<std::int32_t>(bases), static_cast<std::int32_t>(base), x);
}

}  // namespace qsim::golden
