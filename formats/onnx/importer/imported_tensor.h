// What the importer knows of a tensor of the ONNX file when it has read the node that writes it.
#pragma once

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/network/float_rules.h"
#include "core/network/graph.h"
#include "formats/onnx/importer/axes.h"
#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/quantization.h"

namespace qsim::formats {

struct OpenLayer;

struct ImportedTensor {
  enum class Kind : std::uint8_t {
    kReal,      // the graph's float32 input, before QuantizeLinear
    kLevels,    // the 8-bit numbers of the Graph's tensor `id`
    kReals,     // float32 numbers, each a function of one level of tensor `id`
    kOpen,      // float32 numbers of a layer that waits for its QuantizeLinear
    kConstant,  // float32 numbers of a constant after a DequantizeLinear
    kHost,      // what the host makes of the Graph's output (HostTail)
  };
  Kind kind = Kind::kLevels;
  TensorId id = 0;          // of kReal, kLevels, kReals
  Axes axes = Axes::kNchw;  // of the same
  Pads pads = {};           // around tensor `id`, of what no layer has added yet
  std::shared_ptr<const ByteFunction> function = {};  // of kReals; null: the levels' real numbers
  std::shared_ptr<OpenLayer> open = {};               // of kOpen
  // For kConstant: the DequantizeLinear. For kReals with a function: the last node of it.
  ModelNode node = {};
  bool transposed = false;  // of kConstant
  HostTail tail = {};       // of kHost
  bool is_real = false;     // of kHost: float32, not levels
};

// A layer without the quantization of its output, which a QuantizeLinear gives.
struct OpenLayer {
  ModelNode node;                      // of which file's node it is made
  Operation operation;                 // without what follows from the output's quantization
  std::vector<ImportedTensor> inputs;  // kLevels; of Concat kReals
  ImageShape shape;
  Axes axes = Axes::kNchw;
  // For Conv2d and FullyConnected: x_scale * w_scale by channel, exactly.
  std::vector<double> products = {};
  // Relu and Clip after it.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  // Each QuantizeLinear that has come, and the tensor that it writes.
  std::vector<std::pair<Quantization, TensorId>> outputs = {};
};

}  // namespace qsim::formats
