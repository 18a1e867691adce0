// Random layers of levels for tests, and what they must give, by plain loops that share nothing
// with golden/kernels/train: sums in 64 bits, formats by their definition.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "include/qsim/training.h"
#include "tests/golden/c_interface/arrays.h"

namespace qsim::golden_test {

// A real number of a format: sign, `exponent_bits`, `mantissa_bits`.
double decode16(std::int32_t dtype, std::uint16_t code);
// The nearest number of the format, ties to even; an infinity beyond its greatest.
double rounded_to(std::int32_t dtype, double value);

// A tensor of real numbers of any of the three types, at row-major strides or others.
class Reals {
 public:
  Reals(std::int32_t dtype, Shape shape, Shape strides = {});
  // Random numbers of both signs, some of them 0.
  static Reals random(Random& random, std::int32_t dtype, Shape shape, Shape strides = {});

  const qsim_tensor* tensor() const;
  const Shape& shape() const { return shape_; }
  std::int64_t elems() const { return element_count(shape_); }
  // Element i in row-major order.
  double at(std::int64_t i) const;
  void set_float(std::int64_t i, float value) { floats_[place(i)] = value; }

 private:
  std::size_t place(std::int64_t i) const;

  std::int32_t dtype_;
  Shape shape_;
  Shape strides_;
  std::vector<float> floats_;
  std::vector<std::uint16_t> codes_;
  mutable qsim_tensor described_ = {};
};

// [B, H, W, C] in the memory of [B, C, H, W].
Shape channels_first(const Shape& nhwc);
std::int32_t random_real_type(Random& random);

struct ConvCase {
  Array<std::int8_t> q{QSIM_INT8, {}};
  Array<std::int8_t> w{QSIM_INT8, {}};
  Array<std::int32_t> zero_point{QSIM_INT32, {1}};
  bool has_zero_point = false;
  qsim_window window = QSIM_WINDOW_INIT;
  std::int64_t groups = 1;
  Shape y;

  qsim_level_conv conv() const;
  std::int64_t outs() const { return y[3]; }
  std::int64_t y_elems() const { return element_count(y); }
  std::int64_t products() const { return w.shape[1] * w.shape[2] * w.shape[3]; }
  std::string text() const;

  // visit(element of y, element of q, element of w) for each product that is not of a pad.
  template <typename Visit>
  void each_product(const Visit& visit) const;
  std::vector<std::int64_t> sums() const;
};

ConvCase random_conv(Random& random);
std::vector<float> random_scales(Random& random, std::int64_t count);
std::vector<std::int32_t> random_integers(Random& random, std::int64_t count, std::int64_t most);

struct Bits : Array<std::uint8_t> {
  explicit Bits(std::int64_t elems) : Array(QSIM_UINT8, {(elems + 7) / 8}) {
    std::fill(values.begin(), values.end(), std::uint8_t{0xA5});
  }
  static Bits random(Random& random, std::int64_t elems);
  static Bits of(const std::vector<bool>& bits);
  bool get(std::int64_t i) const {
    return (values[static_cast<std::size_t>(i / 8)] >> (i % 8) & 1) != 0;
  }
};

template <typename Visit>
void ConvCase::each_product(const Visit& visit) const {
  const std::int64_t height = q.shape[1], width = q.shape[2], channels = q.shape[3];
  const std::int64_t outs_of_group = outs() / groups;
  for (std::int64_t i = 0; i < y_elems(); ++i) {
    const std::int64_t o = i % y[3], ow = i / y[3] % y[2], oh = i / y[3] / y[2] % y[1];
    const std::int64_t b = i / y[3] / y[2] / y[1];
    for (std::int64_t k = 0; k < products(); ++k) {
      const std::int64_t c = k % w.shape[3] + o / outs_of_group * w.shape[3];
      const std::int64_t kx = k / w.shape[3] % w.shape[2], ky = k / w.shape[3] / w.shape[2];
      const std::int64_t ih = oh * window.stride_h - window.pad_top + ky * window.dilation_h;
      const std::int64_t iw = ow * window.stride_w - window.pad_left + kx * window.dilation_w;
      if (ih < 0 || ih >= height || iw < 0 || iw >= width) continue;
      visit(static_cast<std::size_t>(i),
            static_cast<std::size_t>(((b * height + ih) * width + iw) * channels + c),
            static_cast<std::size_t>(o * products() + k));
    }
  }
}

}  // namespace qsim::golden_test
