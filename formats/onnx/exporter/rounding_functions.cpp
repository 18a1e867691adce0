#include "formats/onnx/exporter/rounding_functions.h"

#include <algorithm>

#include "core/base/error.h"

namespace qsim::formats {
namespace {

constexpr const char* kDomain = "qsim";
constexpr std::int64_t kDomainVersion = 1;
constexpr std::int64_t kIrVersionOfFunctions = 8;
constexpr const char* kUniform = "RoundUniform";
constexpr const char* kLog2 = "RoundLog2";

// The body of a function: nodes called by their outputs.
class Body {
 public:
  Body(onnx::FunctionProto& function, const char* name) : function_(function) {
    function.set_domain(kDomain);
    function.set_name(name);
    function.add_input("x");
    function.add_output("y");
  }

  void add(const char* op_type, const TensorNames& inputs, const char* output) {
    onnx::NodeProto& node = *function_.add_node();
    node.set_op_type(op_type);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
  }

  // A float32 scalar that is an attribute of the function.
  void add_attribute(const char* name, bool is_integer) {
    function_.add_attribute(name);
    const std::string constant = is_integer ? std::string(name) + "_int" : std::string(name);
    add("Constant", {}, constant.c_str());
    onnx::AttributeProto& value =
        *function_.mutable_node(function_.node_size() - 1)->add_attribute();
    value.set_name(is_integer ? "value_int" : "value_float");
    value.set_ref_attr_name(name);
    value.set_type(is_integer ? onnx::AttributeProto::INT : onnx::AttributeProto::FLOAT);
    if (!is_integer) return;
    add("Cast", {constant}, name);
    set_int(*function_.mutable_node(function_.node_size() - 1), "to", onnx::TensorProto::FLOAT);
  }

  void add_number(const char* name, float value) {
    add("Constant", {}, name);
    set_float(*function_.mutable_node(function_.node_size() - 1), "value_float", value);
  }

 private:
  onnx::FunctionProto& function_;
};

void define_uniform(onnx::FunctionProto& function) {
  Body body(function, kUniform);
  body.add_attribute("scale", false);
  for (const char* name : {"zero_point", "lo", "hi"}) body.add_attribute(name, true);
  body.add("Div", {"x", "scale"}, "steps");
  body.add("Round", {"steps"}, "rounded");
  body.add("Add", {"rounded", "zero_point"}, "moved");
  body.add("Clip", {"moved", "lo", "hi"}, "level");
  body.add("Sub", {"level", "zero_point"}, "centred");
  body.add("Mul", {"centred", "scale"}, "y");
}

void define_log2(onnx::FunctionProto& function) {
  Body body(function, kLog2);
  body.add_attribute("scale", false);
  for (const char* name : {"lo", "hi"}) body.add_attribute(name, true);
  body.add_number("log_of_2", 0.693147181F);
  body.add_number("two", 2);
  body.add_number("zero", 0);
  body.add("Abs", {"x"}, "magnitude");
  body.add("Div", {"magnitude", "scale"}, "steps");
  body.add("Log", {"steps"}, "log");
  body.add("Div", {"log", "log_of_2"}, "log2");
  body.add("Round", {"log2"}, "exponent");
  body.add("Min", {"exponent", "hi"}, "limited");
  body.add("Pow", {"two", "limited"}, "power");
  body.add("Mul", {"power", "scale"}, "size");
  body.add("Sign", {"x"}, "sign");
  body.add("Mul", {"sign", "size"}, "value");
  body.add("Less", {"exponent", "lo"}, "is_small");
  body.add("Where", {"is_small", "zero", "value"}, "y");
}

bool has(const onnx::ModelProto& model, const char* op_type) {
  return std::ranges::any_of(model.graph().node(), [&](const auto& node) {
    return node.domain() == kDomain && node.op_type() == op_type;
  });
}

}  // namespace

std::string add_rounding(const TensorRule& rule, const std::string& tensor, ModelWriter& model) {
  const auto* uniform = std::get_if<UniformRule>(&rule);
  const auto* log2 = std::get_if<Log2Rule>(&rule);
  if (uniform == nullptr && log2 == nullptr) {
    throw_unsupported("tensor '" + tensor +
                      "': a rule that the file has no node for; supported: uniform levels and "
                      "powers of two");
  }
  onnx::NodeProto& node =
      model.add_node(uniform != nullptr ? kUniform : kLog2, tensor + "/rounded", {tensor});
  node.set_domain(kDomain);
  set_float(node, "scale", uniform != nullptr ? uniform->scale : log2->scale);
  if (uniform != nullptr) set_int(node, "zero_point", uniform->zero_point);
  set_int(node, "lo", uniform != nullptr ? uniform->lo : log2->lo);
  set_int(node, "hi", uniform != nullptr ? uniform->hi : log2->hi);
  return node.output(0);
}

void add_rounding_functions(onnx::ModelProto& model) {
  const bool is_uniform = has(model, kUniform);
  const bool is_log2 = has(model, kLog2);
  if (!is_uniform && !is_log2) return;
  model.set_ir_version(kIrVersionOfFunctions);
  if (is_uniform) define_uniform(*model.add_functions());
  if (is_log2) define_log2(*model.add_functions());
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    *function.add_opset_import() = model.opset_import(0);
  }
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain(kDomain);
  opset.set_version(kDomainVersion);
}

}  // namespace qsim::formats
