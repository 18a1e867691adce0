#include "tests/golden/train/train_cases.h"

#include <algorithm>
#include <limits>
#include <string>

namespace qsim::golden_test {
namespace {

struct Format {
  int mantissa_bits;
  int least_exponent;
  double most;
};

Format format_of(std::int32_t dtype) {
  if (dtype == QSIM_FLOAT16) return {10, -14, 65504};
  if (dtype == QSIM_BFLOAT16) return {7, -126, 0x1.FEp127};
  return {23, -126, std::numeric_limits<float>::max()};
}

Shape row_major(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::int64_t count_of(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                      std::int64_t pads, std::int64_t dilation) {
  const std::int64_t span = size + pads - (kernel - 1) * dilation - 1;
  return span < 0 ? 0 : span / stride + 1;
}

std::int64_t random_channels(Random& random) {
  return random.chance(0.15) ? random.uniform(30, 70) : random.uniform(1, 12);
}

}  // namespace

double decode16(std::int32_t dtype, std::uint16_t code) {
  const Format format = format_of(dtype);
  const int exponent_bits = 15 - format.mantissa_bits;
  const int mantissa = code & ((1 << format.mantissa_bits) - 1);
  const int exponent = code >> format.mantissa_bits & ((1 << exponent_bits) - 1);
  const double sign = code >> 15 != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int leading = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  return sign * std::ldexp(leading + mantissa, format.least_exponent - format.mantissa_bits +
                                                   std::max(exponent, 1) - 1);
}

double rounded_to(std::int32_t dtype, double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const Format format = format_of(dtype);
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  const double unit = std::ldexp(1.0, exponent - format.mantissa_bits);
  const double result = std::nearbyint(value / unit) * unit;
  if (std::abs(result) <= format.most) return result;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

Reals::Reals(std::int32_t dtype, Shape shape, Shape strides)
    : dtype_(dtype),
      shape_(std::move(shape)),
      strides_(strides.empty() ? row_major(shape_) : std::move(strides)) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    last += std::max<std::int64_t>(shape_[i] - 1, 0) * strides_[i];
  }
  const auto size = static_cast<std::size_t>(last + 1);
  dtype == QSIM_FLOAT32 ? floats_.assign(size, 77.0F) : codes_.assign(size, 0x4455);
}

Reals Reals::random(Random& random, std::int32_t dtype, Shape shape, Shape strides) {
  Reals result(dtype, std::move(shape), std::move(strides));
  for (float& value : result.floats_) {
    value = random.chance(0.05) ? 0.0F
                                : std::ldexp(static_cast<float>(random.uniform(-999999, 999999)),
                                             static_cast<int>(random.uniform(-26, -17)));
  }
  for (std::uint16_t& code : result.codes_) {
    const std::int64_t around = dtype == QSIM_FLOAT16 ? 15 << 10 : 127 << 7;
    const std::int64_t spread = dtype == QSIM_FLOAT16 ? 3 << 10 : 3 << 7;
    code = random.chance(0.05)
               ? std::uint16_t{0}
               : static_cast<std::uint16_t>(random.uniform(around - spread, around + spread) |
                                            (random.chance(0.5) ? 0x8000 : 0));
  }
  return result;
}

const qsim_tensor* Reals::tensor() const {
  const void* data = dtype_ == QSIM_FLOAT32 ? static_cast<const void*>(floats_.data())
                                            : static_cast<const void*>(codes_.data());
  described_ = {const_cast<void*>(data),
                dtype_,
                QSIM_CPU,
                0,
                static_cast<std::int32_t>(shape_.size()),
                shape_.data(),
                strides_.data()};
  return &described_;
}

double Reals::at(std::int64_t i) const {
  return dtype_ == QSIM_FLOAT32 ? static_cast<double>(floats_[place(i)])
                                : decode16(dtype_, codes_[place(i)]);
}

std::size_t Reals::place(std::int64_t i) const {
  std::int64_t offset = 0;
  for (std::size_t axis = shape_.size(); axis-- > 0; i /= shape_[axis]) {
    offset += i % shape_[axis] * strides_[axis];
  }
  return static_cast<std::size_t>(offset);
}

Shape channels_first(const Shape& nhwc) {
  return {nhwc[1] * nhwc[2] * nhwc[3], nhwc[2], 1, nhwc[1] * nhwc[2]};
}

std::int32_t random_real_type(Random& random) {
  return static_cast<std::int32_t>(random.uniform(QSIM_FLOAT32, QSIM_BFLOAT16));
}

qsim_level_conv ConvCase::conv() const {
  return {sizeof(qsim_level_conv),
          q.tensor(),
          has_zero_point ? zero_point.tensor() : nullptr,
          w.tensor(),
          &window,
          groups};
}

std::string ConvCase::text() const {
  return "q " + shape_text(q.shape) + ", w " + shape_text(w.shape) + ", " + std::to_string(groups) +
         " groups, y " + shape_text(y);
}

std::vector<std::int64_t> ConvCase::sums() const {
  std::vector<std::int64_t> result(static_cast<std::size_t>(y_elems()));
  const std::int64_t zero = has_zero_point ? zero_point.values[0] : 0;
  each_product([&](std::size_t i, std::size_t x, std::size_t k) {
    result[i] += (q.values[x] - zero) * w.values[k];
  });
  return result;
}

ConvCase random_conv(Random& random) {
  ConvCase result;
  result.groups = random.chance(0.3) ? random.uniform(2, 3) : 1;
  const std::int64_t channels = random_channels(random);
  const std::int64_t outs = random_channels(random) * result.groups;
  qsim_window& win = result.window;
  do {
    const Shape x = {random.uniform(1, 3), random.uniform(1, 9), random.uniform(1, 9),
                     channels * result.groups};
    const Shape w = {outs, random.uniform(1, 4), random.uniform(1, 3), channels};
    win = {random.uniform(1, 3), random.uniform(1, 2), random.uniform(0, 2), random.uniform(0, 2),
           random.uniform(0, 2), random.uniform(0, 2), random.uniform(1, 2), random.uniform(1, 3)};
    result.q = {QSIM_INT8, x};
    result.w = {QSIM_INT8, w};
    result.y = {
        x[0], count_of(x[1], w[1], win.stride_h, win.pad_top + win.pad_bottom, win.dilation_h),
        count_of(x[2], w[2], win.stride_w, win.pad_left + win.pad_right, win.dilation_w), outs};
  } while (element_count(result.y) == 0);
  for (auto* levels : {&result.q.values, &result.w.values}) {
    for (std::int8_t& level : *levels) {
      level = static_cast<std::int8_t>(random.uniform(-128, 127));
    }
  }
  result.has_zero_point = random.chance(0.5);
  result.zero_point.values[0] = static_cast<std::int32_t>(random.uniform(-128, 127));
  return result;
}

std::vector<float> random_scales(Random& random, std::int64_t count) {
  std::vector<float> result(static_cast<std::size_t>(count));
  for (float& scale : result) {
    scale = std::ldexp(static_cast<float>(random.uniform(1, 1 << 20)), -26);
  }
  return result;
}

std::vector<std::int32_t> random_integers(Random& random, std::int64_t count, std::int64_t most) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(count));
  for (std::int32_t& value : result) {
    value = static_cast<std::int32_t>(random.uniform(-most, most));
  }
  return result;
}

Bits Bits::random(Random& random, std::int64_t elems) {
  std::vector<bool> bits(static_cast<std::size_t>(elems));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = random.chance(0.7);
  return of(bits);
}

Bits Bits::of(const std::vector<bool>& bits) {
  Bits result(std::ssize(bits));
  std::fill(result.values.begin(), result.values.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (bits[i])
      result.values[i / 8] = static_cast<std::uint8_t>(result.values[i / 8] | 1 << i % 8);
  }
  return result;
}

}  // namespace qsim::golden_test
