// Arithmetic on the elements of any type, and checks of the types of a node's inputs.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "golden/host/host_call.h"

namespace qsim::golden {

// Sums, differences and products: integers wrap, reals are rounded once.
template <typename T>
T plus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <typename T>
T minus(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a - b;
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
template <typename T>
T times(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a * b;
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
// Integers truncate; one divided by 0 is 0.
template <typename T>
T quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return minus(T{0}, a);
    return static_cast<T>(a / b);
  }
}

template <typename T>
T magnitude(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::abs(x);
  return x < 0 ? minus(T{0}, x) : x;
}
template <typename T>
bool is_nan([[maybe_unused]] T x) {
  if constexpr (std::is_floating_point_v<T>) return x != x;
  return false;
}
// A NaN wins.
template <typename T>
T larger(T a, T b) {
  return a > b || is_nan(a) ? a : b;
}
template <typename T>
T smaller(T a, T b) {
  return a < b || is_nan(a) ? a : b;
}

// A conversion: integers wrap, reals truncate to integers, saturate and make 0 of NaN.
template <typename To, typename From>
To converted(From x) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    using Limits = std::numeric_limits<To>;
    if (is_nan(x)) return 0;
    if (x >= static_cast<From>(Limits::max())) return Limits::max();
    if (x <= static_cast<From>(Limits::min())) return Limits::min();
  }
  return static_cast<To>(x);
}

enum class Kind : std::uint8_t { kAny, kNumbers, kIntegers, kReals, kBools };

// The type that the inputs from `first` to before `end` share; malformed() where they do not,
// refuse()d where it is not of the kind.
inline DType common_type(const HostCall& call, Kind kind, std::size_t first, std::size_t end) {
  const DType dtype = call.dtype(first);
  for (std::size_t i = first + 1; i < end; ++i) {
    if (call.has(i) && call.dtype(i) != dtype) {
      call.malformed(
          "input " + std::to_string(i) + " is of " + std::string(dtype_name(call.dtype(i))),
          std::string(dtype_name(dtype)));
    }
  }
  const bool is_real = dtype == DType::kFloat32 || dtype == DType::kFloat64;
  const bool is_bool = dtype == DType::kBool;
  const auto need = [&](bool holds, const char* supported) {
    if (!holds) call.refuse("elements of " + std::string(dtype_name(dtype)), supported);
  };
  if (kind == Kind::kNumbers) need(!is_bool, "numbers");
  if (kind == Kind::kIntegers) need(!is_bool && !is_real, "integers");
  if (kind == Kind::kReals) need(is_real, "float32 and float64");
  if (kind == Kind::kBools) need(is_bool, "bool");
  return dtype;
}

// Whether elements of a kind can be of type T.
template <Kind kind, typename T>
constexpr bool has_type() {
  if (kind == Kind::kReals) return std::is_floating_point_v<T>;
  if (kind == Kind::kIntegers) return std::is_integral_v<T>;
  return kind != Kind::kBools || std::is_same_v<T, std::uint8_t>;
}

// with_type() with only the types of a kind.
template <Kind kind, typename Body>
void with_type_of(DType dtype, Body body) {
  with_type(dtype, [&]<typename T>() {
    if constexpr (has_type<kind, T>()) body.template operator()<T>();
  });
}

// Operators of elementwise_operators() in a file of their own.
void run_cast(HostCall& call);
void run_cast_like(HostCall& call);
void run_eye_like(HostCall& call);

}  // namespace qsim::golden
