// What a model declares of its one input and its one output, as a graph takes it.
#pragma once

#include <cstdint>
#include <string>

#include "formats/onnx/importer/axes.h"
#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

struct DeclaredInput {
  std::string where;  // opens errors about it
  int data_type = 0;  // onnx::TensorProto::DataType
  ImageShape shape;
  Axes axes = Axes::kNchw;  // kNchw of all pictures, kNk of vectors
};

// A symbolic batch dimension becomes `batch`. Throws Error for another rank than 2 or 4, for a
// symbolic size of a picture, for a batch that is fixed at another number, and for a tensor that
// is too large.
DeclaredInput read_input(const ModelGraph& model, std::int64_t batch);

// "FILE: output 'NAME'"
std::string output_place(const ModelGraph& model);
// Throws Error unless the output is declared with this type and shape.
void check_declared_output(const ModelGraph& model, int data_type, const Shape& shape);
// Throws Error for an output of pictures whose axes are not the input's.
void check_output_axes(const ModelGraph& model, Axes axes, HostInterface::Layout layout);
[[noreturn]] void refuse_graph_without_layers(const ModelGraph& model);

}  // namespace qsim::formats
