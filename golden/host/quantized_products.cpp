#include <algorithm>
#include <array>

#include "golden/host/product_kernels.h"
#include "golden/host/quantization.h"

namespace qsim::golden {
namespace {

// Sums are int32 as they wrap: exact where they fit, the low 32 bits where they do not.
using Sum = std::uint32_t;

float real_sum(Sum sum) { return static_cast<float>(static_cast<std::int32_t>(sum)); }

// The sum times `scale`, a float32 product, as a level of y.
std::byte requantized_sum(Sum sum, float scale, const LevelsScale& y) {
  const float product = real_sum(sum) * scale;
  return static_cast<std::byte>(
      saturated_level(static_cast<double>(product), y.zero_point, level_range(y.dtype)));
}

// The number for a channel, of a list of one for all or one for each.
template <typename T>
T of_channel(const std::vector<T>& numbers, std::size_t channel) {
  return numbers.size() == 1 ? numbers[0] : numbers[channel];
}

// Levels without their zero_points. `channel(i)` is the channel of element i.
template <typename Channel>
std::vector<Sum> centred_levels(const Tensor& tensor, const std::vector<std::int32_t>& zero_points,
                                Channel channel) {
  const std::vector<std::int32_t> levels = levels_of(tensor);
  std::vector<Sum> centred(levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::int32_t zero_point =
        zero_points.size() == 1 ? zero_points[0] : zero_points[channel(i)];
    centred[i] = static_cast<Sum>(levels[i] - zero_point);
  }
  return centred;
}

std::vector<Sum> centred_levels(const Tensor& tensor, std::int32_t zero_point) {
  return centred_levels(tensor, {zero_point}, [](std::size_t) { return std::size_t{0}; });
}

std::vector<Sum> centred_weights(const HostCall& call, std::size_t weights,
                                 std::size_t zero_point) {
  const Tensor& tensor = call.input(weights);
  const std::int64_t channels = tensor.shape[0];
  const auto size = static_cast<std::size_t>(tensor.elems() / std::max<std::int64_t>(channels, 1));
  return centred_levels(tensor, zero_points_of(call, zero_point, channels),
                        [&](std::size_t i) { return i / size; });
}

// The channels of [N, H, W, C] before its positions, or after them again.
template <typename T>
std::vector<T> planes_turned(const std::vector<T>& values, std::int64_t batch, std::int64_t rows,
                             std::int64_t columns) {
  std::vector<T> turned;
  turned.reserve(values.size());
  for (std::int64_t n = 0; n < batch; ++n) {
    const std::vector<T> part = transposed(values.data() + n * rows * columns, rows, columns);
    turned.insert(turned.end(), part.begin(), part.end());
  }
  return turned;
}

Shape channels_first(Shape shape) {
  std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

Shape channels_last(Shape shape) {
  std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return shape;
}

void check_int32(const HostCall& call, std::size_t index) {
  if (!call.has(index) || call.dtype(index) == DType::kInt32) return;
  call.malformed("a bias of " + std::string(dtype_name(call.dtype(index))), "int32");
}

}  // namespace

void run_qlinear_convolution(HostCall& call) {
  check_levels(call, 0);
  check_levels(call, 3);
  check_int32(call, 8);
  const bool is_last = call.attribute("channels_last", std::int64_t{0}) != 0;
  static_cast<void>(spatial_shape(call, call.shape(0)));
  const Convolution conv =
      convolution_of(call, is_last ? channels_first(call.shape(0)) : call.shape(0), call.shape(3));
  const std::int64_t channels = call.shape(3)[0];
  if (call.has(8) && call.shape(8) != Shape{channels}) {
    call.malformed("a bias of shape " + shape_text(call.shape(8)), shape_text({channels}));
  }
  const DType dtype = level_type(call, 7, call.dtype(0));
  const Shape shape = conv.output_shape();
  Tensor* out = call.output(0, dtype, is_last ? channels_last(shape) : shape);
  if (out == nullptr || out->bytes.empty()) return;
  const LevelsScale x = quantization_of(call, 1, 2, call.dtype(0));
  const LevelsScale y = quantization_of(call, 6, 7, dtype);
  const std::vector<float> w_scales = scales_of(call, 4, channels);
  std::vector<Sum> picture = centred_levels(call.input(0), x.zero_point);
  if (is_last) {
    picture = planes_turned(picture, conv.batch, conv.window.inputs(), conv.group * conv.inputs);
  }
  std::vector<Sum> sums(out->bytes.size(), 0);
  convolve(conv, picture.data(), centred_weights(call, 3, 5).data(), sums.data());
  const auto positions = static_cast<std::size_t>(conv.window.outputs());
  std::vector<std::byte> bytes(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t channel = i / positions % static_cast<std::size_t>(channels);
    const Sum bias =
        call.has(8) ? static_cast<Sum>(elements<std::int32_t>(call.input(8))[channel]) : 0;
    const float scale = (x.scale * of_channel(w_scales, channel)) / y.scale;
    bytes[i] = requantized_sum(sums[i] + bias, scale, y);
  }
  out->bytes = is_last ? planes_turned(bytes, conv.batch, channels, conv.window.outputs()) : bytes;
}

void run_integer_convolution(HostCall& call) {
  check_levels(call, 0);
  check_levels(call, 1);
  const Convolution conv = convolution_of(call, call.shape(0), call.shape(1));
  Tensor* out = call.output(0, DType::kInt32, conv.output_shape());
  if (out == nullptr) return;
  const std::vector<Sum> picture = centred_levels(call.input(0), zero_points_of(call, 2, 1)[0]);
  convolve(conv, picture.data(), centred_weights(call, 1, 3).data(), elements<Sum>(*out).data());
}

namespace {

// The sums of a product of levels, whose second operand may have a zero_point a column.
std::vector<Sum> sums_of(const MatrixStacks& stacks, const std::vector<Sum>& a,
                         const std::vector<Sum>& b) {
  std::vector<Sum> sums(static_cast<std::size_t>(element_count(stacks.output)), 0);
  multiply_stacks(stacks, a.data(), b.data(), sums.data());
  return sums;
}

std::vector<Sum> centred_columns(const HostCall& call, std::size_t index, std::size_t zero_point,
                                 std::int64_t columns) {
  const auto count = static_cast<std::size_t>(columns);
  return centred_levels(call.input(index), zero_points_of(call, zero_point, columns),
                        [&](std::size_t i) { return i % count; });
}

// sum * (a_scale * b_scale) + bias, as float32.
void scale_sums(const HostCall& call, const MatrixStacks& stacks, const std::vector<Sum>& sums,
                float a_scale, std::size_t b_scale, std::size_t bias, Tensor& out) {
  const std::vector<float> b_scales = scales_of(call, b_scale, stacks.columns);
  const auto columns = static_cast<std::size_t>(stacks.columns);
  const auto values = out.as<float>();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float scale = a_scale * of_channel(b_scales, i % columns);
    values[i] = real_sum(sums[i]) * scale;
    if (call.has(bias)) values[i] += elements<float>(call.input(bias))[i % columns];
  }
}

void check_real_bias(const HostCall& call, std::size_t bias, std::int64_t columns) {
  if (!call.has(bias)) return;
  if (call.dtype(bias) == DType::kFloat32 && call.shape(bias) == Shape{columns}) return;
  call.malformed(
      "a bias of " + std::string(dtype_name(call.dtype(bias))) + " " + shape_text(call.shape(bias)),
      "float32 " + shape_text({columns}));
}

}  // namespace

void run_qlinear_matmul(HostCall& call) {
  check_levels(call, 0);
  check_levels(call, 3);
  const MatrixStacks stacks = matrix_stacks(call, call.shape(0), call.shape(3));
  const DType dtype = level_type(call, 7, call.dtype(0));
  Tensor* out = call.output(0, dtype, stacks.output);
  if (out == nullptr) return;
  const LevelsScale a = quantization_of(call, 1, 2, call.dtype(0));
  const LevelsScale y = quantization_of(call, 6, 7, dtype);
  const std::vector<float> b_scales = scales_of(call, 4, stacks.columns);
  const std::vector<Sum> sums = sums_of(stacks, centred_levels(call.input(0), a.zero_point),
                                        centred_columns(call, 3, 5, stacks.columns));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t column = i % static_cast<std::size_t>(stacks.columns);
    const float scale = (a.scale * of_channel(b_scales, column)) / y.scale;
    out->bytes[i] = requantized_sum(sums[i], scale, y);
  }
}

void run_integer_matmul(HostCall& call) {
  check_levels(call, 0);
  check_levels(call, 1);
  const MatrixStacks stacks = matrix_stacks(call, call.shape(0), call.shape(1));
  Tensor* out = call.output(0, DType::kInt32, stacks.output);
  if (out == nullptr) return;
  const std::vector<Sum> a = centred_levels(call.input(0), zero_points_of(call, 2, 1)[0]);
  const std::vector<Sum> b = centred_columns(call, 1, 3, stacks.columns);
  multiply_stacks(stacks, a.data(), b.data(), elements<Sum>(*out).data());
}

void run_integer_matmul_to_float(HostCall& call) {
  check_levels(call, 0);
  check_levels(call, 1);
  const MatrixStacks stacks = matrix_stacks(call, call.shape(0), call.shape(1));
  check_real_bias(call, 6, stacks.columns);
  Tensor* out = call.output(0, DType::kFloat32, stacks.output);
  if (out == nullptr) return;
  const LevelsScale a = quantization_of(call, 2, 4, call.dtype(0));
  const std::vector<Sum> sums = sums_of(stacks, centred_levels(call.input(0), a.zero_point),
                                        centred_columns(call, 1, 5, stacks.columns));
  scale_sums(call, stacks, sums, a.scale, 3, 6, *out);
}

void run_dynamic_matmul(HostCall& call) {
  if (call.dtype(0) != DType::kFloat32) {
    call.refuse("numbers of " + std::string(dtype_name(call.dtype(0))), "float32");
  }
  check_levels(call, 1);
  const MatrixStacks stacks = matrix_stacks(call, call.shape(0), call.shape(1));
  check_real_bias(call, 4, stacks.columns);
  Tensor* out = call.output(0, DType::kFloat32, stacks.output);
  if (out == nullptr) return;
  const auto values = call.input(0).as<float>();
  const LevelsScale a = dynamic_quantization(values);
  std::vector<Sum> levels(values.size());
  std::ranges::transform(values, levels.begin(), [&](float value) {
    return static_cast<Sum>(quantized_level(value, a) - a.zero_point);
  });
  const std::vector<Sum> sums =
      sums_of(stacks, levels, centred_columns(call, 1, 3, stacks.columns));
  scale_sums(call, stacks, sums, a.scale, 2, 4, *out);
}

// alpha * A * B + C, C of int32 levels of the sums; float32 where there is no output scale.
void run_qgemm(HostCall& call) {
  check_levels(call, 0);
  check_levels(call, 3);
  check_int32(call, 6);
  const Shape& a_shape = call.shape(0);
  const Shape& b_shape = call.shape(3);
  if (a_shape.size() != 2 || b_shape.size() != 2) {
    call.malformed("a product of " + shape_text(a_shape) + " and " + shape_text(b_shape),
                   "two matrices");
  }
  const bool turns_a = call.attribute("transA", std::int64_t{0}) != 0;
  const bool turns_b = call.attribute("transB", std::int64_t{0}) != 0;
  const float alpha = call.attribute("alpha", 1.0F);
  const MatrixStacks stacks = matrix_stacks(call, turns_a ? Shape{a_shape[1], a_shape[0]} : a_shape,
                                            turns_b ? Shape{b_shape[1], b_shape[0]} : b_shape);
  if (call.has(6) && broadcast(call, call.shape(6), stacks.output) != stacks.output) {
    call.malformed("a C of " + shape_text(call.shape(6)),
                   "one that broadcasts to " + shape_text(stacks.output));
  }
  const bool is_real = !call.has(7);
  const DType dtype = is_real ? DType::kFloat32 : level_type(call, 8, call.dtype(0));
  Tensor* out = call.output(0, dtype, stacks.output);
  if (out == nullptr) return;
  const LevelsScale a = quantization_of(call, 1, 2, call.dtype(0));
  std::vector<Sum> a_levels = centred_levels(call.input(0), a.zero_point);
  if (turns_a) a_levels = transposed(a_levels.data(), a_shape[0], a_shape[1]);
  const auto b_inner = static_cast<std::size_t>(std::max<std::int64_t>(b_shape[1], 1));
  std::vector<Sum> b_levels =
      centred_levels(call.input(3), zero_points_of(call, 5, stacks.columns),
                     [&](std::size_t i) { return turns_b ? i / b_inner : i % b_inner; });
  if (turns_b) b_levels = transposed(b_levels.data(), b_shape[0], b_shape[1]);
  std::vector<Sum> sums = sums_of(stacks, a_levels, b_levels);
  if (call.has(6)) {
    const auto c = elements<Sum>(call.input(6));
    for_each_position<1>(stacks.output, {broadcast_steps(call.shape(6), stacks.output)},
                         [&](std::int64_t i, const std::array<std::int64_t, 1>& at) {
                           sums[static_cast<std::size_t>(i)] += c[static_cast<std::size_t>(at[0])];
                         });
  }
  if (is_real) return scale_sums(call, stacks, sums, alpha * a.scale, 4, call.inputs(), *out);
  const std::vector<float> b_scales = scales_of(call, 4, stacks.columns);
  const LevelsScale y = quantization_of(call, 7, 8, dtype);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t column = i % static_cast<std::size_t>(stacks.columns);
    const float scale = ((alpha * a.scale) * of_channel(b_scales, column)) / y.scale;
    out->bytes[i] = requantized_sum(sums[i], scale, y);
  }
}

}  // namespace qsim::golden
