// What the checks of gradients have in common: buffers on the device, runs, bounds.
#pragma once

#include <string>

#include "golden/device/stream.h"
#include "golden/kernels/train/cuda/train_cuda.h"
#include "tests/golden/train/cuda/gradient_report.h"
#include "tests/golden/train/cuda/random_conv.h"
#include "tests/golden/train/cuda/random_tensors.h"

namespace qsim::golden_test {

namespace cuda = golden::cuda;
namespace train = golden::train;
using cuda::DeviceBuffer;
using train::RealTensor;
using train::RealType;

// Never empty, so that its address is one.
template <typename T>
DeviceBuffer on_device(std::vector<T> values) {
  if (values.empty()) values.resize(16);
  return cuda::upload(values);
}
inline const std::uint8_t* bits_or_null(const DeviceBuffer& buffer,
                                        const std::vector<std::uint8_t>& bits) {
  return bits.empty() ? nullptr : buffer.as();
}

template <typename Call>
void run(const Call& call) {
  const cuda::Stream stream;
  const DeviceBuffer workspace = cuda::poisoned(train::cuda::workspace_bytes(call) + 256);
  train::cuda::enqueue(call, workspace.as<void>(), stream.get());
  stream.synchronize("a gradient");
}

inline RealType random_type(Random& random) { return static_cast<RealType>(random.uniform(0, 2)); }

// The relative rounding of a type's numbers.
inline double rounding_of(RealType type) {
  if (type == RealType::kFloat32) return 0;
  return type == RealType::kFloat16 ? 0x1p-11 : 0x1p-8;
}

// The bound of a sum in float32 of exact products, in any order.
inline double bound_of(const ExactSum& exact) {
  return (static_cast<double>(exact.terms) + 2) * 0x1p-24 * exact.magnitude;
}

// The greatest share of its bound that an element's error takes. `found` has rounding_of(type).
template <typename Passes>
double share_of(const std::vector<ExactSum>& exact, const std::vector<float>& found, double scale,
                RealType type, const Passes& passes) {
  double greatest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const bool passing = passes_of(passes, static_cast<std::int64_t>(i));
    const double expected = passing ? exact[i].sum * scale : 0;
    double bound = passing ? bound_of(exact[i]) * scale : 0;
    bound += rounding_of(type) * (std::abs(expected) + bound);
    if (type == RealType::kFloat16) bound += 0x1p-25;
    const double error = std::abs(static_cast<double>(found[i]) - expected);
    if (error == 0) continue;
    const double share = bound == 0 ? 1e9 : error / bound;
    if (!(share <= greatest)) greatest = share;
  }
  return greatest;
}

inline std::vector<float> values_of(StridedTensor& tensor, std::vector<std::uint8_t> memory) {
  tensor.set_memory(std::move(memory));
  const RealTensor host = tensor.on_host();
  std::vector<float> values(static_cast<std::size_t>(host.elems()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto left = static_cast<std::int64_t>(i);
    std::int64_t at = 0;
    for (std::size_t axis = 4; axis-- > 0;) {
      at += left % host.shape[axis] * host.strides[axis];
      left /= host.shape[axis];
    }
    if (host.type == RealType::kFloat32) {
      values[i] = static_cast<const float*>(host.data)[at];
    } else {
      const auto code = static_cast<const std::uint16_t*>(host.data)[at];
      values[i] =
          host.type == RealType::kFloat16 ? golden::float_from_half(code) : float_of_bfloat16(code);
    }
  }
  return values;
}

inline std::string text_of(const RealTensor& x) {
  static const char* const kNames[] = {"float32", "float16", "bfloat16"};
  std::string text = kNames[static_cast<int>(x.type)];
  for (std::size_t i = 0; i < 4; ++i) {
    text += (i == 0 ? " [" : " ") + std::to_string(x.shape[i]) + ":" + std::to_string(x.strides[i]);
  }
  return text + "]";
}

// `passes`, with another bit where `plant` says so.
inline std::vector<std::uint8_t> planted(const std::string& plant,
                                         std::vector<std::uint8_t> passes) {
  if (plant == "passes" && !passes.empty()) passes[passes.size() / 2] ^= 0x01;
  return passes;
}

// A random convolution's gradients, compared with float64; each runs twice.
void check_conv_gradients(Random& random, std::uint64_t seed, const std::string& plant,
                          GradientReport& report);

}  // namespace qsim::golden_test
