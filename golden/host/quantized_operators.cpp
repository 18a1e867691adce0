#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/network/float_rules.h"
#include "golden/host/host_operators.h"
#include "golden/host/quantization.h"

namespace qsim::golden {
namespace {

template <typename T>
LevelRange range_of_type() {
  return {static_cast<double>(std::numeric_limits<T>::lowest()),
          static_cast<double>(std::numeric_limits<T>::max())};
}

}  // namespace

LevelRange level_range(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return range_of_type<std::int8_t>();
    case DType::kInt16:
      return range_of_type<std::int16_t>();
    case DType::kInt32:
      return range_of_type<std::int32_t>();
    default:
      return range_of_type<std::uint8_t>();
  }
}

void check_levels(const HostCall& call, std::size_t index) {
  const DType dtype = call.dtype(index);
  if (dtype == DType::kInt8 || dtype == DType::kUint8) return;
  call.refuse("input " + std::to_string(index) + " of " + std::string(dtype_name(dtype)),
              "int8 and uint8");
}

DType level_type(const HostCall& call, std::size_t zero_point, DType fallback) {
  if (!call.has(zero_point)) return fallback;
  check_levels(call, zero_point);
  return call.dtype(zero_point);
}

std::vector<float> scales_of(const HostCall& call, std::size_t index, std::int64_t channels) {
  const Tensor& tensor = call.input(index);
  if (tensor.dtype != DType::kFloat32) {
    call.refuse("a scale of " + std::string(dtype_name(tensor.dtype)), "float32");
  }
  const std::int64_t count = tensor.elems();
  if (count != 1 && count != channels) {
    call.refuse(std::to_string(count) + " scales of " + std::to_string(channels) + " channels",
                "one, or one a channel");
  }
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

std::vector<std::int32_t> zero_points_of(const HostCall& call, std::size_t index,
                                         std::int64_t channels) {
  if (!call.has(index)) return {0};
  const std::vector<std::int64_t> values = call.integers(index);
  const auto count = static_cast<std::int64_t>(values.size());
  if (count != 1 && count != channels) {
    call.refuse(std::to_string(count) + " zero_points of " + std::to_string(channels) + " channels",
                "one, or one a channel");
  }
  if (call.dtype(index) != DType::kInt32 && call.dtype(index) != DType::kInt16) {
    check_levels(call, index);
  }
  std::vector<std::int32_t> levels;
  for (const std::int64_t value : values) levels.push_back(static_cast<std::int32_t>(value));
  return levels;
}

LevelsScale quantization_of(const HostCall& call, std::size_t scale, std::size_t zero_point,
                            DType dtype) {
  return {scales_of(call, scale, 1)[0], zero_points_of(call, zero_point, 1)[0], dtype};
}

std::vector<std::int32_t> levels_of(const Tensor& tensor) {
  std::vector<std::int32_t> levels(tensor.bytes.size());
  std::ranges::transform(tensor.bytes, levels.begin(), [&](std::byte byte) {
    return level_of_byte(std::to_integer<std::size_t>(byte), tensor.dtype);
  });
  return levels;
}

LevelTable requantizing_levels(const LevelsScale& from, const LevelsScale& to) {
  if (from.scale == to.scale && from.zero_point == to.zero_point && from.dtype == to.dtype) {
    LevelTable same{};
    for (std::size_t byte = 0; byte < same.size(); ++byte) {
      same[byte] = static_cast<std::uint8_t>(byte);
    }
    return same;
  }
  return level_table(from, to, [](float x) { return x; });
}

LevelsScale dynamic_quantization(std::span<const float> values) {
  float lo = 0.0F;
  float hi = 0.0F;
  for (const float value : values) {
    lo = std::min(lo, value);
    hi = std::max(hi, value);
  }
  const float scale = lo == hi ? 1.0F : (hi - lo) / 255.0F;
  return {scale, saturated_level(static_cast<double>(-lo / scale), 0, level_range(DType::kUint8)),
          DType::kUint8};
}

namespace {

// Which of several scales each element of a tensor has: one for all, one for each position of an
// axis, or one for each block of positions.
struct ScaleLayout {
  std::int64_t outer = 1;
  std::int64_t axis = 1;
  std::int64_t inner = 1;
  std::int64_t block = 1;           // positions of the axis that share a scale
  bool has_one_each_block = false;  // for each of outer and inner, too
};

ScaleLayout scale_layout(const HostCall& call) {
  const Shape& shape = call.shape(0);
  const Shape& scales = call.shape(1);
  ScaleLayout layout;
  if (element_count(scales) == 1 && call.attribute("block_size", std::int64_t{0}) == 0) {
    layout.axis = element_count(shape);
    layout.block = std::max<std::int64_t>(layout.axis, 1);
    return layout;
  }
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{1}), shape.size());
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  layout.outer = element_count(Shape(shape.begin(), at));
  layout.axis = shape[axis];
  layout.inner = element_count(Shape(at + 1, shape.end()));
  Shape expected = {layout.axis};
  if (const auto block = call.attribute("block_size", std::int64_t{0}); block != 0) {
    if (block < 1) call.malformed("block_size " + std::to_string(block), "0 or more");
    layout.block = std::min(block, std::max<std::int64_t>(layout.axis, 1));
    layout.has_one_each_block = true;
    expected = shape;
    expected[axis] = ceil_div(layout.axis, layout.block);
  }
  if (scales != expected) {
    call.malformed("scales of shape " + shape_text(scales) + " for a tensor " + shape_text(shape),
                   shape_text(expected));
  }
  return layout;
}

// Calls body(element, its scale) for each element, both as indices.
template <typename Body>
void for_each_scaled(const ScaleLayout& layout, Body body) {
  const std::int64_t blocks = ceil_div(layout.axis, layout.block);
  std::size_t element = 0;
  for (std::int64_t o = 0; o < layout.outer; ++o) {
    for (std::int64_t a = 0; a < layout.axis; ++a) {
      for (std::int64_t i = 0; i < layout.inner; ++i) {
        const std::int64_t block = a / layout.block;
        body(element++, static_cast<std::size_t>(layout.has_one_each_block
                                                     ? (o * blocks + block) * layout.inner + i
                                                     : block));
      }
    }
  }
}

void check_scales(const HostCall& call) {
  if (call.dtype(1) != DType::kFloat32) {
    call.refuse("a scale of " + std::string(dtype_name(call.dtype(1))), "float32");
  }
  if (call.has(2) && element_count(call.shape(2)) != element_count(call.shape(1))) {
    call.malformed("zero_points of shape " + shape_text(call.shape(2)) + " beside scales of " +
                       shape_text(call.shape(1)),
                   "one for each scale");
  }
}

bool is_level_type(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUint8 || dtype == DType::kInt16 ||
         dtype == DType::kInt32;
}

// What QuantizeLinear writes: an element type of ONNX, as the host has it, and its range. The
// importer names in output_dtype the type of zero_points that are wider here than in the file.
struct QuantizedType {
  std::int64_t onnx = 0;
  DType dtype = DType::kUint8;
  LevelRange range = {};
};
constexpr std::array<QuantizedType, 6> kQuantizedTypes = {{{2, DType::kUint8, {0, 255}},
                                                           {3, DType::kInt8, {-128, 127}},
                                                           {4, DType::kInt32, {0, 65535}},
                                                           {5, DType::kInt16, {-32768, 32767}},
                                                           {21, DType::kUint8, {0, 15}},
                                                           {22, DType::kInt8, {-8, 7}}}};

QuantizedType quantized_type(const HostCall& call) {
  const auto onnx = call.attribute("output_dtype", std::int64_t{0});
  const auto* const named = std::ranges::find(kQuantizedTypes, onnx, &QuantizedType::onnx);
  if (onnx != 0 && named == kQuantizedTypes.end()) {
    call.refuse("output_dtype " + std::to_string(onnx),
                "uint8, int8, uint16, int16, uint4 and int4");
  }
  if (call.has(2)) {
    const DType dtype = call.dtype(2);
    const bool is_named = onnx != 0 && named->dtype == dtype;
    return is_named ? *named : QuantizedType{0, dtype, level_range(dtype)};
  }
  return onnx == 0 ? kQuantizedTypes[0] : *named;
}

void quantize_linear(HostCall& call) {
  check_scales(call);
  const ScaleLayout layout = scale_layout(call);
  const QuantizedType type = quantized_type(call);
  const DType dtype = type.dtype;
  if (!is_level_type(dtype)) {
    call.refuse("levels of " + std::string(dtype_name(dtype)), "int8, uint8, int16 and int32");
  }
  if (call.dtype(0) != DType::kFloat32 && call.dtype(0) != DType::kInt32) {
    call.refuse("numbers of " + std::string(dtype_name(call.dtype(0))), "float32 and int32");
  }
  Tensor* out = call.output(0, dtype, call.shape(0));
  if (out == nullptr) return;
  const auto scales = elements<float>(call.input(1));
  const std::vector<std::int64_t> zeros =
      call.has(2) ? call.integers(2) : std::vector<std::int64_t>(scales.size(), 0);
  with_type(dtype, [&]<typename Level>() {
    with_type(call.dtype(0), [&]<typename Real>() {
      const auto from = elements<Real>(call.input(0));
      const auto to = elements<Level>(*out);
      for_each_scaled(layout, [&](std::size_t i, std::size_t s) {
        const auto real = static_cast<double>(static_cast<float>(from[i]) / scales[s]);
        to[i] = static_cast<Level>(
            saturated_level(real, static_cast<std::int32_t>(zeros[s]), type.range));
      });
    });
  });
}

void dequantize_linear(HostCall& call) {
  check_scales(call);
  const ScaleLayout layout = scale_layout(call);
  if (!is_level_type(call.dtype(0))) {
    call.refuse("levels of " + std::string(dtype_name(call.dtype(0))),
                "int8, uint8, int16 and int32");
  }
  Tensor* out = call.output(0, DType::kFloat32, call.shape(0));
  if (out == nullptr) return;
  const auto scales = elements<float>(call.input(1));
  const std::vector<std::int64_t> zeros =
      call.has(2) ? call.integers(2) : std::vector<std::int64_t>(scales.size(), 0);
  const auto to = out->as<float>();
  with_type(call.dtype(0), [&]<typename Level>() {
    const auto from = elements<Level>(call.input(0));
    for_each_scaled(layout, [&](std::size_t i, std::size_t s) {
      const auto centred = static_cast<float>(static_cast<std::int64_t>(from[i]) - zeros[s]);
      to[i] = centred * scales[s];
    });
  });
}

void dynamic_quantize_linear(HostCall& call) {
  if (call.dtype(0) != DType::kFloat32) {
    call.refuse("numbers of " + std::string(dtype_name(call.dtype(0))), "float32");
  }
  Tensor* out = call.output(0, DType::kUint8, call.shape(0));
  Tensor* scale = call.output(1, DType::kFloat32, {});
  Tensor* zero_point = call.output(2, DType::kUint8, {});
  if (!call.computes()) return;
  const auto values = call.input(0).as<float>();
  const LevelsScale found = dynamic_quantization(values);
  if (scale != nullptr) scale->as<float>()[0] = found.scale;
  if (zero_point != nullptr) {
    zero_point->as<std::uint8_t>()[0] = static_cast<std::uint8_t>(found.zero_point);
  }
  if (out == nullptr) return;
  std::ranges::transform(values, out->as<std::uint8_t>().begin(), [&](float value) {
    return static_cast<std::uint8_t>(quantized_level(value, found));
  });
}

std::uint8_t mapped_level(const LevelTable& table, std::byte byte) {
  return table[std::to_integer<std::size_t>(byte)];
}

// A function of one tensor: a table of its 256 levels.
template <typename Function>
void map_levels(HostCall& call, Function function) {
  check_levels(call, 0);
  const DType dtype = level_type(call, 4, call.dtype(0));
  Tensor* out = call.output(0, dtype, call.shape(0));
  if (out == nullptr) return;
  const LevelTable table = level_table(quantization_of(call, 1, 2, call.dtype(0)),
                                       quantization_of(call, 3, 4, dtype), function);
  std::ranges::transform(call.input(0).bytes, out->bytes.begin(),
                         [&](std::byte byte) { return std::byte{mapped_level(table, byte)}; });
}

void qlinear_leaky_relu(HostCall& call) {
  const float alpha = call.attribute("alpha", 0.01F);
  map_levels(call, [&](float x) { return qsim::leaky_relu(x, alpha); });
}

void qlinear_sigmoid(HostCall& call) { map_levels(call, qsim::sigmoid); }

// Two tensors with their scales and zero_points, side by side.
struct LevelPair {
  LevelsScale a;
  LevelsScale b;
  LevelsScale y;
};

// body(pair) gives a function of a level of each tensor.
template <typename Body>
void combine_levels(HostCall& call, Body body) {
  check_levels(call, 0);
  check_levels(call, 3);
  const Shape shape = broadcast(call, call.shape(0), call.shape(3));
  const DType dtype = level_type(call, 7, call.dtype(0));
  Tensor* out = call.output(0, dtype, shape);
  if (out == nullptr) return;
  const std::vector<std::int32_t> a = levels_of(call.input(0));
  const std::vector<std::int32_t> b = levels_of(call.input(3));
  const LevelPair pair{.a = quantization_of(call, 1, 2, call.dtype(0)),
                       .b = quantization_of(call, 4, 5, call.dtype(3)),
                       .y = quantization_of(call, 6, 7, dtype)};
  const auto function = body(pair);
  const LevelRange range = level_range(dtype);
  for_each_position<2>(
      shape, {broadcast_steps(call.shape(0), shape), broadcast_steps(call.shape(3), shape)},
      [&](std::int64_t i, const std::array<std::int64_t, 2>& at) {
        const auto sum = static_cast<double>(
            function(a[static_cast<std::size_t>(at[0])], b[static_cast<std::size_t>(at[1])]));
        out->bytes[static_cast<std::size_t>(i)] =
            static_cast<std::byte>(saturated_level(sum, 0, range));
      });
}

// Whether single numbers of `a` are repeated along the innermost axis that is not 1 in both.
bool repeats_numbers(const Shape& a, const Shape& b) {
  for (std::size_t i = 1; i <= std::max(a.size(), b.size()); ++i) {
    const std::int64_t of_a = i <= a.size() ? a[a.size() - i] : 1;
    const std::int64_t of_b = i <= b.size() ? b[b.size() - i] : 1;
    if (of_a != 1 || of_b != 1) return of_a == 1;
  }
  return true;
}

// As ONNX Runtime adds on a processor with FMA: a tensor whose numbers are repeated is the second.
void qlinear_add(HostCall& call) {
  const auto offset = static_cast<float>(call.attribute(kLevelsOffset, std::int64_t{0}));
  combine_levels(call, [&](const LevelPair& pair) {
    const bool swaps = repeats_numbers(call.shape(0), call.shape(3));
    const LevelsScale& first = swaps ? pair.b : pair.a;
    const LevelsScale& second = swaps ? pair.a : pair.b;
    const float first_ratio = first.scale / pair.y.scale;
    const float second_ratio = second.scale / pair.y.scale;
    const auto zero = [=](const LevelsScale& of) {
      return static_cast<float>(of.zero_point) + offset;
    };
    const float second_zero = second_ratio * zero(second);
    const float fixed = zero(pair.y) - std::fma(first_ratio, zero(first), second_zero);
    return [=](std::int32_t a, std::int32_t b) {
      const float of_first = static_cast<float>(swaps ? b : a) + offset;
      const float of_second = static_cast<float>(swaps ? a : b) + offset;
      const float sum = std::fma(of_first, first_ratio, std::fma(of_second, second_ratio, fixed));
      return static_cast<double>(sum) - static_cast<double>(offset);
    };
  });
}

void qlinear_mul(HostCall& call) {
  combine_levels(call, [](const LevelPair& pair) {
    const float scale = (pair.a.scale * pair.b.scale) / pair.y.scale;
    return [=](std::int32_t a, std::int32_t b) {
      const std::int32_t product = (a - pair.a.zero_point) * (b - pair.b.zero_point);
      const float scaled = static_cast<float>(product) * scale;
      return scaled + static_cast<float>(pair.y.zero_point);
    };
  });
}

// Inputs: the output's scale and zero_point, then tensors, each with its own two.
void qlinear_concat(HostCall& call) {
  if (call.inputs() < 5 || call.inputs() % 3 != 2) {
    call.malformed(std::to_string(call.inputs()) + " inputs", "two, and three for each tensor");
  }
  check_levels(call, 1);
  Shape shape = call.shape(2);
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{0}), shape.size());
  shape[axis] = 0;
  for (std::size_t i = 2; i < call.inputs(); i += 3) {
    check_levels(call, i);
    Shape part = call.shape(i);
    if (part.size() == shape.size()) {
      shape[axis] = checked_add(shape[axis], part[axis]);
      part[axis] = shape[axis];
    }
    if (part != shape) {
      call.malformed(
          "tensors of " + shape_text(call.shape(2)) + " and " + shape_text(call.shape(i)),
          "shapes that differ in axis " + std::to_string(axis) + " alone");
    }
  }
  const DType dtype = call.dtype(1);
  Tensor* out = call.output(0, dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const std::int64_t outer = element_count(Shape(shape.begin(), at));
  const std::int64_t inner = element_count(Shape(at + 1, shape.end()));
  const LevelsScale to = quantization_of(call, 0, 1, dtype);
  std::int64_t first = 0;
  for (std::size_t i = 2; i < call.inputs(); i += 3) {
    const Tensor& part = call.input(i);
    const LevelTable table =
        requantizing_levels(quantization_of(call, i + 1, i + 2, part.dtype), to);
    const std::int64_t size = part.shape[axis] * inner;
    for (std::int64_t o = 0; o < outer; ++o) {
      std::transform(part.bytes.begin() + o * size, part.bytes.begin() + (o + 1) * size,
                     out->bytes.begin() + o * *at * inner + first,
                     [&](std::byte byte) { return std::byte{mapped_level(table, byte)}; });
    }
    first += size;
  }
}

void qlinear_where(HostCall& call) {
  if (call.dtype(0) != DType::kBool) {
    call.malformed("a condition of " + std::string(dtype_name(call.dtype(0))), "bool");
  }
  check_levels(call, 1);
  check_levels(call, 4);
  check_levels(call, 8);
  const Shape shape = broadcast(call, call.shape(0), broadcast(call, call.shape(1), call.shape(4)));
  const DType dtype = call.dtype(8);
  Tensor* out = call.output(0, dtype, shape);
  if (out == nullptr) return;
  const LevelsScale to = quantization_of(call, 7, 8, dtype);
  const LevelTable of_x = requantizing_levels(quantization_of(call, 2, 3, call.dtype(1)), to);
  const LevelTable of_y = requantizing_levels(quantization_of(call, 5, 6, call.dtype(4)), to);
  const auto byte_at = [&](std::size_t input, std::int64_t at) {
    return call.input(input).bytes[static_cast<std::size_t>(at)];
  };
  for_each_position<3>(
      shape,
      {broadcast_steps(call.shape(0), shape), broadcast_steps(call.shape(1), shape),
       broadcast_steps(call.shape(4), shape)},
      [&](std::int64_t i, const std::array<std::int64_t, 3>& at) {
        const bool takes_x = byte_at(0, at[0]) != std::byte{0};
        out->bytes[static_cast<std::size_t>(i)] =
            std::byte{takes_x ? mapped_level(of_x, byte_at(1, at[1]))
                              : mapped_level(of_y, byte_at(4, at[2]))};
      });
}

constexpr std::array kQuantizedOperators = {
    HostOperator{"ConvInteger", run_integer_convolution},
    HostOperator{"DequantizeLinear", dequantize_linear},
    HostOperator{"DequantizeLinear", dequantize_linear, kMicrosoft},
    HostOperator{"DynamicQuantizeLSTM", run_dynamic_lstm, kMicrosoft},
    HostOperator{"DynamicQuantizeLinear", dynamic_quantize_linear},
    HostOperator{"DynamicQuantizeMatMul", run_dynamic_matmul, kMicrosoft},
    HostOperator{"MatMulInteger", run_integer_matmul},
    HostOperator{"MatMulIntegerToFloat", run_integer_matmul_to_float, kMicrosoft},
    HostOperator{"QGemm", run_qgemm, kMicrosoft},
    HostOperator{"QLinearAdd", qlinear_add, kMicrosoft},
    HostOperator{"QLinearAveragePool", run_qlinear_average_pool, kMicrosoft},
    HostOperator{"QLinearConcat", qlinear_concat, kMicrosoft},
    HostOperator{"QLinearConv", run_qlinear_convolution},
    HostOperator{"QLinearConv", run_qlinear_convolution, kMicrosoft},
    HostOperator{"QLinearGlobalAveragePool", run_qlinear_global_average_pool, kMicrosoft},
    HostOperator{"QLinearLeakyRelu", qlinear_leaky_relu, kMicrosoft},
    HostOperator{"QLinearMatMul", run_qlinear_matmul},
    HostOperator{"QLinearMul", qlinear_mul, kMicrosoft},
    HostOperator{"QLinearSigmoid", qlinear_sigmoid, kMicrosoft},
    HostOperator{"QLinearSoftmax", run_qlinear_softmax, kMicrosoft},
    HostOperator{"QLinearWhere", qlinear_where, kMicrosoft},
    HostOperator{"QuantizeLinear", quantize_linear},
    HostOperator{"QuantizeLinear", quantize_linear, kMicrosoft},
};

}  // namespace

std::span<const HostOperator> quantized_operators() { return kQuantizedOperators; }

}  // namespace qsim::golden
