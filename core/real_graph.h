// A float network as plain data: float32 tensors, and layers that read and write them. The importer
// makes it of a float ONNX file, golden/real executes it, quantize/ turns it into a Graph. Batch
// normalization is folded before. ADR 0021 (docs/adr/software.md) has the reasons.
//
// Activations are [N][H][W][C] and weights [Cout][kh][kw][Cin / groups], as in core/graph.h.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/graph.h"
#include "core/operations.h"
#include "core/tensor.h"

namespace qsim {

// y[n][oy][ox][co] = bias[co] + sum over ky, kx, ci of x * weights, as Conv2d of core/operations.h.
struct RealConv2d {
  Window window;
  Tensor weights;  // float32 [Cout][kernel_h][kernel_w][Cin / groups]
  Tensor bias;     // float32 [Cout]
  std::int64_t groups = 1;
};

// y[n][co] = bias[co] + sum over k of x[n][k] * weights[co][k]. Reads [N][1][1][Cin].
struct RealLinear {
  Tensor weights;  // float32 [Cout][Cin]
  Tensor bias;     // float32 [Cout]
};

struct RealMaxPool {
  Window window;
};

// The sum under the window, divided by the number of positions inside the picture, or with
// count_include_pad inside picture and pads. Global pools and ReduceMean are windows of the
// picture's size.
struct RealAveragePool {
  Window window;
  bool count_include_pad = false;
};

struct RealAdd {};     // two tensors of equal shape
struct RealConcat {};  // the operands' channels, one operand after the other

// A function of one number.
struct RealActivation {
  enum class Kind : std::uint8_t { kRelu, kClip, kLeakyRelu, kSigmoid, kHardSigmoid, kHardSwish };
  Kind kind = Kind::kRelu;
  float alpha = 0;  // kLeakyRelu: slope below 0; kHardSigmoid: max(0, min(1, alpha * x + beta))
  float beta = 0;
  float lo = -std::numeric_limits<float>::infinity();  // kClip
  float hi = std::numeric_limits<float>::infinity();   // kClip
};

struct RealFlatten {
  Flatten::Order order = Flatten::Order::kChw;
};

using RealOperation = std::variant<RealConv2d, RealLinear, RealMaxPool, RealAveragePool, RealAdd,
                                   RealConcat, RealActivation, RealFlatten>;

// "conv2d", "linear", "max_pool", "average_pool", "add", "concat", "relu", "clip", "leaky_relu",
// "sigmoid", "hard_sigmoid", "hard_swish", "flatten"
std::string_view operation_name(const RealOperation& operation);

struct RealLayer {
  std::string name;  // unique in the graph: the ONNX node's
  RealOperation operation;
  std::vector<TensorId> inputs;
  TensorId output = 0;
  std::string source = {};  // what errors call it: "net.onnx: node 'conv1' (Conv)"
  std::string tensor = {};  // the ONNX tensor that its output is; "": the file has none
};

// Tensors, order of layers, input and output are as in Graph: a new graph has one tensor, its
// input; each other tensor is the output of one layer; the last layer writes the graph's output.
struct RealGraph {
  std::string name;
  std::vector<ImageShape> tensors = std::vector<ImageShape>(1);
  TensorId input = 0;
  TensorId output = 0;
  std::vector<RealLayer> layers;
  // As in Graph; float_input and float_output are true. `tail` is what the host computes at the
  // end (Softmax, ArgMax).
  HostInterface host;

  const ImageShape& input_shape() const { return tensors[input]; }
  const ImageShape& output_shape() const { return tensors[output]; }
};

// Adds a layer, which becomes the graph's output. Returns the id of its tensor.
TensorId append(RealGraph& graph, std::string name, RealOperation operation,
                std::vector<TensorId> inputs, ImageShape output, std::string source = {});

// The same network for another number of pictures at a time.
void set_batch(RealGraph& graph, std::int64_t batch);

// Checks every shape, dtype and count, that weights are finite, and that its layers are in order.
// Throws Error (exit code 3) naming the layer, what was found and what is allowed.
void validate(const RealGraph& graph);

}  // namespace qsim
