// Which bits of a zero_point's byte count on a GPU. Skips without one.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/device/devices.h"
#include "golden/device/stream.h"
#include "golden/kernels/linear/cuda/linear_launch.h"

namespace qsim::golden::cuda {
namespace {

constexpr std::int64_t kChannels = 20;
constexpr std::int64_t kFeatures = 256;

// FP32 y of x = 1, 2, ... with weights 0..15 in groups of 64, by one kernel.
std::vector<float> run(const std::vector<std::uint8_t>& zero_points, bool is_signed,
                       LinearKernel kernel, std::int64_t rows) {
  std::vector<std::uint8_t> values(kChannels * kFeatures / 2);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 37);
  const std::vector<float> scales(kChannels * kFeatures / 64, 0.5F);
  std::vector<float> x(static_cast<std::size_t>(rows * kFeatures));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  const DeviceBuffer device_values = upload(values);
  const DeviceBuffer device_scales = upload(scales);
  const DeviceBuffer device_zero_points = upload(zero_points);
  const DeviceBuffer device_x = upload(x);
  std::vector<float> y(static_cast<std::size_t>(rows * kChannels));
  const DeviceBuffer device_y = poisoned(y.size() * sizeof(float));
  DeviceWeights weights;
  weights.out_features = kChannels;
  weights.in_features = kFeatures;
  weights.group_size = 64;
  weights.bits = 4;
  weights.values = device_values.as<void>();
  weights.row_bytes = weights.readable_bytes = kFeatures / 2;
  weights.scales = device_scales.as<float>();
  weights.zero_points = device_zero_points.as<void>();
  weights.is_signed = is_signed;
  const LinearCall call{FloatType::kFloat32,
                        device_x.as<void>(),
                        rows,
                        FloatType::kFloat32,
                        device_y.as<void>(),
                        kernel,
                        0};
  const Stream stream;
  check(cudaDeviceSynchronize(), "waiting for copies");
  enqueue_linear(weights, call, stream.get());
  stream.synchronize("running a linear layer");
  check(cudaMemcpy(y.data(), device_y.as<void>(), y.size() * sizeof(float), cudaMemcpyDeviceToHost),
        "copying from the device");
  return y;
}

TEST(ZeroPoints, CountWithTheirLowFourBitsInEachKernel) {
  if (!cuda_status().usable()) GTEST_SKIP() << "no GPU";
  std::vector<std::uint8_t> within(kChannels * kFeatures / 64);
  std::vector<std::uint8_t> beyond(within.size());
  for (std::size_t i = 0; i < within.size(); ++i) {
    within[i] = static_cast<std::uint8_t>(i * 7 % 16);
    beyond[i] = static_cast<std::uint8_t>(within[i] + 16 * (i % 16));
  }
  for (const bool is_signed : {false, true}) {
    const std::vector<float> expected = run(within, is_signed, LinearKernel::kPlain, 3);
    for (const LinearKernel kernel :
         {LinearKernel::kRows, LinearKernel::kBatch, LinearKernel::kPlain}) {
      EXPECT_EQ(run(within, is_signed, kernel, 3), expected);
      EXPECT_EQ(run(beyond, is_signed, kernel, 3), expected);
    }
  }
}

}  // namespace
}  // namespace qsim::golden::cuda
