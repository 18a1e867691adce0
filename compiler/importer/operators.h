// One function per supported ONNX operator: reads the node and extends the graph. The table that
// names them is in onnx_importer.cpp.
#pragma once

#include "compiler/importer/graph_builder.h"
#include "compiler/importer/model_graph.h"

namespace qsim {

// quantize.cpp: the ends of the graph.
void import_quantize_linear(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);
void import_dequantize_linear(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);

// conv.cpp, matmul.cpp: layers with weights.
void import_qlinear_conv(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);
void import_qlinear_matmul(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);
void import_qgemm(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);

// pool.cpp, shape_ops.cpp: layers that keep the quantization.
void import_max_pool(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);
void import_relu(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);
void import_flatten(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);
void import_reshape(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);

// shape_ops.cpp: no layer at all.
void import_identity(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);
void import_transpose(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph);

}  // namespace qsim
