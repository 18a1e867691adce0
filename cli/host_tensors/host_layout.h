// Between the core's NHWC 8-bit tensors and the tensors of the outside world, in the model's own
// layout and dtype.
#pragma once

#include <optional>
#include <string>

#include "core/network/graph.h"

namespace qsim::cli {

// What the outside world must know of a network's input.
struct InputForm {
  std::string graph;  // its name, for errors
  Value value;
  HostInterface::Layout layout = HostInterface::Layout::kNhwc;
};

InputForm input_form(const Graph& graph);
// The same for one picture at a time.
InputForm one_picture(InputForm form);

// What the outside world must know of a network's output. Stays valid when the graph is gone.
struct OutputForm {
  Value value;  // of the last layer
  HostInterface host;
  std::optional<Flatten::Order> flatten;  // the network ends with this Flatten
};

// `graph` has at least one layer.
OutputForm output_form(const Graph& graph);

// A `.npy` of the model's own layout (NCHW for ONNX; also [N, C] where the picture is one pixel),
// float32 or the graph's 8-bit dtype, as the graph's input. `source` names it in errors.
Tensor input_from_host(const Tensor& tensor, const InputForm& form, const std::string& source);

// The same for any number of pictures, at least one; the form's own batch does not count.
Tensor pictures_from_host(const Tensor& tensor, const InputForm& form, const std::string& source);

// The same for float32 alone, not quantized: float32 NHWC.
Tensor real_pictures_from_host(const Tensor& tensor, const InputForm& form,
                               const std::string& source);

// The model's output from `last`, NHWC: the last layer's tensor, or the ofmap before the Flatten
// that the network ends with. The result is [N, C] or in the model's own layout. It has the 8-bit
// values as they are, or, with `as_model_ends`, dequantized to float32 if the model ends so, after
// Softmax and ArgMax if it ends with them.
Tensor output_to_host(const Tensor& last, const OutputForm& form, bool as_model_ends);

// The real number that element `index` stands for; the raw value when there is no scale.
double real_value(const Tensor& tensor, std::size_t index, const Value& value);

}  // namespace qsim::cli
