#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/network/float_rules.h"
#include "golden/host/fused_functions.h"
#include "golden/host/host_operators.h"
#include "golden/host/product_kernels.h"

namespace qsim::golden {

MatrixStacks matrix_stacks(const HostCall& call, const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) {
    call.malformed("a product of " + shape_text(a) + " and " + shape_text(b),
                   "vectors, matrices or stacks of them");
  }
  const bool a_is_vector = a.size() == 1;
  const bool b_is_vector = b.size() == 1;
  const Shape a_stack(a.begin(), a.end() - (a_is_vector ? 1 : 2));
  const Shape b_stack(b.begin(), b.end() - (b_is_vector ? 1 : 2));
  MatrixStacks stacks;
  stacks.rows = a_is_vector ? 1 : a[a.size() - 2];
  stacks.inner = a.back();
  stacks.columns = b_is_vector ? 1 : b.back();
  if (stacks.inner != (b_is_vector ? b[0] : b[b.size() - 2])) {
    call.malformed("a product of " + shape_text(a) + " and " + shape_text(b),
                   "as many columns of the first as rows of the second");
  }
  stacks.stack = broadcast(call, a_stack, b_stack);
  stacks.is_one_product = element_count(b_stack) == 1 && b_stack.size() <= a_stack.size();
  stacks.b_is_vector = b_is_vector;
  stacks.all_rows = stacks.rows;
  if (stacks.is_one_product) {
    stacks.all_rows = checked_mul(stacks.rows, element_count(a_stack));
  }
  stacks.output = stacks.stack;
  if (!a_is_vector) stacks.output.push_back(stacks.rows);
  if (!b_is_vector) stacks.output.push_back(stacks.columns);
  stacks.a_steps = broadcast_steps(a_stack, stacks.stack);
  stacks.b_steps = broadcast_steps(b_stack, stacks.stack);
  for (std::int64_t& step : stacks.a_steps) step *= stacks.rows * stacks.inner;
  for (std::int64_t& step : stacks.b_steps) step *= stacks.inner * stacks.columns;
  return stacks;
}

namespace {

struct ActivationRow {
  std::string_view name;
  float (*function)(float x, float alpha, float beta);
  int numbers = 0;  // how many of alpha and beta it has
  float alpha = 0.0F;
  float beta = 0.0F;
};

constexpr std::array kActivations = {
    ActivationRow{"Relu", [](float x, float, float) { return std::max(x, 0.0F); }},
    ActivationRow{"Tanh", [](float x, float, float) { return apply(FusedFunction::kTanh, x); }},
    ActivationRow{"Sigmoid", [](float x, float, float) { return qsim::sigmoid(x); }},
    ActivationRow{"Softsign", [](float x, float, float) { return x / (1.0F + std::abs(x)); }},
    ActivationRow{"Softplus",
                  [](float x, float, float) {
                    return x > 0.0F ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
                  }},
    ActivationRow{"LeakyRelu",
                  [](float x, float alpha, float) { return qsim::leaky_relu(x, alpha); }, 1, 0.01F},
    ActivationRow{"ThresholdedRelu",
                  [](float x, float alpha, float) { return x > alpha ? x : 0.0F; }, 1, 1.0F},
    ActivationRow{
        "Elu",
        [](float x, float alpha, float) { return x >= 0.0F ? x : alpha * (std::exp(x) - 1.0F); }, 1,
        1.0F},
    ActivationRow{"HardSigmoid", qsim::hard_sigmoid, 2, 0.2F, 0.5F},
    ActivationRow{"ScaledTanh",
                  [](float x, float alpha, float beta) {
                    return alpha * apply(FusedFunction::kTanh, beta * x);
                  },
                  2, 1.0F, 1.0F},
    ActivationRow{"Affine", [](float x, float alpha, float beta) { return alpha * x + beta; }, 2,
                  1.0F, 0.0F},
    ActivationRow{"Clip", [](float x, float lo, float hi) { return qsim::clip(x, lo, hi); }, 2,
                  std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()},
};

// Calls body.template operator()<T>() with the type in which sums of a dtype are made: integers
// wrap.
template <typename Body>
void with_sum_type(const HostCall& call, DType dtype, Body body) {
  switch (dtype) {
    case DType::kFloat32:
      return body.template operator()<float>();
    case DType::kFloat64:
      return body.template operator()<double>();
    case DType::kInt32:
      return body.template operator()<std::uint32_t>();
    case DType::kInt64:
      return body.template operator()<std::uint64_t>();
    default:
      call.refuse("a product of " + std::string(dtype_name(dtype)),
                  "float32, float64, int32 and int64");
  }
}

// The last two axes exchanged.
Shape matrices_turned(Shape shape) {
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

// Each matrix of a stack, [rows][columns], turned.
template <typename T>
std::vector<T> matrices_turned(const Tensor& tensor) {
  const auto from = elements<T>(tensor);
  const std::int64_t rows = tensor.shape[tensor.shape.size() - 2];
  const std::int64_t columns = tensor.shape.back();
  std::vector<T> turned;
  turned.reserve(from.size());
  for (std::size_t at = 0; at < from.size(); at += static_cast<std::size_t>(rows * columns)) {
    const std::vector<T> matrix = transposed(from.data() + at, rows, columns);
    turned.insert(turned.end(), matrix.begin(), matrix.end());
  }
  return turned;
}

void check_one_type(const HostCall& call) {
  if (call.dtype(0) == call.dtype(1)) return;
  call.malformed("a product of " + std::string(dtype_name(call.dtype(0))) + " and " +
                     std::string(dtype_name(call.dtype(1))),
                 "one type");
}

// MatMul with the attributes of FusedMatMul, which it does not have.
void matmul(HostCall& call) {
  check_one_type(call);
  for (const char* name : {"transBatchA", "transBatchB"}) {
    if (call.attribute(name, std::int64_t{0}) == 0) continue;
    call.refuse(std::string(name) + " 1", "0");
  }
  const auto is_turned = [&](const char* name, std::size_t index) {
    return call.attribute(name, std::int64_t{0}) != 0 && call.shape(index).size() > 1;
  };
  const bool turns_a = is_turned("transA", 0);
  const bool turns_b = is_turned("transB", 1);
  const float alpha = call.attribute("alpha", 1.0F);
  const DType dtype = call.dtype(0);
  if (alpha != 1.0F && dtype != DType::kFloat32 && dtype != DType::kFloat64) {
    call.refuse("alpha beside " + std::string(dtype_name(dtype)), "float32 and float64");
  }
  const MatrixStacks stacks =
      matrix_stacks(call, turns_a ? matrices_turned(call.shape(0)) : call.shape(0),
                    turns_b ? matrices_turned(call.shape(1)) : call.shape(1));
  with_sum_type(call, dtype, [&]<typename T>() {
    Tensor* out = call.output(0, dtype, stacks.output);
    if (out == nullptr) return;
    const Tensor& a = call.input(0);
    const Tensor& b = call.input(1);
    const std::vector<T> a_turned = turns_a ? matrices_turned<T>(a) : std::vector<T>{};
    const std::vector<T> b_turned = turns_b ? matrices_turned<T>(b) : std::vector<T>{};
    multiply_stacks(stacks, turns_a ? a_turned.data() : elements<T>(a).data(),
                    turns_b ? b_turned.data() : elements<T>(b).data(), elements<T>(*out).data(),
                    {.a_is_turned = turns_a, .b_is_turned = turns_b, .is_plain = alpha == 1.0F},
                    alpha);
  });
}

// alpha * A * B + beta * C, and an activation for FusedGemm.
void gemm(HostCall& call) {
  check_one_type(call);
  const DType dtype = call.dtype(0);
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) {
    call.refuse("a Gemm of " + std::string(dtype_name(dtype)), "float32 and float64");
  }
  if (call.shape(0).size() != 2 || call.shape(1).size() != 2) {
    call.malformed("a Gemm of " + shape_text(call.shape(0)) + " and " + shape_text(call.shape(1)),
                   "two matrices");
  }
  const bool turns_a = call.attribute("transA", std::int64_t{0}) != 0;
  const bool turns_b = call.attribute("transB", std::int64_t{0}) != 0;
  const float alpha = call.attribute("alpha", 1.0F);
  const float beta = call.attribute("beta", 1.0F);
  const MatrixStacks stacks =
      matrix_stacks(call, turns_a ? matrices_turned(call.shape(0)) : call.shape(0),
                    turns_b ? matrices_turned(call.shape(1)) : call.shape(1));
  if (call.has(2) &&
      (call.dtype(2) != dtype || broadcast(call, call.shape(2), stacks.output) != stacks.output)) {
    call.malformed(
        "a C of " + std::string(dtype_name(call.dtype(2))) + " " + shape_text(call.shape(2)),
        "one that broadcasts to " + shape_text(stacks.output));
  }
  const std::string name = call.attribute("activation", "");
  std::optional<NamedActivation> activation;
  if (!name.empty()) {
    const auto number = [&](const char* attribute) {
      return call.has_attribute(attribute) ? std::optional(call.attribute(attribute, 0.0F))
                                           : std::nullopt;
    };
    activation =
        named_activation(call, name, number("activation_alpha"), number("activation_beta"));
  }
  Tensor* out = call.output(0, dtype, stacks.output);
  if (out == nullptr) return;
  with_sum_type(call, dtype, [&]<typename T>() {
    const Tensor& a = call.input(0);
    const Tensor& b = call.input(1);
    const std::vector<T> a_turned = turns_a ? matrices_turned<T>(a) : std::vector<T>{};
    const std::vector<T> b_turned = turns_b ? matrices_turned<T>(b) : std::vector<T>{};
    const auto values = elements<T>(*out);
    const bool adds = call.has(2) && beta != 0.0F;
    if (adds) {
      const auto c = elements<T>(call.input(2));
      for_each_position<1>(stacks.output, {broadcast_steps(call.shape(2), stacks.output)},
                           [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
                             values[static_cast<std::size_t>(i)] =
                                 static_cast<T>(beta) * c[static_cast<std::size_t>(at[0])];
                           });
    }
    multiply_stacks(stacks, turns_a ? a_turned.data() : elements<T>(a).data(),
                    turns_b ? b_turned.data() : elements<T>(b).data(), values.data(),
                    {.a_is_turned = turns_a,
                     .b_is_turned = turns_b,
                     .is_plain = alpha == 1.0F && (!adds || beta == 1.0F)},
                    alpha, !adds);
    if (!activation) return;
    for (T& value : values) value = static_cast<T>((*activation)(static_cast<float>(value)));
  });
}

constexpr std::array kProductOperators = {
    HostOperator{"AveragePool", run_average_pool},
    HostOperator{"Conv", run_convolution},
    HostOperator{"ConvTranspose", run_transposed_convolution},
    HostOperator{"FusedConv", run_fused_convolution, kMicrosoft},
    HostOperator{"FusedGemm", gemm, kMicrosoft},
    HostOperator{"FusedMatMul", matmul, kMicrosoft},
    HostOperator{"GRU", run_gru},
    HostOperator{"Gemm", gemm},
    HostOperator{"GlobalAveragePool", run_global_average_pool},
    HostOperator{"GlobalLpPool", run_global_lp_pool},
    HostOperator{"GlobalMaxPool", run_global_max_pool},
    HostOperator{"LSTM", run_lstm},
    HostOperator{"LpPool", run_lp_pool},
    HostOperator{"MatMul", matmul},
    HostOperator{"MaxPool", run_max_pool},
    HostOperator{"NhwcMaxPool", run_nhwc_max_pool, kMicrosoft},
    HostOperator{"RNN", run_rnn},
};

}  // namespace

int activation_numbers(const std::string& name) {
  const auto* row = std::ranges::find(kActivations, name, &ActivationRow::name);
  return row == kActivations.end() ? 0 : row->numbers;
}

NamedActivation named_activation(const HostCall& call, const std::string& name,
                                 std::optional<float> alpha, std::optional<float> beta) {
  const auto* row = std::ranges::find(kActivations, name, &ActivationRow::name);
  if (row == kActivations.end()) {
    std::string names;
    for (const ActivationRow& known : kActivations) {
      names += (names.empty() ? "" : ", ") + std::string(known.name);
    }
    call.refuse("activation '" + name + "'", names);
  }
  return {row->function, alpha.value_or(row->alpha), beta.value_or(row->beta)};
}

std::span<const HostOperator> product_operators() { return kProductOperators; }

}  // namespace qsim::golden
