#include <algorithm>
#include <array>
#include <string_view>

#include "formats/onnx/importer/operators.h"

namespace qsim::formats {
namespace {

struct Operator {
  std::string_view domain;
  std::string_view op_type;
  ImportOperator import;
};

constexpr std::string_view kOnnx;
constexpr std::string_view kMicrosoftDomain = "com.microsoft";

constexpr std::array kOperators = {
    Operator{kOnnx, "QuantizeLinear", import_quantize_linear},
    Operator{kOnnx, "DequantizeLinear", import_dequantize_linear},
    Operator{kMicrosoftDomain, "QuantizeLinear", import_quantize_linear},
    Operator{kMicrosoftDomain, "DequantizeLinear", import_dequantize_linear},
    Operator{kOnnx, "QLinearConv", import_qlinear_conv},
    Operator{kOnnx, "QLinearMatMul", import_qlinear_matmul},
    Operator{kMicrosoftDomain, "QGemm", import_qgemm},
    Operator{kMicrosoftDomain, "QLinearAdd", import_qlinear_add},
    Operator{kMicrosoftDomain, "QLinearMul", import_qlinear_mul},
    Operator{kMicrosoftDomain, "QLinearAveragePool", import_qlinear_average_pool},
    Operator{kMicrosoftDomain, "QLinearGlobalAveragePool", import_qlinear_global_average_pool},
    Operator{kMicrosoftDomain, "QLinearConcat", import_qlinear_concat},
    Operator{kMicrosoftDomain, "QLinearLeakyRelu", import_qlinear_leaky_relu},
    Operator{kMicrosoftDomain, "QLinearSigmoid", import_qlinear_sigmoid},
    Operator{kOnnx, "Conv", import_conv},
    Operator{kOnnx, "Gemm", import_gemm},
    Operator{kOnnx, "MatMul", import_matmul},
    Operator{kOnnx, "Add", import_add},
    Operator{kOnnx, "Mul", import_mul},
    Operator{kOnnx, "MaxPool", import_max_pool},
    Operator{kOnnx, "AveragePool", import_average_pool},
    Operator{kOnnx, "GlobalAveragePool", import_global_average_pool},
    Operator{kOnnx, "GlobalMaxPool", import_global_max_pool},
    Operator{kOnnx, "ReduceMean", import_reduce_mean},
    Operator{kOnnx, "Concat", import_concat},
    Operator{kOnnx, "Relu", import_relu},
    Operator{kOnnx, "Clip", import_clip},
    Operator{kOnnx, "LeakyRelu", import_leaky_relu},
    Operator{kOnnx, "PRelu", import_p_relu},
    Operator{kOnnx, "Sigmoid", import_sigmoid},
    Operator{kOnnx, "HardSigmoid", import_hard_sigmoid},
    Operator{kOnnx, "HardSwish", import_hard_swish},
    Operator{kPartDomain, kLevelsFunction, import_levels_function},
    Operator{kOnnx, "Softmax", import_softmax},
    Operator{kMicrosoftDomain, "QLinearSoftmax", import_qlinear_softmax},
    Operator{kOnnx, "ArgMax", import_arg_max},
    Operator{kOnnx, "Pad", import_pad},
    Operator{kOnnx, "Flatten", import_flatten},
    Operator{kOnnx, "Reshape", import_reshape},
    Operator{kOnnx, "Squeeze", import_squeeze},
    Operator{kOnnx, "Unsqueeze", import_unsqueeze},
    Operator{kOnnx, "Transpose", import_transpose},
    Operator{kOnnx, "Identity", import_identity},
    Operator{kOnnx, "Cast", import_cast},
};

}  // namespace

ImportOperator find_operator(const onnx::NodeProto& node) {
  const std::string_view domain =
      node.domain() == "ai.onnx" ? kOnnx : std::string_view(node.domain());
  const auto* const found = std::ranges::find_if(kOperators, [&](const Operator& known) {
    return known.domain == domain && known.op_type == node.op_type();
  });
  return found == kOperators.end() ? nullptr : found->import;
}

}  // namespace qsim::formats
