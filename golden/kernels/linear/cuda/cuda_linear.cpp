#include "golden/kernels/linear/cuda/cuda_linear.h"

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "golden/device/cold_timer.h"
#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/device/devices.h"
#include "golden/kernels/linear/cuda/device_weights.h"
#include "golden/kernels/linear/cuda/linear_launch.h"
#include "golden/kernels/linear/cuda/row_plan.h"

namespace qsim::golden {

class CudaLinear::Impl {
 public:
  Impl(const LinearWeights& weights, std::span<const float> bias, int device, bool is_signed)
      : device_(use_device(device)), weights_(weights, bias, is_signed && weights.bits == 4) {}

  FloatMatrix run(const FloatMatrix& x, FloatType y_type, CudaLinearKernel kernel) const {
    cuda::check(cudaSetDevice(device_.index), "choosing the device");
    check_input(x);
    const cuda::DeviceBuffer device_x = cuda::upload(x.bytes);
    FloatMatrix y(y_type, x.rows, weights_.view().out_features);
    const cuda::DeviceBuffer device_y = cuda::poisoned(y.bytes.size());
    cuda::LinearCall call;
    call.x_type = x.type;
    call.x = device_x.as<void>();
    call.rows = x.rows;
    call.y_type = y_type;
    call.y = device_y.as<void>();
    call.kernel = static_cast<cuda::LinearKernel>(kernel);
    const cuda::Stream stream;
    cuda::check(cudaDeviceSynchronize(), "waiting for copies");
    cuda::enqueue_linear(weights_.view(), call, stream.get());
    stream.synchronize("running a linear layer");
    cuda::check(
        cudaMemcpy(y.bytes.data(), device_y.as<void>(), y.bytes.size(), cudaMemcpyDeviceToHost),
        "copying from the device");
    return y;
  }

  bool has(CudaLinearKernel kernel) const {
    cuda::check(cudaSetDevice(device_.index), "choosing the device");
    cuda::LinearCall call;
    call.rows = 1;
    call.kernel = static_cast<cuda::LinearKernel>(kernel);
    return cuda::can_run(weights_.view(), call);
  }

 private:
  void check_input(const FloatMatrix& x) const { check_rows(x, weights_.view().in_features); }

  const CudaDevice& device_;
  cuda::OwnedWeights weights_;
};

CudaLinear::CudaLinear(const LinearWeights& weights, std::span<const float> bias, int device,
                       bool is_signed) {
  check_weights(weights);
  check_bias(weights, bias);
  impl_ = std::make_unique<Impl>(weights, bias, device, is_signed);
}

CudaLinear::~CudaLinear() = default;

FloatMatrix CudaLinear::run(const FloatMatrix& x, FloatType y_type, CudaLinearKernel kernel) const {
  return impl_->run(x, y_type, kernel);
}

bool CudaLinear::has(CudaLinearKernel kernel) const { return impl_->has(kernel); }

std::vector<double> time_linear(const LinearTimingCase& one, int device) {
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
  cuda::check(cudaDeviceSynchronize(), "making random values");
  const cuda::Stream stream;
  cuda::ColdTiming timing;
  timing.runs = one.runs;
  const auto enqueue = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    cuda::DeviceWeights view = weights[at].view();
    view.constant = one.constant;
    cuda::LinearCall call;
    call.x_type = one.type;
    call.y_type = one.y_type;
    call.x = xs[at].as<void>();
    call.y = ys[at].as<void>();
    call.rows = one.rows;
    call.kernel = static_cast<cuda::LinearKernel>(one.kernel);
    call.stages = one.stages;
    cuda::enqueue_linear(view, call, stream.get());
  };
  return cuda::time_cold(stream, rotations, enqueue, timing);
}

}  // namespace qsim::golden
