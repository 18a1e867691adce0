// One function per supported ONNX operator: reads the node and extends the graph. The table that
// names them is in operator_table.cpp.
#pragma once

#include <string>

#include "formats/onnx/importer/graph_builder.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

using ImportOperator = void (*)(const NodeReader& node, GraphBuilder& graph);

// The function of a node's operator; null for an operator that is not supported.
ImportOperator find_operator(const onnx::NodeProto& node);

// quantize.cpp
void import_quantize_linear(const NodeReader& node, GraphBuilder& graph);
void import_dequantize_linear(const NodeReader& node, GraphBuilder& graph);

// conv.cpp, matmul.cpp: layers with weights.
void import_qlinear_conv(const NodeReader& node, GraphBuilder& graph);
void import_conv(const NodeReader& node, GraphBuilder& graph);
void import_qlinear_matmul(const NodeReader& node, GraphBuilder& graph);
void import_qgemm(const NodeReader& node, GraphBuilder& graph);
void import_gemm(const NodeReader& node, GraphBuilder& graph);
void import_matmul(const NodeReader& node, GraphBuilder& graph);

// pool.cpp
void import_max_pool(const NodeReader& node, GraphBuilder& graph);
void import_average_pool(const NodeReader& node, GraphBuilder& graph);
void import_global_average_pool(const NodeReader& node, GraphBuilder& graph);
void import_global_max_pool(const NodeReader& node, GraphBuilder& graph);
void import_reduce_mean(const NodeReader& node, GraphBuilder& graph);
void import_qlinear_average_pool(const NodeReader& node, GraphBuilder& graph);
void import_qlinear_global_average_pool(const NodeReader& node, GraphBuilder& graph);

// elementwise.cpp: several tensors.
void import_qlinear_add(const NodeReader& node, GraphBuilder& graph);
void import_add(const NodeReader& node, GraphBuilder& graph);
void import_qlinear_mul(const NodeReader& node, GraphBuilder& graph);
void import_mul(const NodeReader& node, GraphBuilder& graph);
void import_qlinear_concat(const NodeReader& node, GraphBuilder& graph);
void import_concat(const NodeReader& node, GraphBuilder& graph);

// activations.cpp: functions of one number.
void import_relu(const NodeReader& node, GraphBuilder& graph);
void import_clip(const NodeReader& node, GraphBuilder& graph);
void import_leaky_relu(const NodeReader& node, GraphBuilder& graph);
void import_p_relu(const NodeReader& node, GraphBuilder& graph);
void import_sigmoid(const NodeReader& node, GraphBuilder& graph);
void import_hard_sigmoid(const NodeReader& node, GraphBuilder& graph);
void import_hard_swish(const NodeReader& node, GraphBuilder& graph);
// A node that no file has: what hosted_importer.cpp makes of several, a real number by the level.
inline constexpr const char* kPartDomain = "qsim.part";
inline constexpr const char* kLevelsFunction = "LevelsFunction";
void import_levels_function(const NodeReader& node, GraphBuilder& graph);
void import_qlinear_leaky_relu(const NodeReader& node, GraphBuilder& graph);
void import_qlinear_sigmoid(const NodeReader& node, GraphBuilder& graph);

// host_ops.cpp: what the host computes of the graph's output.
void import_softmax(const NodeReader& node, GraphBuilder& graph);
void import_qlinear_softmax(const NodeReader& node, GraphBuilder& graph);
void import_arg_max(const NodeReader& node, GraphBuilder& graph);
// QuantizeLinear and DequantizeLinear after Softmax.
void quantize_host(const NodeReader& node, GraphBuilder& graph, const Quantization& output);
void dequantize_host(const NodeReader& node, GraphBuilder& graph);

// shape_ops.cpp, pad.cpp: no arithmetic.
void import_flatten(const NodeReader& node, GraphBuilder& graph);
void import_reshape(const NodeReader& node, GraphBuilder& graph);
void import_squeeze(const NodeReader& node, GraphBuilder& graph);
void import_unsqueeze(const NodeReader& node, GraphBuilder& graph);
void import_identity(const NodeReader& node, GraphBuilder& graph);
void import_cast(const NodeReader& node, GraphBuilder& graph);
void import_transpose(const NodeReader& node, GraphBuilder& graph);
void import_pad(const NodeReader& node, GraphBuilder& graph);

}  // namespace qsim::formats
