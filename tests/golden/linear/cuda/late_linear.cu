#include <vector>

#include "core/base/checked_math.h"
#include "golden/device/device_buffer.h"
#include "golden/device/devices.h"
#include "golden/device/launch.cuh"
#include "golden/device/stream.h"
#include "golden/kernels/linear/cuda/device_weights.h"
#include "tests/golden/linear/cuda/late_linear.h"

namespace qsim::golden_test {

using namespace golden;
using golden::cuda::check;
using golden::cuda::DeviceBuffer;

namespace {

// What is there until late_copy() writes.
constexpr int kPoison = 0xA5;
constexpr int kBlocks = 64;
constexpr int kThreads = 256;
// About 50 us: the next kernel is enqueued and begins meanwhile.
constexpr std::int64_t kWaitCycles = 90'000;

struct Copy {
  const std::uint8_t* from;
  std::uint8_t* to;
  std::int64_t bytes;
};
struct Copies {
  Copy parts[5];
  int count;
};

void add(Copies& copies, const void* from, const void* to, std::int64_t bytes) {
  if (bytes == 0) return;
  copies.parts[copies.count++] = {static_cast<const std::uint8_t*>(from),
                                  static_cast<std::uint8_t*>(const_cast<void*>(to)), bytes};
}

__global__ void __launch_bounds__(kThreads) late_copy(const __grid_constant__ Copies copies) {
  cuda::begin_kernel();
  const std::int64_t begin = clock64();
  while (clock64() - begin < kWaitCycles) __nanosleep(1000);
  for (int i = 0; i < copies.count; ++i) {
    const Copy& copy = copies.parts[i];
    for (std::int64_t at = cuda::grid_thread(); at < copy.bytes; at += cuda::grid_threads()) {
      copy.to[at] = copy.from[at];
    }
  }
}

void write_late(const Copies& copies, const cuda::Stream& stream) {
  for (int i = 0; i < copies.count; ++i) {
    check(cudaMemsetAsync(copies.parts[i].to, kPoison,
                          static_cast<std::size_t>(copies.parts[i].bytes), stream.get()),
          "filling memory");
  }
  cuda::launch_kernel("launching late_copy", late_copy, kBlocks, kThreads, 0, stream.get(), copies);
}

FloatMatrix download(const DeviceBuffer& from, FloatType type, std::int64_t rows,
                     std::int64_t columns) {
  FloatMatrix y(type, rows, columns);
  check(cudaMemcpy(y.bytes.data(), from.as<void>(), y.bytes.size(), cudaMemcpyDeviceToHost),
        "copying from the device");
  return y;
}

}  // namespace

class LateLinear::Impl {
 public:
  Impl(const LinearWeights& weights, std::span<const float> bias, bool is_signed)
      : weights_(weights, bias, is_signed), source_(weights, bias, is_signed) {}

  cuda::DeviceWeights view(bool constant) const {
    cuda::DeviceWeights view = weights_.view();
    view.constant = constant;
    return view;
  }

  // Puts what writes the operands on the stream.
  void write(const DeviceBuffer& x, const DeviceBuffer& late_x, bool constant,
             const cuda::Stream& stream) const {
    Copies copies{};
    add(copies, x.as<void>(), late_x.as<void>(), static_cast<std::int64_t>(x.bytes()));
    if (!constant) add_weights(copies);
    check(cudaDeviceSynchronize(), "waiting for copies");
    write_late(copies, stream);
  }

 private:
  void add_weights(Copies& copies) const {
    const cuda::DeviceWeights from = source_.view();
    const cuda::DeviceWeights to = weights_.view();
    const std::int64_t groups = to.group_size == 0 ? 1 : ceil_div(to.in_features, to.group_size);
    const std::int64_t scales = to.out_features * groups;
    add(copies, from.values, to.values, to.out_features * to.row_bytes);
    add(copies, from.scales, to.scales, 4 * scales);
    if (to.zero_points != nullptr) add(copies, from.zero_points, to.zero_points, scales);
    if (to.bias != nullptr) add(copies, from.bias, to.bias, 4 * to.out_features);
  }

  cuda::OwnedWeights weights_, source_;
};

LateLinear::LateLinear(const LinearWeights& weights, std::span<const float> bias, bool is_signed) {
  use_device(0);
  impl_ = std::make_unique<Impl>(weights, bias, is_signed && weights.bits == 4);
}
LateLinear::~LateLinear() = default;

FloatMatrix LateLinear::run(const FloatMatrix& x, FloatType y_type, CudaLinearKernel kernel,
                            bool constant) const {
  const cuda::DeviceWeights weights = impl_->view(constant);
  const DeviceBuffer device_x = cuda::upload(x.bytes);
  const DeviceBuffer late_x = cuda::poisoned(x.bytes.size());
  const DeviceBuffer y = cuda::poisoned(static_cast<std::size_t>(x.rows * weights.out_features) *
                                        float_type_bytes(y_type));
  cuda::LinearCall call;
  call.x_type = x.type;
  call.x = late_x.as<void>();
  call.rows = x.rows;
  call.y_type = y_type;
  call.y = y.as<void>();
  call.kernel = static_cast<cuda::LinearKernel>(kernel);
  const cuda::Stream stream;
  impl_->write(device_x, late_x, constant, stream);
  cuda::enqueue_linear(weights, call, stream.get());
  stream.synchronize("running a linear layer");
  return download(y, y_type, x.rows, weights.out_features);
}

FloatMatrix LateLinear::run_int8(const FloatMatrix& x, const Int8Activations& activations,
                                 FloatType y_type, Int8LinearKernel kernel, bool constant) const {
  const cuda::DeviceWeights weights = impl_->view(constant);
  const DeviceBuffer device_x = cuda::upload(x.bytes);
  const DeviceBuffer late_x = cuda::poisoned(x.bytes.size());
  const DeviceBuffer y = cuda::poisoned(static_cast<std::size_t>(x.rows * weights.out_features) *
                                        float_type_bytes(y_type));
  const DeviceBuffer workspace = cuda::poisoned(
      static_cast<std::size_t>(cuda::int8_workspace_bytes(x.rows, weights.in_features)));
  cuda::Int8LinearCall call;
  call.x_type = x.type;
  call.x = late_x.as<void>();
  call.rows = x.rows;
  call.y_type = y_type;
  call.y = y.as<void>();
  call.activations = activations;
  call.workspace = workspace.as<void>();
  call.kernel = kernel;
  const cuda::Stream stream;
  impl_->write(device_x, late_x, constant, stream);
  cuda::enqueue_int8_linear(weights, call, stream.get());
  stream.synchronize("running a linear layer");
  return download(y, y_type, x.rows, weights.out_features);
}

}  // namespace qsim::golden_test
