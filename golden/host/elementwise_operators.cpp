#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "golden/host/fused_functions.h"
#include "golden/host/host_numbers.h"
#include "golden/host/host_operators.h"

namespace qsim::golden {
namespace {

// ---- One input ----

template <Kind kind, typename Body>
void map(HostCall& call, Body body) {
  Tensor* out = call.output(0, common_type(call, kind, 0, 1), call.shape(0));
  if (out == nullptr) return;
  with_type_of<kind>(out->dtype, [&]<typename T>() {
    std::ranges::transform(elements<T>(call.input(0)), elements<T>(*out).begin(),
                           [&](T x) { return static_cast<T>(body(x)); });
  });
}

template <auto function, Kind kind = Kind::kReals>
void unary(HostCall& call) {
  map<kind>(call, function);
}

// A function that float32 has with the roundings of ONNX Runtime, and float64 by `body`.
template <FusedFunction function, auto body>
void fused(HostCall& call) {
  if (call.dtype(0) != DType::kFloat32) return unary<body>(call);
  Tensor* out = call.output(0, DType::kFloat32, call.shape(0));
  if (out != nullptr) apply(function, elements<float>(call.input(0)), elements<float>(*out));
}

template <typename T>
T sign(T x) {
  return is_nan(x) ? x : static_cast<T>((x > 0) - (x < 0));
}

template <typename T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

template <typename T>
T softplus(T x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// float32 with the roundings of ONNX Runtime.
template <FusedFunction function>
float real(float x) {
  return apply(function, x);
}
template <FusedFunction function>
double real(double x) {
  if constexpr (function == FusedFunction::kErf) return std::erf(x);
  if constexpr (function == FusedFunction::kTanh) return std::tanh(x);
  return sigmoid(x);
}

template <typename T>
T gelu(T x) {
  constexpr T kScale = std::numbers::sqrt2_v<T> / 2;
  return static_cast<T>(0.5) * x * (real<FusedFunction::kErf>(x * kScale) + 1);
}

template <typename T>
T gelu_by_tanh(T x) {
  constexpr T kScale = static_cast<T>(0.7978845608028654);   // sqrt(2 / pi)
  constexpr T kCube = static_cast<T>(0.035677408136300125);  // 0.044715 sqrt(2 / pi)
  const T inner = x * (kCube * x * x + kScale);
  return static_cast<T>(0.5) * x * (real<FusedFunction::kTanh>(inner) + 1);
}

void leaky_relu(HostCall& call) {
  const float alpha = call.attribute("alpha", 0.01F);
  map<Kind::kReals>(call, [&](auto x) { return x >= 0 ? x : alpha * x; });
}

void thresholded_relu(HostCall& call) {
  const float alpha = call.attribute("alpha", 1.0F);
  map<Kind::kReals>(call, [&](auto x) { return x > alpha ? x : 0; });
}

void elu(HostCall& call) {
  const float alpha = call.attribute("alpha", 1.0F);
  map<Kind::kReals>(call, [&](auto x) { return x >= 0 ? x : alpha * std::expm1(x); });
}

void selu(HostCall& call) {
  const float alpha = call.attribute("alpha", 1.67326319217681884765625F);
  const float gamma = call.attribute("gamma", 1.05070102214813232421875F);
  map<Kind::kReals>(call, [&](auto x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}

void celu(HostCall& call) {
  const float alpha = call.attribute("alpha", 1.0F);
  map<Kind::kReals>(call, [&](auto x) { return x > 0 ? x : alpha * std::expm1(x / alpha); });
}

// alpha x + beta, within 0 to 1; a NaN stays.
template <typename T>
T ramp(T x, float alpha, float beta) {
  return std::min(std::max(alpha * x + beta, T{0}), T{1});
}

void hard_sigmoid(HostCall& call) {
  const float alpha = call.attribute("alpha", 0.2F);
  const float beta = call.attribute("beta", 0.5F);
  map<Kind::kReals>(call, [&](auto x) { return ramp(x, alpha, beta); });
}

// x times the sigmoid of alpha x, with the alpha of Swish or of QuickGelu.
void swish_by(HostCall& call, float usual_alpha) {
  const float alpha = call.attribute("alpha", usual_alpha);
  map<Kind::kReals>(call, [&](auto x) { return x * real<FusedFunction::kSigmoid>(alpha * x); });
}
void swish(HostCall& call) { swish_by(call, 1.0F); }
void quick_gelu(HostCall& call) { swish_by(call, 1.702F); }

void gelu_of_either(HostCall& call) {
  const std::string approximate = call.attribute("approximate", "none");
  if (approximate == "none") return unary<[](auto x) { return gelu(x); }>(call);
  if (approximate == "tanh") return unary<[](auto x) { return gelu_by_tanh(x); }>(call);
  call.malformed("approximate = '" + approximate + "'", "'none' or 'tanh'");
}

void shrink(HostCall& call) {
  const float lambda = call.attribute("lambd", 0.5F);
  const float bias = call.attribute("bias", 0.0F);
  map<Kind::kNumbers>(call, [&]<typename T>(T x) {
    using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto real = static_cast<Real>(x);
    if (real < -lambda) return converted<T>(real + bias);
    return real > lambda ? converted<T>(real - bias) : T{0};
  });
}

void clip(HostCall& call) {
  const bool has_attributes = call.opset() < 11;
  const DType dtype = common_type(call, Kind::kNumbers, 0, has_attributes ? 1 : 3);
  for (std::size_t i = 1; !has_attributes && i < 3; ++i) {
    if (call.has(i) && element_count(call.shape(i)) != 1) {
      call.malformed("a bound of shape " + shape_text(call.shape(i)), "one number");
    }
  }
  with_type(dtype, [&]<typename T>() {
    const auto bound = [&](std::size_t input, const char* name, T fallback) {
      if (has_attributes) {
        return call.has_attribute(name) ? converted<T>(call.attribute(name, 0.0F)) : fallback;
      }
      return call.knows(input) ? elements<T>(call.input(input))[0] : fallback;
    };
    const T low = bound(1, "min", std::numeric_limits<T>::lowest());
    const T high = bound(2, "max", std::numeric_limits<T>::max());
    map<Kind::kNumbers>(call, [&](auto element) {
      const T x = static_cast<T>(element) < low ? low : static_cast<T>(element);
      return x > high ? high : x;
    });
  });
}

template <typename Body>
void test_reals(HostCall& call, Body body) {
  const DType dtype = common_type(call, Kind::kReals, 0, 1);
  Tensor* out = call.output(0, DType::kBool, call.shape(0));
  if (out == nullptr) return;
  with_type_of<Kind::kReals>(dtype, [&]<typename T>() {
    std::ranges::transform(elements<T>(call.input(0)), elements<std::uint8_t>(*out).begin(),
                           [&](T x) { return static_cast<std::uint8_t>(body(x)); });
  });
}

void is_nan_of(HostCall& call) {
  test_reals(call, [](auto x) { return is_nan(x); });
}

void is_inf_of(HostCall& call) {
  const bool negative = call.attribute("detect_negative", std::int64_t{1}) != 0;
  const bool positive = call.attribute("detect_positive", std::int64_t{1}) != 0;
  test_reals(call, [&](auto x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

void copy_input(HostCall& call) {
  Tensor* out = call.output(0, call.dtype(0), call.shape(0));
  if (out != nullptr) out->bytes = call.input(0).bytes;
}

void dropout(HostCall& call) {
  if (call.has(2) && call.integer(2) != 0) call.refuse("training_mode", "inference");
  copy_input(call);
  Tensor* mask = call.output(1, call.opset() < 10 ? call.dtype(0) : DType::kBool, call.shape(0));
  if (mask == nullptr) return;
  with_type(mask->dtype, [&]<typename T>() { std::ranges::fill(elements<T>(*mask), T{1}); });
}

// ---- Two and more inputs ----

// out[i] = body(a[i], b[i]), with a and b broadcast to the shape of `out`, which may be a.
template <typename A, typename B, typename Out, typename Body>
void zip(const Tensor& a, const Tensor& b, Tensor& out, Body body) {
  const std::span<const A> x = elements<A>(a);
  const std::span<const B> y = elements<B>(b);
  const std::span<Out> z = elements<Out>(out);
  if (a.shape == out.shape && b.shape == out.shape) {
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = static_cast<Out>(body(x[i], y[i]));
    return;
  }
  for_each_position(
      out.shape,
      std::array{broadcast_steps(a.shape, out.shape), broadcast_steps(b.shape, out.shape)},
      [&, from_a = x.data(), from_b = y.data(), to = z.data()](std::int64_t i, const auto& at) {
        to[i] = static_cast<Out>(body(from_a[at[0]], from_b[at[1]]));
      });
}

template <Kind kind, typename Body>
void combine(HostCall& call, Body body) {
  const DType dtype = common_type(call, kind, 0, 2);
  Tensor* out = call.output(0, dtype, broadcast(call, call.shape(0), call.shape(1)));
  if (out == nullptr) return;
  with_type_of<kind>(dtype,
                     [&]<typename T>() { zip<T, T, T>(call.input(0), call.input(1), *out, body); });
}

template <auto function, Kind kind = Kind::kNumbers>
void binary(HostCall& call) {
  combine<kind>(call, function);
}

template <auto function, Kind kind = Kind::kNumbers>
void compare(HostCall& call) {
  const DType dtype = common_type(call, kind, 0, 2);
  Tensor* out = call.output(0, DType::kBool, broadcast(call, call.shape(0), call.shape(1)));
  if (out == nullptr) return;
  with_type_of<kind>(dtype, [&]<typename T>() {
    zip<T, T, std::uint8_t>(call.input(0), call.input(1), *out, function);
  });
}

void check_one_way(const HostCall& call) {
  if (broadcast(call, call.shape(0), call.shape(1)) == call.shape(0)) return;
  call.malformed("input 1 of shape " + shape_text(call.shape(1)),
                 "one that broadcasts to " + shape_text(call.shape(0)));
}

void prelu(HostCall& call) {
  check_one_way(call);
  combine<Kind::kNumbers>(call, [](auto x, auto slope) { return x < 0 ? times(x, slope) : x; });
}

// An activation of the sum of an input and, if there is one, a bias.
template <auto function>
void activate_biased(HostCall& call) {
  if (!call.has(1)) return map<Kind::kReals>(call, function);
  check_one_way(call);
  combine<Kind::kReals>(call, [](auto x, auto bias) { return function(x + bias); });
}

// One power of 2 or 3 is a product (onnxruntime/core/providers/cpu/math/element_wise_ops.cc).
void pow(HostCall& call) {
  const DType dtype = common_type(call, Kind::kNumbers, 0, 1);
  const DType power_dtype = common_type(call, Kind::kNumbers, 1, 2);
  Tensor* out = call.output(0, dtype, broadcast(call, call.shape(0), call.shape(1)));
  if (out == nullptr) return;
  const double one = call.shape(1).empty() || call.input(1).elems() == 1 ? call.real(1) : 0;
  with_type(dtype, [&]<typename T>() {
    if (one == 2 || one == 3) {
      return zip<T, T, T>(call.input(0), call.input(0), *out,
                          [&](T x, T) { return one == 2 ? times(x, x) : times(times(x, x), x); });
    }
    with_type(power_dtype, [&]<typename Power>() {
      zip<T, Power, T>(call.input(0), call.input(1), *out,
                       [](T x, Power power) { return converted<T>(std::pow(x, power)); });
    });
  });
}

// The remainder with the sign of x.
template <typename T>
T remainder_of(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(x, y);
  } else {
    if (y == 0 || (std::is_signed_v<T> && y == static_cast<T>(-1))) return 0;
    return static_cast<T>(x % y);
  }
}

void mod(HostCall& call) {
  if (call.attribute("fmod", std::int64_t{0}) != 0) {
    return combine<Kind::kNumbers>(call, [](auto x, auto y) { return remainder_of(x, y); });
  }
  combine<Kind::kIntegers>(call, [](auto x, auto y) {
    const auto rest = remainder_of(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? plus(rest, y) : rest;
  });
}

void bit_shift(HostCall& call) {
  const std::string direction = call.attribute("direction", "");
  const bool is_left = direction == "LEFT";
  if (!is_left && direction != "RIGHT") {
    call.malformed("direction = '" + direction + "'", "'LEFT' or 'RIGHT'");
  }
  if (common_type(call, Kind::kIntegers, 0, 2) != DType::kUint8) {
    call.refuse("elements of " + std::string(dtype_name(call.dtype(0))), "uint8");
  }
  combine<Kind::kIntegers>(call, [&](auto x, auto count) -> std::uint8_t {
    if (count < 0 || count > 7) return 0;
    return static_cast<std::uint8_t>(is_left ? x << count : x >> count);
  });
}

// From the first input to the last, one after the other.
template <Kind kind, typename Body>
Tensor* gather(HostCall& call, Body body) {
  const DType dtype = common_type(call, kind, 0, call.inputs());
  Shape shape = call.shape(0);
  for (std::size_t i = 1; i < call.inputs(); ++i) shape = broadcast(call, shape, call.shape(i));
  Tensor* out = call.output(0, dtype, std::move(shape));
  if (out == nullptr) return nullptr;
  with_type_of<kind>(dtype, [&]<typename T>() {
    zip<T, T, T>(call.input(0), *out, *out, [](T x, T) { return x; });
    for (std::size_t i = 1; i < call.inputs(); ++i) zip<T, T, T>(*out, call.input(i), *out, body);
  });
  return out;
}

template <auto function, Kind kind>
void variadic(HostCall& call) {
  gather<kind>(call, function);
}

void mean(HostCall& call) {
  Tensor* out = gather<Kind::kReals>(call, [](auto x, auto y) { return x + y; });
  if (out == nullptr) return;
  with_type_of<Kind::kReals>(out->dtype, [&]<typename T>() {
    for (T& x : elements<T>(*out)) x *= 1 / static_cast<T>(call.inputs());
  });
}

void where(HostCall& call) {
  static_cast<void>(common_type(call, Kind::kBools, 0, 1));
  const DType dtype = common_type(call, Kind::kAny, 1, 3);
  const Shape both = broadcast(call, call.shape(1), call.shape(2));
  Tensor* out = call.output(0, dtype, broadcast(call, call.shape(0), both));
  if (out == nullptr) return;
  with_type(dtype, [&]<typename T>() {
    const std::uint8_t* const condition = elements<std::uint8_t>(call.input(0)).data();
    const T* const x = elements<T>(call.input(1)).data();
    const T* const y = elements<T>(call.input(2)).data();
    T* const z = elements<T>(*out).data();
    const auto steps = [&](std::size_t i) { return broadcast_steps(call.shape(i), out->shape); };
    for_each_position(out->shape, std::array{steps(0), steps(1), steps(2)},
                      [&](std::int64_t i, const auto& at) {
                        z[i] = condition[at[0]] != 0 ? x[at[1]] : y[at[2]];
                      });
  });
}

constexpr auto kElementwise = std::to_array<HostOperator>({
    {"Abs", unary<[](auto x) { return magnitude(x); }, Kind::kNumbers>},
    {"Acos", unary<[](auto x) { return std::acos(x); }>},
    {"Acosh", unary<[](auto x) { return std::acosh(x); }>},
    {"Add", binary<[](auto x, auto y) { return plus(x, y); }>},
    {"And", binary<[](auto x, auto y) { return x & y; }, Kind::kBools>},
    {"Asin", unary<[](auto x) { return std::asin(x); }>},
    {"Asinh", unary<[](auto x) { return std::asinh(x); }>},
    {"Atan", unary<[](auto x) { return std::atan(x); }>},
    {"Atanh", unary<[](auto x) { return std::atanh(x); }>},
    {"BiasGelu", activate_biased<[](auto x) { return gelu(x); }>, kMicrosoft},
    {"BitShift", bit_shift},
    {"Cast", run_cast},
    {"CastLike", run_cast_like},
    {"Ceil", unary<[](auto x) { return std::ceil(x); }>},
    {"Celu", celu},
    {"Clip", clip},
    {"Cos", unary<[](auto x) { return std::cos(x); }>},
    {"Cosh", unary<[](auto x) { return std::cosh(x); }>},
    {"Div", binary<[](auto x, auto y) { return quotient(x, y); }>},
    {"Dropout", dropout},
    {"Elu", elu},
    {"Equal", compare<[](auto x, auto y) { return x == y; }, Kind::kAny>},
    {"Erf", fused<FusedFunction::kErf, [](auto x) { return std::erf(x); }>},
    {"Exp", fused<FusedFunction::kExp, [](auto x) { return std::exp(x); }>},
    {"EyeLike", run_eye_like},
    {"FastGelu", activate_biased<[](auto x) { return gelu_by_tanh(x); }>, kMicrosoft},
    {"Floor", unary<[](auto x) { return std::floor(x); }>},
    {"Gelu", gelu_of_either},
    {"Gelu", unary<[](auto x) { return gelu(x); }>, kMicrosoft},
    {"Greater", compare<[](auto x, auto y) { return (x > y); }>},
    {"GreaterOrEqual", compare<[](auto x, auto y) { return x >= y; }>},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", unary<[](auto x) { return x * ramp(x, 1.0F / 6.0F, 0.5F); }>},
    {"Identity", copy_input},
    {"IsInf", is_inf_of},
    {"IsNaN", is_nan_of},
    {"LeakyRelu", leaky_relu},
    {"Less", compare<[](auto x, auto y) { return x < y; }>},
    {"LessOrEqual", compare<[](auto x, auto y) { return x <= y; }>},
    {"Log", unary<[](auto x) { return std::log(x); }>},
    {"Max", variadic<[](auto x, auto y) { return larger(x, y); }, Kind::kNumbers>},
    {"Mean", mean},
    {"Min", variadic<[](auto x, auto y) { return smaller(x, y); }, Kind::kNumbers>},
    {"Mish", unary<[](auto x) { return x * std::tanh(softplus(x)); }>},
    {"Mod", mod},
    {"Mul", binary<[](auto x, auto y) { return times(x, y); }>},
    {"Neg",
     unary<[](auto x) { return std::is_integral_v<decltype(x)> ? minus(decltype(x){0}, x) : -x; },
           Kind::kNumbers>},
    {"Not", unary<[](auto x) { return x == 0; }, Kind::kBools>},
    {"Or", binary<[](auto x, auto y) { return x | y; }, Kind::kBools>},
    {"PRelu", prelu},
    {"Pow", pow},
    {"QuickGelu", quick_gelu, kMicrosoft},
    {"Reciprocal", unary<[](auto x) { return 1 / x; }>},
    {"Relu", unary<[](auto x) { return x < 0 ? decltype(x){0} : x; }, Kind::kNumbers>},
    {"Round", unary<[](auto x) { return std::nearbyint(x); }>},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", fused<FusedFunction::kSigmoid, [](auto x) { return sigmoid(x); }>},
    {"Sign", unary<[](auto x) { return sign(x); }, Kind::kNumbers>},
    {"Sin", unary<[](auto x) { return std::sin(x); }>},
    {"Sinh", unary<[](auto x) { return std::sinh(x); }>},
    {"Softplus", unary<[](auto x) { return softplus(x); }>},
    {"Softsign", unary<[](auto x) { return x * (1 / (1 + std::abs(x))); }>},
    {"Sqrt", unary<[](auto x) { return std::sqrt(x); }>},
    {"Sub", binary<[](auto x, auto y) { return minus(x, y); }>},
    {"Sum", variadic<[](auto x, auto y) { return x + y; }, Kind::kReals>},
    {"Swish", swish},
    {"Tan", unary<[](auto x) { return std::tan(x); }>},
    {"Tanh", fused<FusedFunction::kTanh, [](auto x) { return std::tanh(x); }>},
    {"ThresholdedRelu", thresholded_relu},
    {"Where", where},
    {"Xor", binary<[](auto x, auto y) { return x ^ y; }, Kind::kBools>},
});

}  // namespace

std::span<const HostOperator> elementwise_operators() { return kElementwise; }

}  // namespace qsim::golden
