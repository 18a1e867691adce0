#include "golden/kernels/linear/cuda/cuda_int8_linear.h"

#include "golden/device/cold_timer.h"
#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/device/devices.h"
#include "golden/kernels/linear/cuda/device_weights.h"

namespace qsim::golden {
namespace {

std::size_t workspace_bytes(std::int64_t rows, const cuda::DeviceWeights& weights) {
  return static_cast<std::size_t>(cuda::int8_workspace_bytes(rows, weights.in_features));
}

}  // namespace

class CudaInt8Linear::Impl {
 public:
  Impl(const LinearWeights& weights, std::span<const float> bias, int device)
      : device_(use_device(device)), weights_(weights, bias, false) {}

  FloatMatrix run(const FloatMatrix& x, const Int8Activations& activations, FloatType y_type,
                  Int8LinearKernel kernel) const {
    cuda::check(cudaSetDevice(device_.index), "choosing the device");
    const cuda::DeviceBuffer device_x = cuda::upload(x.bytes);
    FloatMatrix y(y_type, x.rows, weights_.view().out_features);
    const cuda::DeviceBuffer device_y = cuda::poisoned(y.bytes.size());
    const cuda::DeviceBuffer workspace = cuda::poisoned(workspace_bytes(x.rows, weights_.view()));
    cuda::Int8LinearCall call;
    call.x_type = x.type;
    call.x = device_x.as<void>();
    call.rows = x.rows;
    call.y_type = y_type;
    call.y = device_y.as<void>();
    call.activations = activations;
    call.workspace = workspace.as<void>();
    call.kernel = kernel;
    const cuda::Stream stream;
    cuda::check(cudaDeviceSynchronize(), "waiting for copies");
    cuda::enqueue_int8_linear(weights_.view(), call, stream.get());
    stream.synchronize("running a linear layer");
    cuda::check(
        cudaMemcpy(y.bytes.data(), device_y.as<void>(), y.bytes.size(), cudaMemcpyDeviceToHost),
        "copying from the device");
    return y;
  }

  bool has(Int8LinearKernel kernel) const {
    cuda::check(cudaSetDevice(device_.index), "choosing the device");
    return cuda::has_int8_kernel(weights_.view(), kernel);
  }
  std::int64_t in_features() const { return weights_.view().in_features; }

 private:
  const CudaDevice& device_;
  cuda::OwnedWeights weights_;
};

CudaInt8Linear::CudaInt8Linear(const LinearWeights& weights, std::span<const float> bias,
                               int device) {
  check_weights(weights);
  check_bias(weights, bias);
  check_int8_activations(weights.group_size, weights.bits, {});
  impl_ = std::make_unique<Impl>(weights, bias, device);
}

CudaInt8Linear::~CudaInt8Linear() = default;

FloatMatrix CudaInt8Linear::run(const FloatMatrix& x, const Int8Activations& activations,
                                FloatType y_type, Int8LinearKernel kernel) const {
  check_rows(x, impl_->in_features());
  check_int8_activations(0, 8, activations);
  return impl_->run(x, activations, y_type, kernel);
}

bool CudaInt8Linear::has(Int8LinearKernel kernel) const { return impl_->has(kernel); }

bool has_int8_kernel(const LinearTimingCase& one, Int8LinearKernel kernel, int device) {
  use_device(device);
  return cuda::has_int8_kernel(cuda::OwnedWeights(one).view(), kernel);
}

std::vector<double> time_int8_linear(const LinearTimingCase& one, Int8LinearKernel kernel,
                                     int device) {
  use_device(device);
  const int rotations = cuda::cold_rotations(static_cast<std::size_t>(linear_bytes(one)));
  std::vector<cuda::OwnedWeights> weights;
  std::vector<cuda::DeviceBuffer> xs;
  std::vector<cuda::DeviceBuffer> ys;
  const auto y_size = static_cast<std::int64_t>(float_type_bytes(one.y_type));
  for (int i = 0; i < rotations; ++i) {
    weights.push_back(cuda::random_device_weights(one, static_cast<std::uint32_t>(i)));
    xs.push_back(cuda::random_device_floats(one.type, one.rows * one.in_features,
                                            static_cast<std::uint32_t>(i)));
    ys.push_back(cuda::poisoned(static_cast<std::size_t>(one.rows * one.out_features * y_size)));
  }
  const cuda::DeviceBuffer workspace =
      cuda::poisoned(workspace_bytes(one.rows, weights.front().view()));
  cuda::check(cudaDeviceSynchronize(), "making random values");
  const cuda::Stream stream;
  cuda::ColdTiming timing;
  timing.runs = one.runs;
  const auto enqueue = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    cuda::DeviceWeights view = weights[at].view();
    view.constant = one.constant;
    cuda::Int8LinearCall call;
    call.x_type = one.type;
    call.y_type = one.y_type;
    call.x = xs[at].as<void>();
    call.y = ys[at].as<void>();
    call.rows = one.rows;
    call.workspace = workspace.as<void>();
    call.kernel = kernel;
    cuda::enqueue_int8_linear(view, call, stream.get());
  };
  return cuda::time_cold(stream, rotations, enqueue, timing);
}

}  // namespace qsim::golden
