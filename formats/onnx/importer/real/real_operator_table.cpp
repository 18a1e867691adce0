#include <algorithm>
#include <array>
#include <string_view>

#include "formats/onnx/importer/real/real_operators.h"

namespace qsim::formats {
namespace {

struct RealOperator {
  std::string_view op_type;
  ImportRealOperator import;
};

constexpr std::array kRealOperators = {
    RealOperator{"Conv", import_real_conv},
    RealOperator{"Gemm", import_real_gemm},
    RealOperator{"MatMul", import_real_matmul},
    RealOperator{"BatchNormalization", import_batch_normalization},
    RealOperator{"Add", import_real_add},
    RealOperator{"Sub", import_real_sub},
    RealOperator{"Mul", import_real_mul},
    RealOperator{"Div", import_real_div},
    RealOperator{"Concat", import_real_concat},
    RealOperator{"Relu", import_real_relu},
    RealOperator{"Clip", import_real_clip},
    RealOperator{"Min", import_real_min},
    RealOperator{"Max", import_real_max},
    RealOperator{"LeakyRelu", import_real_leaky_relu},
    RealOperator{"PRelu", import_real_p_relu},
    RealOperator{"Sigmoid", import_real_sigmoid},
    RealOperator{"HardSigmoid", import_real_hard_sigmoid},
    RealOperator{"HardSwish", import_real_hard_swish},
    RealOperator{"MaxPool", import_real_max_pool},
    RealOperator{"GlobalMaxPool", import_real_global_max_pool},
    RealOperator{"AveragePool", import_real_average_pool},
    RealOperator{"GlobalAveragePool", import_real_global_average_pool},
    RealOperator{"ReduceMean", import_real_reduce_mean},
    RealOperator{"ReduceMax", import_real_reduce_max},
    RealOperator{"Flatten", import_real_flatten},
    RealOperator{"Reshape", import_real_reshape},
    RealOperator{"Squeeze", import_real_squeeze},
    RealOperator{"Unsqueeze", import_real_unsqueeze},
    RealOperator{"Transpose", import_real_transpose},
    RealOperator{"Pad", import_real_pad},
    RealOperator{"Identity", import_real_identity},
    RealOperator{"Dropout", import_real_dropout},
    RealOperator{"Cast", import_real_cast},
    RealOperator{"Softmax", import_real_softmax},
    RealOperator{"ArgMax", import_real_arg_max},
    RealOperator{"DequantizeLinear", import_dequantized_constant},
};

constexpr std::array kRoundingOperators = {
    RealOperator{"RoundUniform", import_round_uniform},
    RealOperator{"RoundLog2", import_round_log2},
};

template <std::size_t size>
ImportRealOperator find_in(const std::array<RealOperator, size>& table,
                           const onnx::NodeProto& node) {
  const auto* const found = std::ranges::find(table, node.op_type(), &RealOperator::op_type);
  return found == table.end() ? nullptr : found->import;
}

}  // namespace

ImportRealOperator find_real_operator(const onnx::NodeProto& node) {
  if (node.domain() == "qsim") return find_in(kRoundingOperators, node);
  if (!node.domain().empty() && node.domain() != "ai.onnx") return nullptr;
  return find_in(kRealOperators, node);
}

}  // namespace qsim::formats
