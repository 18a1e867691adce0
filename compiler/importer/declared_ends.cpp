#include "compiler/importer/declared_ends.h"

#include "compiler/importer/tensor_proto.h"
#include "compiler/importer/value_info.h"
#include "core/limits.h"
#include "core/printable.h"

namespace qsim {
namespace {

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
  bool known = rank == 2 || rank == 4;
  for (std::size_t axis = 1; axis < rank; ++axis) known &= declaration.shape[axis] != kSymbolic;
  if (!known) {
    throw_unsupported(where + ": shape " +
                      (declaration.has_shape ? declared_shape_text(declaration) : "unknown") +
                      "; supported: [N, C, H, W], [N, H, W, C], [N, K]; only N may be unknown");
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

}  // namespace qsim
