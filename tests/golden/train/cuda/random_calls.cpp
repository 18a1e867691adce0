#include "tests/golden/train/cuda/random_calls.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "golden/common/float_formats.h"

namespace qsim::golden_test {

using namespace golden::train;

namespace {

float unit(Random& random) {
  return static_cast<float>(static_cast<double>(random.uniform(-1000000, 1000000)) * 1e-6);
}

// Ties: a half step, or a unit in the last place beside it.
float random_number(Random& random, RealNumbers numbers, float step) {
  if (numbers == RealNumbers::kTies) {
    const float tie = (static_cast<float>(random.uniform(-160, 160)) + 0.5F) * step;
    return std::nextafter(tie, tie + static_cast<float>(random.uniform(-1, 1)) * step);
  }
  if (numbers == RealNumbers::kAnything) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  return unit(random) * (random.chance(0.05) ? 40.0F : 3.0F);
}

void append(std::vector<std::uint8_t>& bytes, RealType type, float value) {
  std::uint8_t raw[4];
  std::size_t size = 2;
  if (type == RealType::kFloat32) {
    size = 4;
    std::memcpy(raw, &value, 4);
  } else {
    const std::uint16_t code = type == RealType::kFloat16 ? golden::half_from_float(value)
                                                          : golden::bfloat16_from_float(value);
    std::memcpy(raw, &code, 2);
  }
  bytes.insert(bytes.end(), raw, raw + size);
}

// Strides of a dense tensor whose axes are in the order `axes`, innermost last; `gap`: between the
// innermost axis and the next.
std::array<std::int64_t, 4> strides_of(const std::array<std::int64_t, 4>& shape,
                                       const std::array<std::size_t, 4>& axes, std::int64_t gap) {
  std::array<std::int64_t, 4> strides{};
  std::int64_t next = 1;
  for (std::size_t i = 4; i-- > 0;) {
    strides[axes[i]] = next;
    next *= shape[axes[i]];
    if (i == 3) next += gap;
  }
  return strides;
}

}  // namespace

RandomReal random_real(Random& random, CallBuffers& buffers,
                       const std::array<std::int64_t, 4>& shape, RealNumbers numbers, float step) {
  RandomReal real;
  RealTensor& tensor = real.tensor;
  tensor.type = static_cast<RealType>(random.uniform(0, 2));
  tensor.shape = shape;
  std::array<std::size_t, 4> axes = {0, 1, 2, 3};
  const std::int64_t layout = random.uniform(0, 9);
  if (layout < 4) axes = {0, 3, 1, 2};  // NCHW
  if (layout == 9) std::swap(axes[static_cast<std::size_t>(random.uniform(0, 3))], axes[3]);
  const std::int64_t gap = random.chance(0.15) ? random.uniform(1, 9) : 0;
  tensor.strides = strides_of(shape, axes, gap);
  real.first = random.chance(0.2) ? random.uniform(1, 9) : 0;
  std::int64_t count = real.first + 1;
  for (std::size_t i = 0; i < 4; ++i) {
    count += std::max<std::int64_t>(shape[i] - 1, 0) * tensor.strides[i];
  }
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    append(bytes, tensor.type, random_number(random, numbers, step));
  }
  real.buffer = buffers.add(bytes);
  return real;
}

RealTensor tensor_at(const RandomReal& real, CallBuffers& buffers, bool on_device) {
  RealTensor tensor = real.tensor;
  const std::int64_t bytes = tensor.type == RealType::kFloat32 ? 4 : 2;
  tensor.data = buffers.at<std::uint8_t>(real.buffer, on_device) + real.first * bytes;
  return tensor;
}

std::vector<std::int8_t> random_bytes(Random& random, std::int64_t count) {
  std::vector<std::int8_t> bytes(static_cast<std::size_t>(count));
  for (std::int8_t& byte : bytes) byte = static_cast<std::int8_t>(random.next());
  return bytes;
}

// Mostly near 2^-6; now and then any that a scale may be, or what a learned one should not be.
float random_scale(Random& random) {
  const float usual = 0.015625F * (1.0F + std::fabs(unit(random)));
  if (random.chance(0.1)) return std::ldexp(usual, static_cast<int>(random.uniform(-118, 130)));
  if (random.chance(0.03)) return 0;
  if (random.chance(0.03)) return -usual;
  return random.chance(0.2) ? 0.5F : usual;
}

Levels random_levels(Random& random, bool may_be_affine) {
  Levels levels;
  if (random.chance(0.5)) {
    levels.lo = static_cast<std::int32_t>(random.uniform(-128, 0));
    levels.hi = static_cast<std::int32_t>(random.uniform(1, 127));
  }
  levels.rounding = random.chance(0.7) ? LevelRounding::kHalfEven : LevelRounding::kTowardZero;
  levels.scale_kind = static_cast<ScaleKind>(random.uniform(0, may_be_affine ? 3 : 2));
  return levels;
}

std::size_t random_shift(Random& random) {
  return random.chance(0.2) ? static_cast<std::size_t>(random.uniform(1, 15)) : 0;
}

CallConv random_conv(Random& random, CallBuffers& buffers) {
  CallConv made;
  LevelConv& conv = made.conv;
  // Half of them have what the kernels like.
  const bool is_even = random.chance(0.5);
  Window& w = conv.window;
  w.kernel_h = random.uniform(1, is_even ? 3 : 4);
  w.kernel_w = random.chance(0.7) ? w.kernel_h : random.uniform(1, 5);
  const auto few = [&](double chance) { return random.chance(chance) ? random.uniform(2, 3) : 1; };
  w.stride_h = few(is_even ? 0.1 : 0.3);
  w.stride_w = random.chance(0.8) ? w.stride_h : few(0.5);
  w.dilation_h = few(0.2);
  w.dilation_w = random.chance(0.8) ? w.dilation_h : few(0.5);
  for (std::int64_t* pad : {&w.pad_top, &w.pad_left, &w.pad_bottom, &w.pad_right}) {
    *pad = random.chance(0.3) ? 0 : random.uniform(0, 2);
  }
  conv.groups = !is_even && random.chance(0.4) ? random.uniform(2, 5) : 1;
  const bool is_linear = is_even && random.chance(0.2);
  std::int64_t channels = is_even ? random.uniform(1, 12) * 16 : random.uniform(1, 40);
  if (!is_even && random.chance(0.4)) channels = random.uniform(1, 5);
  if (is_linear && random.chance(0.5)) channels = random.uniform(60, 200) * 16;
  std::int64_t outs = is_even ? random.uniform(1, 10) * 32 : random.uniform(1, 90);
  if (conv.groups > 1 && random.chance(0.6)) {  // small groups, depthwise ones among them
    constexpr std::int64_t kSizes[] = {1, 1, 1, 2, 3, 4, 8, 16};
    conv.groups = random.chance(0.7) ? random.uniform(1, 40) * 4 : random.uniform(2, 90);
    channels = kSizes[random.uniform(0, 7)];
    outs = random.chance(0.6) ? channels : kSizes[random.uniform(0, 7)];
    conv.groups = std::max<std::int64_t>(2, std::min(conv.groups, 200 / std::max(channels, outs)));
  }
  // So many outputs of so few channels that a block computes 128 columns at once, on a GPU of 74 to
  // 147 multiprocessors (plan_boxes).
  const bool is_wide = is_even && !is_linear && random.chance(0.2);
  conv.x_shape = {random.uniform(1, is_even ? 4 : 3), random.uniform(1, 20) + 6,
                  random.uniform(1, 30) + 11, channels * conv.groups};
  if (is_linear) {
    conv.x_shape = {random.uniform(1, 150), 1, 1, channels};
    if (random.chance(0.6)) {  // few pixels of many channels, whose sums are divided among blocks
      conv.x_shape = {2, random.uniform(1, 8), random.uniform(1, 8), 16 * random.uniform(64, 100)};
    }
    w = Window{};
  }
  if (is_wide) {
    conv.x_shape = {7, 48, 56, 16};
    outs = random.chance(0.5) ? random.uniform(3, 4) * 32 : random.uniform(9, 16) * 8;
    w = Window{};
    if (random.chance(0.5)) {
      w.kernel_w = 3;
      w.pad_left = w.pad_right = 1;
    }
  }
  const auto out = [](std::int64_t size, std::int64_t pads, std::int64_t extent,
                      std::int64_t stride) { return (size + pads - extent) / stride + 1; };
  conv.y_shape = {conv.x_shape.batch,
                  out(conv.x_shape.height, w.pad_top + w.pad_bottom, w.extent_h(), w.stride_h),
                  out(conv.x_shape.width, w.pad_left + w.pad_right, w.extent_w(), w.stride_w),
                  outs * conv.groups};
  const ImageShape& x = conv.x_shape;
  made.q = buffers.add(random_bytes(random, x.batch * x.height * x.width * x.channels),
                       random.chance(0.1) ? 3 : 0);
  made.w = buffers.add(random_bytes(random, conv.y_shape.channels * conv.depth()),
                       random.chance(0.1) ? 5 : 0);
  if (random.chance(0.3)) {
    made.zero_point = buffers.add(
        std::vector<std::int32_t>{static_cast<std::int32_t>(random.uniform(-128, 127))});
  }
  return made;
}

LevelConv conv_at(const CallConv& made, CallBuffers& buffers, bool on_device) {
  LevelConv conv = made.conv;
  conv.q = buffers.at<std::int8_t>(made.q, on_device);
  conv.w = buffers.at<std::int8_t>(made.w, on_device);
  conv.zero_point = buffers.at<std::int32_t>(made.zero_point, on_device);
  return conv;
}

std::string text_of(const LevelConv& conv) {
  const auto shape = [](const ImageShape& s) {
    return "[" + std::to_string(s.batch) + "," + std::to_string(s.height) + "," +
           std::to_string(s.width) + "," + std::to_string(s.channels) + "]";
  };
  const Window& w = conv.window;
  return shape(conv.x_shape) + " -> " + shape(conv.y_shape) + " window " +
         std::to_string(w.kernel_h) + "x" + std::to_string(w.kernel_w) + " stride " +
         std::to_string(w.stride_h) + "," + std::to_string(w.stride_w) + " dilation " +
         std::to_string(w.dilation_h) + "," + std::to_string(w.dilation_w) + " pads " +
         std::to_string(w.pad_top) + "," + std::to_string(w.pad_left) + " groups " +
         std::to_string(conv.groups) + (conv.zero_point != nullptr ? " zero_point" : "");
}

}  // namespace qsim::golden_test
