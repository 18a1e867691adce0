#include "formats/onnx/importer/constant_folding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/base/checked_math.h"
#include "core/base/printable.h"
#include "core/base/tensor.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {
namespace {

// A small constant in memory, of any type of number: what constant folding computes with.

constexpr std::int64_t kMaxSmallElems = 1 << 16;

struct SmallTensor {
  int data_type = onnx::TensorProto::INT64;  // onnx::TensorProto::DataType
  Shape shape;
  std::vector<std::int64_t> values;  // of float32 its bits

  std::int64_t at(const Shape& index) const;
  // Converts it to uint8, int8, int32, int64 or float32; numbers are rounded towards zero and
  // wrapped. False for another type and for what is not a number of it.
  bool convert(int to);
  onnx::TensorProto proto() const;
};

using onnx::TensorProto;

float float_of(std::int64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

std::int64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

template <typename T>
std::vector<std::int64_t> widened(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

std::vector<std::int64_t> values_of(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::kUint8:
      return widened<std::uint8_t>(tensor);
    case DType::kInt8:
      return widened<std::int8_t>(tensor);
    case DType::kInt32:
      return widened<std::int32_t>(tensor);
    default:
      break;
  }
  std::vector<std::int64_t> bits;
  for (const float value : tensor.as<float>()) bits.push_back(bits_of(value));
  return bits;
}

bool is_small(const TensorProto& proto) {
  const int type = proto.data_type();
  const bool is_known = type == TensorProto::UINT8 || type == TensorProto::INT8 ||
                        type == TensorProto::INT32 || type == TensorProto::INT64 ||
                        type == TensorProto::FLOAT;
  std::int64_t elems = 1;
  for (const std::int64_t dim : proto.dims()) {
    if (dim < 0 || dim > kMaxSmallElems) return false;
    elems *= dim;
    if (elems > kMaxSmallElems) return false;
  }
  return is_known;
}

std::optional<SmallTensor> small_tensor(const NodeReader& node, const TensorProto& proto,
                                        const std::string& what) {
  if (!is_small(proto)) return std::nullopt;
  const std::string where = node.location() + ": " + what;
  SmallTensor result{proto.data_type(), {proto.dims().begin(), proto.dims().end()}, {}};
  result.values = proto.data_type() == TensorProto::INT64 ? node.int64s_of(proto, where)
                                                          : values_of(node.tensor_of(proto, where));
  return result;
}

template <typename T>
void append_bytes(std::string& bytes, std::int64_t value) {
  const auto number = static_cast<T>(value);
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  bytes.append(raw, sizeof number);
}

std::int64_t wrapped(std::int64_t value, int type) {
  if (type == TensorProto::UINT8) return static_cast<std::uint8_t>(value);
  if (type == TensorProto::INT8) return static_cast<std::int8_t>(value);
  if (type == TensorProto::INT32) return static_cast<std::int32_t>(value);
  return value;
}

std::int64_t SmallTensor::at(const Shape& index) const {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    offset = offset * shape[axis] + index[axis];
  }
  return values[static_cast<std::size_t>(offset)];
}

bool SmallTensor::convert(int to) {
  const bool is_integer = to == TensorProto::UINT8 || to == TensorProto::INT8 ||
                          to == TensorProto::INT32 || to == TensorProto::INT64;
  if (!is_integer && to != TensorProto::FLOAT) return false;
  for (std::int64_t& value : values) {
    if (data_type == TensorProto::FLOAT && is_integer) {
      const float real = float_of(value);
      if (!(std::abs(real) < 0x1p62F)) return false;
      value = static_cast<std::int64_t>(real);
    } else if (data_type != TensorProto::FLOAT && !is_integer) {
      value = bits_of(static_cast<float>(value));
    }
    if (is_integer) value = wrapped(value, to);
  }
  data_type = to;
  return true;
}

TensorProto SmallTensor::proto() const {
  TensorProto proto;
  proto.set_data_type(data_type);
  for (const std::int64_t dim : shape) proto.add_dims(dim);
  std::string bytes;
  for (const std::int64_t value : values) {
    if (data_type == TensorProto::INT64) {
      append_bytes<std::int64_t>(bytes, value);
    } else if (data_type == TensorProto::INT32 || data_type == TensorProto::FLOAT) {
      append_bytes<std::uint32_t>(bytes, value);
    } else {
      append_bytes<std::uint8_t>(bytes, value);
    }
  }
  proto.set_raw_data(std::move(bytes));
  return proto;
}

// A constant input of a supported type and size; nothing for any other input.
std::optional<SmallTensor> small_constant(const NodeReader& node, int index) {
  if (!node.is_constant(index)) return std::nullopt;
  return small_tensor(node, *node.model().constant(node.input(index)),
                      "input '" + echoed(node.input(index)) + "'");
}

// An attribute that is a tensor of such a type and size.
std::optional<SmallTensor> constant_attribute(const NodeReader& node, std::string_view name) {
  for (const onnx::AttributeProto& attribute : node.node().proto->attribute()) {
    if (attribute.name() != name || !attribute.has_t()) continue;
    return small_tensor(node, attribute.t(), "attribute " + std::string(name));
  }
  return std::nullopt;
}

using Inputs = std::vector<SmallTensor>;
using Fold = std::optional<SmallTensor> (*)(const NodeReader& node, const Inputs& inputs);

// The elements of `shape` at `from(index)` for each index of `shape`, in order.
template <typename From>
SmallTensor gathered(const SmallTensor& data, const Shape& shape, From from) {
  SmallTensor result{data.data_type, shape, {}};
  Shape index(shape.size(), 0);
  for (std::int64_t i = element_count(shape); i > 0; --i) {
    result.values.push_back(data.at(from(index)));
    for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) {
      index[axis] = 0;
    }
  }
  return result;
}

std::int64_t axis_of(const NodeReader& node, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) {
    node.malformed("axis = " + std::to_string(axis), "an axis of the tensor");
  }
  return axis < 0 ? axis + count : axis;
}

std::optional<SmallTensor> cast(const NodeReader& node, const Inputs& inputs) {
  const std::int64_t to = NodeAttributes(node, {"saturate", "to"}).integer("to", 0);
  SmallTensor result = inputs[0];
  return result.convert(static_cast<int>(to)) ? std::optional(result) : std::nullopt;
}

std::optional<SmallTensor> concat(const NodeReader& node, const Inputs& inputs) {
  const std::int64_t axis = NodeAttributes(node, {"axis"}).integer("axis", 0);
  if (inputs[0].shape.size() != 1 || axis_of(node, axis, 1) != 0) return std::nullopt;
  SmallTensor result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].shape.size() != 1 || inputs[i].data_type != result.data_type) {
      return std::nullopt;
    }
    result.values.insert(result.values.end(), inputs[i].values.begin(), inputs[i].values.end());
  }
  result.shape = {std::ssize(result.values)};
  return result;
}

std::optional<SmallTensor> constant_of_shape(const NodeReader& node, const Inputs& inputs) {
  const auto value = constant_attribute(node, "value");
  if (!value || value->values.size() != 1) return std::nullopt;
  for (const std::int64_t dim : inputs[0].values) {
    if (dim < 0) node.malformed("shape " + shape_text(inputs[0].values), "0 or more");
  }
  const std::int64_t elems = element_count(inputs[0].values);
  if (elems > kMaxSmallElems) return std::nullopt;
  return SmallTensor{value->data_type, inputs[0].values,
                     std::vector<std::int64_t>(static_cast<std::size_t>(elems), value->values[0])};
}

std::optional<SmallTensor> gather(const NodeReader& node, const Inputs& inputs) {
  const std::int64_t axis = NodeAttributes(node, {"axis"}).integer("axis", 0);
  if (inputs.size() != 2 || inputs[0].shape.size() != 1 || axis_of(node, axis, 1) != 0) {
    return std::nullopt;
  }
  SmallTensor result{inputs[0].data_type, inputs[1].shape, {}};
  const std::int64_t count = inputs[0].shape[0];
  for (const std::int64_t at : inputs[1].values) {
    if (at < -count || at >= count) {
      node.malformed("index " + std::to_string(at), "one of " + std::to_string(count));
    }
    result.values.push_back(inputs[0].values[static_cast<std::size_t>(at < 0 ? at + count : at)]);
  }
  return result;
}

std::optional<SmallTensor> identity(const NodeReader&, const Inputs& inputs) { return inputs[0]; }

std::optional<SmallTensor> reshape(const NodeReader& node, const Inputs& inputs) {
  NodeAttributes(node, {"allowzero"}).require_integer("allowzero", 0);
  if (inputs.size() != 2) return std::nullopt;
  Shape shape = inputs[1].values;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < inputs[0].shape.size() && shape[i] == 0) shape[i] = inputs[0].shape[i];
    if (shape[i] != -1) known = checked_mul(known, shape[i]);
  }
  const std::int64_t elems = std::ssize(inputs[0].values);
  const auto open = std::find(shape.begin(), shape.end(), -1);
  if (open != shape.end() && known > 0) *open = elems / known;
  const bool fits = std::all_of(shape.begin(), shape.end(), [](auto dim) { return dim >= 0; }) &&
                    element_count(shape) == elems;
  if (!fits) {
    node.malformed("shape " + shape_text(inputs[1].values),
                   "a shape of " + std::to_string(elems) + " elements");
  }
  return SmallTensor{inputs[0].data_type, shape, inputs[0].values};
}

// Slices one axis of at most two; starts and ends beyond the tensor mean its ends.
std::optional<SmallTensor> slice(const NodeReader& node, const Inputs& inputs) {
  if (inputs.size() < 3) return std::nullopt;
  const Shape& shape = inputs[0].shape;
  const bool one_axis = std::all_of(inputs.begin() + 1, inputs.end(), [](const SmallTensor& part) {
    return part.values.size() == 1;
  });
  if (!one_axis) return std::nullopt;
  const std::int64_t axis =
      axis_of(node, inputs.size() > 3 ? inputs[3].values[0] : 0, shape.size());
  const std::int64_t step = inputs.size() > 4 ? inputs[4].values[0] : 1;
  const std::int64_t size = shape[static_cast<std::size_t>(axis)];
  if (step != 1 && step != -1) return std::nullopt;
  const auto within = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
    return std::clamp(at < 0 ? std::max(at, -size - 1) + size : at, low, high);
  };
  const bool forward = step == 1;
  const std::int64_t start = within(inputs[1].values[0], 0, forward ? size : size - 1);
  const std::int64_t end =
      forward ? within(inputs[2].values[0], 0, size) : within(inputs[2].values[0], -1, size - 1);
  Shape cut = shape;
  cut[static_cast<std::size_t>(axis)] =
      std::max<std::int64_t>(0, forward ? end - start : start - end);
  return gathered(inputs[0], cut, [&](Shape index) {
    std::int64_t& at = index[static_cast<std::size_t>(axis)];
    at = start + step * at;
    return index;
  });
}

// Squeeze and Unsqueeze of lists and numbers: the elements stay as they are.
std::optional<SmallTensor> squeeze(const NodeReader&, const Inputs& inputs) {
  SmallTensor result = inputs[0];
  if (result.values.size() != 1) return std::nullopt;
  result.shape.clear();
  return result;
}

std::optional<SmallTensor> unsqueeze(const NodeReader& node, const Inputs& inputs) {
  SmallTensor result = inputs[0];
  if (result.values.size() != 1) return std::nullopt;
  const std::size_t axes = inputs.size() > 1 ? inputs[1].values.size()
                                             : NodeAttributes(node, {"axes"})
                                                   .integers("axes")
                                                   .value_or(std::vector<std::int64_t>{})
                                                   .size();
  result.shape.insert(result.shape.end(), axes, 1);
  return result;
}

// Combines two int64 numbers.
template <typename Combine>
std::optional<SmallTensor> combined(const Inputs& inputs, Combine combine) {
  if (inputs.size() != 2 || inputs[0].data_type != onnx::TensorProto::INT64 ||
      inputs[1].data_type != onnx::TensorProto::INT64 || inputs[0].values.size() != 1 ||
      inputs[1].values.size() != 1) {
    return std::nullopt;
  }
  SmallTensor result = inputs[inputs[0].shape.size() < inputs[1].shape.size() ? 1 : 0];
  if (!combine(inputs[0].values[0], inputs[1].values[0], &result.values[0])) return std::nullopt;
  return result;
}

std::optional<SmallTensor> add(const NodeReader&, const Inputs& inputs) {
  return combined(inputs,
                  [](auto a, auto b, auto* to) { return !__builtin_add_overflow(a, b, to); });
}

std::optional<SmallTensor> sub(const NodeReader&, const Inputs& inputs) {
  return combined(inputs,
                  [](auto a, auto b, auto* to) { return !__builtin_sub_overflow(a, b, to); });
}

std::optional<SmallTensor> mul(const NodeReader&, const Inputs& inputs) {
  return combined(inputs,
                  [](auto a, auto b, auto* to) { return !__builtin_mul_overflow(a, b, to); });
}

std::optional<SmallTensor> transpose(const NodeReader& node, const Inputs& inputs) {
  const Shape& shape = inputs[0].shape;
  Shape perm;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    perm.push_back(static_cast<std::int64_t>(axis));
  }
  perm = NodeAttributes(node, {"perm"})
             .integers("perm", static_cast<int>(shape.size()))
             .value_or(perm);
  Shape sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t axis = 0; axis < sorted.size(); ++axis) {
    if (sorted[axis] != static_cast<std::int64_t>(axis)) {
      node.malformed("perm = " + shape_text(perm), "each axis once");
    }
  }
  Shape turned;
  for (const std::int64_t axis : perm) turned.push_back(shape[static_cast<std::size_t>(axis)]);
  return gathered(inputs[0], turned, [&](const Shape& index) {
    Shape from(index.size());
    for (std::size_t i = 0; i < perm.size(); ++i)
      from[static_cast<std::size_t>(perm[i])] = index[i];
    return from;
  });
}

struct Folding {
  std::string_view op_type;
  Fold fold;
};

constexpr std::array kFoldings = {
    Folding{"Add", add},
    Folding{"Mul", mul},
    Folding{"Sub", sub},
    Folding{"Cast", cast},
    Folding{"Concat", concat},
    Folding{"Gather", gather},
    Folding{"ConstantOfShape", constant_of_shape},
    Folding{"Identity", identity},
    Folding{"Reshape", reshape},
    Folding{"Slice", slice},
    Folding{"Squeeze", squeeze},
    Folding{"Transpose", transpose},
    Folding{"Unsqueeze", unsqueeze},
};

// The sizes of a tensor of the graph or of a constant, as int64.
std::optional<SmallTensor> shape_of(const NodeReader& node, const ShapeOfInput& shape_of_input) {
  std::optional<Shape> found;
  if (node.is_constant(0)) {
    const onnx::TensorProto& constant = *node.model().constant(node.input(0));
    found = Shape(constant.dims().begin(), constant.dims().end());
  } else {
    found = shape_of_input(node);
  }
  if (!found) return std::nullopt;
  const Shape& shape = *found;
  const NodeAttributes attributes(node, {"end", "start"});
  const auto rank = std::ssize(shape);
  const auto within = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? std::max<std::int64_t>(at, -rank) + rank : at, 0,
                                    rank);
  };
  const std::int64_t start = within(attributes.integer("start", 0));
  const std::int64_t end = std::max(start, within(attributes.integer("end", rank)));
  return SmallTensor{
      onnx::TensorProto::INT64, {end - start}, {shape.begin() + start, shape.begin() + end}};
}

}  // namespace

bool is_folded_operator(const onnx::NodeProto& node) {
  return node.op_type() == "Shape" ||
         std::ranges::find(kFoldings, node.op_type(), &Folding::op_type) != kFoldings.end();
}

bool fold_constants(ModelGraph& model, const NodeReader& node, const ShapeOfInput& shape_of_input) {
  const std::string& domain = node.node().proto->domain();
  if ((!domain.empty() && domain != "ai.onnx") || node.inputs() == 0) return false;
  std::optional<SmallTensor> result;
  if (node.op_type() == "Shape") {
    result = shape_of(node, shape_of_input);
  } else {
    const auto* const known = std::ranges::find(kFoldings, node.op_type(), &Folding::op_type);
    if (known == kFoldings.end()) return false;
    Inputs inputs;
    for (int i = 0; i < node.inputs(); ++i) {
      if (!node.has_input(i)) return false;
      auto input = small_constant(node, i);
      if (!input) return false;
      inputs.push_back(std::move(*input));
    }
    result = known->fold(node, inputs);
  }
  if (!result) return false;
  model.add_constant(node.output(), result->proto());
  return true;
}

}  // namespace qsim::formats
