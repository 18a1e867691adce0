// One function per supported ONNX operator of float networks: reads the node and extends the
// graph. The table that names them is in real_operator_table.cpp.
#pragma once

#include "formats/onnx/importer/node_reader.h"
#include "formats/onnx/importer/real/real_builder.h"

namespace qsim::formats {

using ImportRealOperator = void (*)(const NodeReader& node, RealBuilder& graph);

// The function of a node's operator; null for an operator that is not supported.
ImportRealOperator find_real_operator(const onnx::NodeProto& node);

// real_layers.cpp: layers with weights.
void import_real_conv(const NodeReader& node, RealBuilder& graph);
void import_real_gemm(const NodeReader& node, RealBuilder& graph);
void import_real_matmul(const NodeReader& node, RealBuilder& graph);

// real_elementwise.cpp: constants by channel, and several tensors.
void import_batch_normalization(const NodeReader& node, RealBuilder& graph);
void import_real_add(const NodeReader& node, RealBuilder& graph);
void import_real_sub(const NodeReader& node, RealBuilder& graph);
void import_real_mul(const NodeReader& node, RealBuilder& graph);
void import_real_div(const NodeReader& node, RealBuilder& graph);
void import_real_concat(const NodeReader& node, RealBuilder& graph);

// real_activations.cpp: functions of one number.
void import_real_relu(const NodeReader& node, RealBuilder& graph);
void import_real_clip(const NodeReader& node, RealBuilder& graph);
void import_real_min(const NodeReader& node, RealBuilder& graph);
void import_real_max(const NodeReader& node, RealBuilder& graph);
void import_real_leaky_relu(const NodeReader& node, RealBuilder& graph);
void import_real_p_relu(const NodeReader& node, RealBuilder& graph);
void import_real_sigmoid(const NodeReader& node, RealBuilder& graph);
void import_real_hard_sigmoid(const NodeReader& node, RealBuilder& graph);
void import_real_hard_swish(const NodeReader& node, RealBuilder& graph);

// real_pools.cpp
void import_real_max_pool(const NodeReader& node, RealBuilder& graph);
void import_real_global_max_pool(const NodeReader& node, RealBuilder& graph);
void import_real_average_pool(const NodeReader& node, RealBuilder& graph);
void import_real_global_average_pool(const NodeReader& node, RealBuilder& graph);
void import_real_reduce_mean(const NodeReader& node, RealBuilder& graph);
void import_real_reduce_max(const NodeReader& node, RealBuilder& graph);

// rounding_nodes.cpp: the domain "qsim".
void import_round_uniform(const NodeReader& node, RealBuilder& graph);
void import_round_log2(const NodeReader& node, RealBuilder& graph);
// real_importer.cpp: of constants alone.
void import_dequantized_constant(const NodeReader& node, RealBuilder& graph);

// real_shape_ops.cpp: no arithmetic, and what the host computes of the graph's output.
void import_real_flatten(const NodeReader& node, RealBuilder& graph);
void import_real_reshape(const NodeReader& node, RealBuilder& graph);
void import_real_squeeze(const NodeReader& node, RealBuilder& graph);
void import_real_unsqueeze(const NodeReader& node, RealBuilder& graph);
void import_real_transpose(const NodeReader& node, RealBuilder& graph);
void import_real_pad(const NodeReader& node, RealBuilder& graph);
void import_real_identity(const NodeReader& node, RealBuilder& graph);
void import_real_dropout(const NodeReader& node, RealBuilder& graph);
void import_real_cast(const NodeReader& node, RealBuilder& graph);
void import_real_softmax(const NodeReader& node, RealBuilder& graph);
void import_real_arg_max(const NodeReader& node, RealBuilder& graph);

}  // namespace qsim::formats
