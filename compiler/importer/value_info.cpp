#include "compiler/importer/value_info.h"

#include "core/error.h"

namespace qsim {

Declaration read_declaration(const onnx::ValueInfoProto& info, const std::string& where) {
  if (!info.type().has_tensor_type()) {
    throw_unsupported(where + ": is not declared as a tensor; supported: a tensor");
  }
  const onnx::TypeProto::Tensor& type = info.type().tensor_type();
  Declaration declaration;
  declaration.data_type = type.elem_type();
  declaration.has_shape = type.has_shape();
  for (const onnx::TensorShapeProto::Dimension& dim : type.shape().dim()) {
    const std::int64_t size = dim.has_dim_value() ? dim.dim_value() : kSymbolic;
    const std::string axis = where + ": dimension " + std::to_string(declaration.shape.size());
    if (dim.has_dim_value() && size < 0) {
      throw_bad_input(axis + " is " + std::to_string(size) + "; expected 1 or more, or a name");
    }
    if (size == 0) throw_unsupported(axis + " is 0; supported: 1 or more, or a name");
    declaration.shape.push_back(size);
  }
  return declaration;
}

std::string declared_shape_text(const Declaration& declaration) {
  std::string text;
  for (const std::int64_t dim : declaration.shape) {
    text += (text.empty() ? "" : ", ") + (dim == kSymbolic ? "?" : std::to_string(dim));
  }
  return "[" + text + "]";
}

}  // namespace qsim
