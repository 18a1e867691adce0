// A network as plain data: tensors, and layers that read and write them. The tensors say what they
// are: of a quantized network int8 or uint8, of a float network float32. The importer or a workload
// file makes it; the compiler lowers a quantized one, quantize/ makes a quantized one of a float
// one, golden executes both. Immutable once validate() has passed. ADR 0012 (docs/adr/machine.md)
// and ADR 0021 (docs/adr/software.md) have the reasons.
//
// Every activation is [N][H][W][C] (NHWC); a fully connected layer's vectors have H = W = 1.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/tensor.h"
#include "core/network/operations.h"
#include "core/numerics/scale.h"

namespace qsim {

struct ImageShape {
  std::int64_t batch = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t channels = 1;

  Shape nhwc() const { return {batch, height, width, channels}; }
  bool operator==(const ImageShape&) const = default;
};

// What flows between layers. An integer q stands for the real number (q - zero_point) * scale.
struct Value {
  ImageShape shape;
  DType dtype = DType::kInt8;   // kInt8, kUint8 or kFloat32
  std::int32_t zero_point = 0;  // within the dtype's range; 0 of kFloat32
  // Absent where a workload gives shifts alone, and of kFloat32.
  std::optional<Scale> scale;

  // n where the scale is 2^-n; nothing for another scale or none.
  std::optional<int> scale_exponent() const {
    const auto log2 = scale ? scale->log2() : std::nullopt;
    return log2 ? std::optional<int>(-*log2) : std::nullopt;
  }
  bool is_real() const { return dtype == DType::kFloat32; }
  bool is_unsigned() const { return dtype == DType::kUint8; }
  std::int32_t min() const { return is_unsigned() ? 0 : -128; }
  std::int32_t max() const { return is_unsigned() ? 255 : 127; }
  bool operator==(const Value&) const = default;
};

inline Value real_value(const ImageShape& shape) { return {shape, DType::kFloat32, 0, {}}; }

// An index of Graph::tensors.
using TensorId = std::size_t;

struct Layer {
  std::string name;  // unique in the graph: an ONNX node's name, or a workload's
  Operation operation;
  std::vector<TensorId> inputs;  // in the order of the operands
  TensorId output = 0;
  std::string source = {};  // what errors call it (layer_place()); "": no file describes it
  std::string tensor = {};  // the ONNX tensor that its output is; "": the file has none
};

// What the host makes of the output, which is then [N][C]: Softmax, then ArgMax, or one of them.
struct HostTail {
  bool softmax = false;                 // of each picture's channels, in float32
  std::optional<Value> softmax_levels;  // rounds it to these, by ONNX Runtime's QLinearSoftmax
  bool arg_max = false;                 // the first of the largest channels, as int32
  bool arg_max_keeps_axis = false;      // [N][1], else [N]

  bool is_empty() const { return !softmax && !arg_max; }
};

// How the outside world sees the input and output tensors of a graph.
struct HostInterface {
  enum class Layout : std::uint8_t { kNhwc, kNchw };
  Layout layout = Layout::kNhwc;  // of `.npy` files of pictures; the core is NHWC throughout
  bool float_input = false;       // the model starts with QuantizeLinear: input is real-valued
  bool float_output = false;      // the model ends with DequantizeLinear
  bool flat_output = false;       // the output is [N][C], not a picture
  HostTail tail = {};             // float_output is then that of the numbers before ArgMax
};

// A new graph has one tensor, which is its input; append() adds a layer and the tensor that it
// writes. Each tensor but the input is the output of one layer, and a layer comes after the layers
// whose outputs it reads. So the last layer writes the graph's output. A tensor is called after the
// layer that writes it, and the input "input".
struct Graph {
  std::string name;
  std::vector<Value> tensors = std::vector<Value>(1);
  TensorId input = 0;
  TensorId output = 0;
  std::vector<Layer> layers;
  HostInterface host;

  const Value& input_value() const { return tensors[input]; }
  Value& input_value() { return tensors[input]; }
  const Value& output_value() const { return tensors[output]; }
  Value& output_value() { return tensors[output]; }
  const ImageShape& input_shape() const { return tensors[input].shape; }
  const ImageShape& output_shape() const { return tensors[output].shape; }
  // Whether it is a float network: validate() has seen that all its tensors are float32, or none.
  bool is_real() const { return input_value().is_real(); }
  // What layer `index` reads as its operand `operand`, and what it writes.
  const Value& input_of(std::size_t index, std::size_t operand = 0) const {
    return tensors[layers[index].inputs[operand]];
  }
  const Value& output_of(std::size_t index) const { return tensors[layers[index].output]; }
  Value& output_of(std::size_t index) { return tensors[layers[index].output]; }
};

// Adds a layer that reads `inputs`, or the graph's output so far, and writes `output`, which
// becomes the graph's output. Returns its id.
TensorId append(Graph& graph, std::string name, Operation operation, Value output,
                std::string source = {});
TensorId append(Graph& graph, std::string name, Operation operation, std::vector<TensorId> inputs,
                Value output, std::string source = {});

// The same network for another number of pictures at a time.
void set_batch(Graph& graph, std::int64_t batch);

// What errors call a layer: its `source`, which is "net.yaml:4:5: layer 'conv1'" or
// "net.onnx: node 'conv1' (QLinearConv)", and "layer 'conv1'" where it has none.
std::string layer_place(const std::string& name, const std::string& source = {});

// Useful multiply-accumulates of one layer over the whole batch (padding positions included, as
// the field counts them; other groups' channels not); 0 for layers without weights.
std::int64_t layer_macs(const Graph& graph, std::size_t index);

// Checks every shape, dtype, range and count of the graph, that real weights are finite, and that
// its layers are in order (see Graph). Throws Error (exit code 3) naming the layer, what was found
// and what is allowed.
void validate(const Graph& graph);

}  // namespace qsim
