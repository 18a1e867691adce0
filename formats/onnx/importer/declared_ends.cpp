#include "formats/onnx/importer/declared_ends.h"

#include <cstdint>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "formats/onnx/importer/tensor_proto.h"

namespace qsim::formats {
namespace {

// What an ONNX file declares of its input and output: element type and shape.

constexpr std::int64_t kSymbolic = -1;

struct Declaration {
  int data_type = 0;  // onnx::TensorProto::DataType
  bool has_shape = false;
  // kSymbolic where the dimension has a name or nothing, or is written as -1.
  std::vector<std::int64_t> shape;
};

// Throws Error for what is not a tensor and for a dimension below 1. `where` opens the message.
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
    if (size < kSymbolic) {
      throw_bad_input(axis + " is " + std::to_string(size) + "; expected 1 or more, or a name");
    }
    if (size == 0) throw_unsupported(axis + " is 0; supported: 1 or more, or a name");
    declaration.shape.push_back(size);
  }
  return declaration;
}

// "[N, 3, 32, 32]", symbolic dimensions written '?'.
std::string declared_shape_text(const Declaration& declaration) {
  std::string text;
  for (const std::int64_t dim : declaration.shape) {
    text += (text.empty() ? "" : ", ") + (dim == kSymbolic ? "?" : std::to_string(dim));
  }
  return "[" + text + "]";
}

std::int64_t resolve_batch(std::int64_t declared, std::int64_t batch, const std::string& where) {
  if (declared == kSymbolic) return batch;
  if (batch != 1 && batch != declared) {
    throw_unsupported(where + ": the file fixes the batch at " + std::to_string(declared) +
                      ", but the run asks for " + std::to_string(batch) +
                      "; supported: " + std::to_string(declared));
  }
  return declared;
}

void check_input_shape(const Declaration& declaration, const std::string& where) {
  const std::size_t rank = declaration.shape.size();
  bool has_sizes = declaration.has_shape;
  for (std::size_t axis = 1; axis < rank; ++axis) has_sizes &= declaration.shape[axis] != kSymbolic;
  if ((rank != 2 && rank != 4) || !has_sizes) {
    throw_unsupported(where + ": shape " +
                      (declaration.has_shape ? declared_shape_text(declaration) : "unknown") +
                      "; supported: [N, C, H, W], [N, H, W, C], [N, K]; only N may be unknown" +
                      (has_sizes ? "" : " (`qsim run --shape` gives sizes)"));
  }
}

void check_size(const ImageShape& shape, const std::string& where) {
  const std::int64_t elems = element_count(shape.nhwc());
  if (elems > kMaxTensorElems) {
    throw_unsupported(where + ": a tensor of " + std::to_string(elems) +
                      " elements; supported: at most " + std::to_string(kMaxTensorElems));
  }
}

}  // namespace

DeclaredInput read_input(const ModelGraph& model, std::int64_t batch) {
  DeclaredInput input;
  input.where = model.source + ": input '" + echoed(model.input->name()) + "'";
  const Declaration declaration = read_declaration(*model.input, input.where);
  check_input_shape(declaration, input.where);
  input.data_type = declaration.data_type;
  input.shape.batch = resolve_batch(declaration.shape[0], batch, input.where);
  input.shape.channels = declaration.shape[1];
  input.axes = declaration.shape.size() == 2 ? Axes::kNk : Axes::kNchw;
  if (input.axes == Axes::kNchw) {
    input.shape.height = declaration.shape[2];
    input.shape.width = declaration.shape[3];
  }
  check_size(input.shape, input.where);
  return input;
}

std::string output_place(const ModelGraph& model) {
  return model.source + ": output '" + echoed(model.output->name()) + "'";
}

void check_declared_output(const ModelGraph& model, int data_type, const Shape& shape) {
  const std::string where = output_place(model);
  const Declaration declared = read_declaration(*model.output, where);
  if (declared.data_type != data_type) {
    throw_bad_input(where + ": declared as " + onnx_dtype_name(declared.data_type) + "; expected " +
                    onnx_dtype_name(data_type));
  }
  bool same = !declared.has_shape || declared.shape.size() == shape.size();
  for (std::size_t i = 0; same && i < declared.shape.size(); ++i) {
    same = declared.shape[i] == kSymbolic || declared.shape[i] == shape[i];
  }
  if (!same) {
    throw_bad_input(where + ": declared with shape " + declared_shape_text(declared) +
                    "; expected " + shape_text(shape));
  }
}

void check_output_axes(const ModelGraph& model, Axes axes, HostInterface::Layout layout) {
  const Axes host_axes = layout == HostInterface::Layout::kNhwc ? Axes::kNhwc : Axes::kNchw;
  if (axes == Axes::kNk || axes == host_axes) return;
  throw_unsupported(output_place(model) + ": has axes " + axes_name(axes) +
                    "; supported: " + axes_name(host_axes) + " as the input has, or [N, K]");
}

void refuse_graph_without_layers(const ModelGraph& model) {
  throw_unsupported(output_place(model) +
                    ": no layer between input and output; supported: one or more");
}

}  // namespace qsim::formats
