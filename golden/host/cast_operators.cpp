#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "golden/host/host_numbers.h"
#include "golden/host/host_operators.h"

namespace qsim::golden {
namespace {

// A floating-point format inside float32: bits of precision, the least exponent of a normal number.
struct Format {
  int precision;
  int least_exponent;
  float largest;
};
constexpr Format kFloat16 = {11, -14, 65504.0F};
constexpr Format kBfloat16 = {8, -126, 0x1.fep127F};

float rounded_to(const Format& format, float x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), format.least_exponent);
  const double unit = std::ldexp(1.0, exponent - format.precision + 1);
  const double y = std::nearbyint(x / unit) * unit;
  if (std::abs(y) > format.largest) return std::copysign(std::numeric_limits<float>::infinity(), x);
  return static_cast<float>(y);
}

// The type of a number of TensorProto.DataType.
struct TypeRow {
  std::int64_t number;
  DType dtype;
  const Format* format = nullptr;  // of numbers that are kept as float32
  std::int64_t mask = -1;          // of numbers that are kept as wider integers
};
constexpr std::array<TypeRow, 13> kTypes = {{
    {1, DType::kFloat32},
    {2, DType::kUint8},
    {3, DType::kInt8},
    {4, DType::kInt32, nullptr, 0xFFFF},
    {5, DType::kInt16},
    {6, DType::kInt32},
    {7, DType::kInt64},
    {9, DType::kBool},
    {10, DType::kFloat32, &kFloat16},
    {11, DType::kFloat64},
    {12, DType::kInt64, nullptr, 0xFFFFFFFF},
    {13, DType::kInt64},
    {16, DType::kFloat32, &kBfloat16},
}};

const TypeRow& type_of_number(const HostCall& call, std::int64_t number) {
  const auto* row = std::ranges::find(kTypes, number, &TypeRow::number);
  if (row == kTypes.end()) {
    call.refuse("data type " + std::to_string(number),
                "float, double, float16, bfloat16, bool and integers of 8 to 64 bits");
  }
  return *row;
}

void cast_to(HostCall& call, const TypeRow& to) {
  Tensor* out = call.output(0, to.dtype, call.shape(0));
  if (out == nullptr) return;
  with_type(call.dtype(0), [&]<typename From>() {
    const std::span<const From> from = elements<From>(call.input(0));
    if (to.dtype == DType::kBool) {
      std::ranges::transform(from, elements<std::uint8_t>(*out).begin(),
                             [](From x) { return static_cast<std::uint8_t>(x != From{0}); });
      return;
    }
    with_type(to.dtype, [&]<typename To>() {
      std::ranges::transform(from, elements<To>(*out).begin(), converted<To, From>);
      if constexpr (std::is_integral_v<To>) {
        for (To& x : elements<To>(*out)) x = static_cast<To>(x & to.mask);
      }
    });
  });
  if (to.format == nullptr) return;
  for (float& x : elements<float>(*out)) x = rounded_to(*to.format, x);
}

}  // namespace

void run_cast(HostCall& call) {
  if (!call.has_attribute("to")) call.malformed("no attribute 'to'", "a data type");
  cast_to(call, type_of_number(call, call.attribute("to", std::int64_t{0})));
}

void run_cast_like(HostCall& call) { cast_to(call, {0, call.dtype(1)}); }

void run_eye_like(HostCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() != 2) call.malformed("an input of shape " + shape_text(shape), "two axes");
  const DType dtype = call.has_attribute("dtype")
                          ? type_of_number(call, call.attribute("dtype", std::int64_t{0})).dtype
                          : call.dtype(0);
  const std::int64_t k = call.attribute("k", std::int64_t{0});
  Tensor* out = call.output(0, dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  with_type(dtype, [&]<typename T>() {
    T* const y = elements<T>(*out).data();
    for (std::int64_t row = 0; row < shape[0]; ++row) {
      if (k >= -row && k < shape[1] - row) y[row * shape[1] + row + k] = T{1};
    }
  });
}

}  // namespace qsim::golden
