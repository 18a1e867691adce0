#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>

#include <cuda_runtime.h>

#include "golden/common/float_formats.h"
#include "golden/device/cuda_error.h"
#include "golden/train/cuda/train_cuda.h"
#include "golden/train/train.h"
#include "tests/golden/train/cuda/forward_check_commands.h"
#include "tests/golden/train/cuda/random_calls.h"

namespace qsim::golden_test {
namespace {

namespace train = golden::train;
using namespace golden::train;

// Runs a call on both sides. make(on_device): the call.
template <typename Make>
void run_both(CallBuffers& buffers, const Make& make) {
  buffers.upload();
  const auto on_gpu = make(true);
  const golden::cuda::DeviceBuffer workspace =
      golden::cuda::poisoned(std::max<std::size_t>(cuda::workspace_bytes(on_gpu), 1));
  cuda::enqueue(on_gpu, workspace.as<void>(), nullptr);
  golden::cuda::check(cudaDeviceSynchronize(), "running a call");
  golden::ThreadTeam team(8);
  compute(make(false), team);
}

std::array<std::int64_t, 4> random_shape(Random& random) {
  if (random.chance(0.3)) {
    return {random.uniform(1, 3), random.uniform(1, 20), random.uniform(1, 9) * 4,
            random.uniform(1, 9) * 16};
  }
  if (random.chance(0.04)) return {2, 0, 3, 4};
  return {random.uniform(1, 4), random.uniform(1, 12), random.uniform(1, 17),
          random.uniform(1, 70)};
}

Numbers random_numbers(Random& random) { return static_cast<Numbers>(random.uniform(0, 2)); }

std::optional<std::size_t> maybe_output(Random& random, CallBuffers& buffers, double chance,
                                        std::int64_t bytes) {
  if (!random.chance(chance)) return std::nullopt;
  return buffers.add_output(bytes, random_shift(random));
}

std::string observe_case(Random& random, CallBuffers& buffers) {
  const RandomReal x = random_real(random, buffers, random_shape(random), random_numbers(random));
  const bool sees = random.chance(0.9);
  const bool seen = random.chance(0.7);
  const std::size_t state =
      buffers.add(seen ? std::vector<float>{-1.5F, 2.25F, 3} : std::vector<float>{0, 0, 0});
  const std::size_t scale = buffers.add(std::vector<float>{0.75F});
  const std::size_t zero_point = buffers.add(std::vector<std::int32_t>{99});
  Observe call;
  call.levels = random_levels(random, true);
  call.observer = static_cast<Observer>(random.uniform(0, 2));
  call.momentum = 0.1F;
  const bool has_zero_point = call.levels.scale_kind == ScaleKind::kAffine || random.chance(0.5);
  run_both(buffers, [&](bool on_device) {
    if (sees) call.x = tensor_at(x, buffers, on_device);
    call.state = buffers.at<float>(state, on_device);
    call.scale = buffers.at<float>(scale, on_device);
    call.zero_point = has_zero_point ? buffers.at<std::int32_t>(zero_point, on_device) : nullptr;
    return call;
  });
  return buffers.first_difference();
}

std::string quantize_levels_case(Random& random, CallBuffers& buffers) {
  const RandomReal x = random_real(random, buffers, random_shape(random), random_numbers(random));
  const std::int64_t elems = x.tensor.elems();
  const std::size_t scale = buffers.add(std::vector<float>{random_scale(random)});
  const std::size_t zero_point =
      buffers.add(std::vector<std::int32_t>{static_cast<std::int32_t>(random.uniform(-128, 127))});
  const bool has_zero_point = random.chance(0.4);
  const std::size_t q = buffers.add_output(elems, random_shift(random));
  const auto passes = maybe_output(random, buffers, 0.7, bit_bytes(elems));
  const auto residual = maybe_output(random, buffers, 0.4, elems);
  QuantizeLevels call;
  call.levels = random_levels(random, true);
  run_both(buffers, [&](bool on_device) {
    call.x = tensor_at(x, buffers, on_device);
    call.scale = buffers.at<float>(scale, on_device);
    call.zero_point = has_zero_point ? buffers.at<std::int32_t>(zero_point, on_device) : nullptr;
    call.q = buffers.at<std::int8_t>(q, on_device);
    call.passes = buffers.at<std::uint8_t>(passes, on_device);
    call.residual = buffers.at<std::int8_t>(residual, on_device);
    return call;
  });
  return buffers.first_difference();
}

std::string quantize_weights_case(Random& random, CallBuffers& buffers) {
  const RandomReal w = random_real(random, buffers, random_shape(random), random_numbers(random));
  const std::int64_t elems = w.tensor.elems();
  std::vector<float> given;
  for (std::int64_t i = 0; i < w.tensor.shape[0]; ++i) given.push_back(random_scale(random));
  const std::size_t scales = buffers.add(given);
  const std::size_t q = buffers.add_output(elems, random_shift(random));
  const auto passes = maybe_output(random, buffers, 0.7, bit_bytes(elems));
  const auto residual = maybe_output(random, buffers, 0.4, elems);
  QuantizeWeights call;
  call.levels = random_levels(random, false);
  run_both(buffers, [&](bool on_device) {
    call.w = tensor_at(w, buffers, on_device);
    call.scales = buffers.at<float>(scales, on_device);
    call.q = buffers.at<std::int8_t>(q, on_device);
    call.passes = buffers.at<std::uint8_t>(passes, on_device);
    call.residual = buffers.at<std::int8_t>(residual, on_device);
    return call;
  });
  return buffers.first_difference();
}

std::vector<float> random_floats(Random& random, std::int64_t count, double scale) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(static_cast<double>(random.uniform(-1000, 1000)) * scale));
  }
  return values;
}

std::string described(const std::string& difference, const LevelConv& conv) {
  return difference.empty() ? "" : difference + "; " + text_of(conv);
}

std::string conv_real_case(Random& random, CallBuffers& buffers) {
  const RandomConv conv = random_conv(random, buffers);
  const ImageShape& shape = conv.conv.y_shape;
  const std::int64_t outs = shape.channels;
  const std::size_t scale = buffers.add(std::vector<float>{0.0123F});
  const std::size_t w_scales = buffers.add(random_floats(random, outs, 1e-5));
  const std::size_t bias = buffers.add(random_floats(random, outs, 1e-2));
  const bool has_bias = random.chance(0.6);
  const RandomReal y =
      random_real(random, buffers, {shape.batch, shape.height, shape.width, outs}, Numbers::kTies);
  const auto passes = maybe_output(random, buffers, 0.6, bit_bytes(y.tensor.elems()));
  ConvReal call;
  call.relu = random.chance(0.6);
  run_both(buffers, [&](bool on_device) {
    call.conv = conv_at(conv, buffers, on_device);
    call.scale = buffers.at<float>(scale, on_device);
    call.w_scales = buffers.at<float>(w_scales, on_device);
    call.bias = has_bias ? buffers.at<float>(bias, on_device) : nullptr;
    call.y = tensor_at(y, buffers, on_device);
    call.passes = buffers.at<std::uint8_t>(passes, on_device);
    return call;
  });
  return described(buffers.first_difference(), call.conv);
}

std::string conv_levels_case(Random& random, CallBuffers& buffers) {
  const RandomConv conv = random_conv(random, buffers);
  const std::int64_t outs = conv.conv.y_shape.channels;
  const std::int64_t elems = conv.conv.pixels() * outs;
  std::vector<float> factors = random_floats(random, outs, 2e-6);
  if (random.chance(0.1)) factors[0] = INFINITY;
  if (random.chance(0.1)) factors[0] = NAN;
  const std::size_t multipliers = buffers.add(factors);
  std::vector<std::int32_t> biases;
  for (std::int64_t i = 0; i < outs; ++i) {
    biases.push_back(static_cast<std::int32_t>(random.uniform(-20000, 20000)));
  }
  const std::size_t bias = buffers.add(biases);
  const bool has_bias = random.chance(0.6);
  const std::size_t zero_point =
      buffers.add(std::vector<std::int32_t>{static_cast<std::int32_t>(random.uniform(-128, 127))});
  const bool has_zero_point = random.chance(0.4);
  const std::size_t y = buffers.add_output(elems, random_shift(random));
  const auto passes = maybe_output(random, buffers, 0.6, bit_bytes(elems));
  const std::size_t range = buffers.add_output(8);
  const bool has_range = random.chance(0.5);
  ConvLevels call;
  call.relu = random.chance(0.6);
  const Levels levels = random_levels(random, true);
  call.lo = levels.lo;
  call.hi = levels.hi;
  run_both(buffers, [&](bool on_device) {
    call.conv = conv_at(conv, buffers, on_device);
    call.multipliers = buffers.at<float>(multipliers, on_device);
    call.bias = has_bias ? buffers.at<std::int32_t>(bias, on_device) : nullptr;
    call.y_zero_point = has_zero_point ? buffers.at<std::int32_t>(zero_point, on_device) : nullptr;
    call.y = buffers.at<std::int8_t>(y, on_device);
    call.passes = buffers.at<std::uint8_t>(passes, on_device);
    call.range = has_range ? buffers.at<float>(range, on_device) : nullptr;
    return call;
  });
  return described(buffers.first_difference(), call.conv);
}

std::string conv_statistics_case(Random& random, CallBuffers& buffers) {
  const RandomConv conv = random_conv(random, buffers);
  const std::size_t sums = buffers.add_output(conv.conv.y_shape.channels * 24);
  ConvStatistics call;
  run_both(buffers, [&](bool on_device) {
    call.conv = conv_at(conv, buffers, on_device);
    call.sums = buffers.at<std::int64_t>(sums, on_device);
    return call;
  });
  return described(buffers.first_difference(), call.conv);
}

std::vector<std::uint16_t> random_gradient(Random& random, std::int64_t count) {
  std::vector<std::uint16_t> g;
  for (const float value : random_floats(random, count, 1e-3)) {
    g.push_back(golden::bfloat16_from_float(value));
  }
  return g;
}

// Each sum is within 2^-18 of what the magnitudes add up to.
std::string conv_gradient_sums_case(Random& random, CallBuffers& buffers) {
  const RandomConv conv = random_conv(random, buffers);
  const std::int64_t outs = conv.conv.y_shape.channels;
  const auto gradient = random_gradient(random, conv.conv.pixels() * outs);
  const std::size_t g = buffers.add(gradient, random.chance(0.2) ? 2 : 0);
  const std::size_t sums = buffers.add_output(outs * 8);
  ConvGradientSums call;
  run_both(buffers, [&](bool on_device) {
    call.conv = conv_at(conv, buffers, on_device);
    call.g = buffers.at<std::uint16_t>(g, on_device);
    call.sums = buffers.at<float>(sums, on_device);
    return call;
  });
  const std::vector<std::uint8_t> bytes = buffers.from_device(sums);
  const auto* expected = buffers.at<float>(sums, false);
  // |g| < 1.01, |acc| <= 2^15 a product (a zero_point included).
  const auto elems = static_cast<double>(std::max<std::int64_t>(conv.conv.pixels(), 1));
  const double most[2] = {elems, elems * 32768.0 * static_cast<double>(conv.conv.depth())};
  for (std::int64_t i = 0; i < outs * 2; ++i) {
    float found = 0;
    std::memcpy(&found, bytes.data() + i * 4, 4);
    const double off = std::fabs(double{found} - double{expected[i]});
    if (!(off <= most[i % 2] * 0x1p-22 * std::sqrt(1 / elems) * 4)) {
      return described("sum " + std::to_string(i) + " is " + std::to_string(found) + ", not " +
                           std::to_string(expected[i]),
                       call.conv);
    }
  }
  return described(buffers.first_difference({sums}), call.conv);
}

std::string conv_normalize_gradient_case(Random& random, CallBuffers& buffers) {
  const RandomConv conv = random_conv(random, buffers);
  const std::int64_t outs = conv.conv.y_shape.channels;
  const std::size_t factors = buffers.add(random_floats(random, outs * 3, 1e-4));
  const std::size_t g =
      buffers.add(random_gradient(random, conv.conv.pixels() * outs), random.chance(0.2) ? 2 : 0);
  ConvNormalizeGradient call;
  run_both(buffers, [&](bool on_device) {
    call.conv = conv_at(conv, buffers, on_device);
    call.factors = buffers.at<float>(factors, on_device);
    call.g = buffers.at<std::uint16_t>(g, on_device);
    return call;
  });
  return described(buffers.first_difference(), call.conv);
}

std::string max_pool_case(Random& random, CallBuffers& buffers) {
  train::MaxPool call;
  Window& w = call.window;
  w.kernel_h = random.uniform(1, 3);
  w.kernel_w = random.uniform(1, 3);
  w.stride_h = random.uniform(1, 3);
  w.stride_w = random.uniform(1, 3);
  w.pad_top = random.uniform(0, w.kernel_h - 1);
  w.pad_left = random.uniform(0, w.kernel_w - 1);
  w.dilation_h = w.pad_top == 0 && random.chance(0.3) ? 2 : 1;
  const std::int64_t channels =
      random.chance(0.5) ? random.uniform(1, 8) * 16 : random.uniform(1, 40);
  call.x_shape = {random.uniform(1, 4), random.uniform(5, 20), random.uniform(5, 20), channels};
  call.y_shape = {call.x_shape.batch,
                  (call.x_shape.height + w.pad_top - w.extent_h()) / w.stride_h + 1,
                  (call.x_shape.width + w.pad_left - w.extent_w()) / w.stride_w + 1, channels};
  const ImageShape& x = call.x_shape;
  const ImageShape& y = call.y_shape;
  const std::size_t q = buffers.add(random_bytes(random, x.batch * x.height * x.width * x.channels),
                                    random_shift(random));
  const std::size_t to =
      buffers.add_output(y.batch * y.height * y.width * y.channels, random_shift(random));
  run_both(buffers, [&](bool on_device) {
    call.q = buffers.at<std::int8_t>(q, on_device);
    call.y = buffers.at<std::int8_t>(to, on_device);
    return call;
  });
  return buffers.first_difference();
}

struct CheckedCall {
  const char* name;
  std::string (*check)(Random& random, CallBuffers& buffers);  // a difference; empty: none
};

constexpr CheckedCall kCalls[] = {
    {"observe", observe_case},
    {"quantize_levels", quantize_levels_case},
    {"quantize_weights", quantize_weights_case},
    {"conv_real", conv_real_case},
    {"conv_levels", conv_levels_case},
    {"conv_statistics", conv_statistics_case},
    {"conv_gradient_sums", conv_gradient_sums_case},
    {"conv_normalize_gradient", conv_normalize_gradient_case},
    {"max_pool", max_pool_case},
};

}  // namespace

ExitCode check_random_forward(const RandomForwardOptions& options) {
  int wrong = 0;
  int compared = 0;
  for (const CheckedCall& call : kCalls) {
    if (std::string(call.name).find(options.only) == std::string::npos) continue;
    int wrong_of_call = 0;
    for (int i = 0; i < options.cases; ++i) {
      const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
      Random random(seed);
      CallBuffers buffers;
      const std::string difference = call.check(random, buffers);
      if (difference.empty()) continue;
      if (++wrong_of_call <= 5) {
        std::cout << call.name << ", seed " << seed << ": " << difference << "\n";
      }
    }
    std::cout << call.name << ": " << options.cases << " cases, " << wrong_of_call << " mismatching"
              << std::endl;
    wrong += wrong_of_call;
    compared += options.cases;
  }
  std::cout << compared << " calls compared, seeds " << options.seed << " to "
            << options.seed + static_cast<std::uint64_t>(options.cases) - 1 << ", " << wrong
            << " mismatching\n";
  return wrong == 0 ? ExitCode::kOk : ExitCode::kMismatch;
}

}  // namespace qsim::golden_test
