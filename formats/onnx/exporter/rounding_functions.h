// Roundings of fake quantization as nodes of the domain "qsim", whose definitions in operators of
// ONNX the file has with it.
#pragma once

#include <string>

#include "core/numerics/tensor_rules.h"
#include "formats/onnx/exporter/model_writer.h"

namespace qsim::formats {

// A node that rounds `tensor`; returns its output. Throws Error (exit code 4) for rules other than
// UniformRule and Log2Rule.
std::string add_rounding(const TensorRule& rule, const std::string& tensor, ModelWriter& model);

// Adds the definitions of the roundings that the model has.
void add_rounding_functions(onnx::ModelProto& model);

}  // namespace qsim::formats
