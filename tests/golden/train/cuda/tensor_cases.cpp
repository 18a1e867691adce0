#include "tests/golden/train/cuda/forward_cases.h"

namespace qsim::golden_test {

namespace train = golden::train;
using namespace golden::train;

namespace {

std::array<std::int64_t, 4> random_shape(Random& random) {
  if (random.chance(0.3)) {
    return {random.uniform(1, 3), random.uniform(1, 20), random.uniform(1, 9) * 4,
            random.uniform(1, 9) * 16};
  }
  if (random.chance(0.04)) return {2, 0, 3, 4};
  return {random.uniform(1, 4), random.uniform(1, 12), random.uniform(1, 17),
          random.uniform(1, 70)};
}

RealNumbers random_numbers(Random& random) {
  return static_cast<RealNumbers>(random.uniform(0, 2));
}

}  // namespace

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
  const float step = random_scale(random);
  const RandomReal x =
      random_real(random, buffers, random_shape(random), random_numbers(random), step);
  const std::int64_t elems = x.tensor.elems();
  const std::size_t scale = buffers.add(std::vector<float>{step});
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

}  // namespace qsim::golden_test
