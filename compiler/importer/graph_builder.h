// The Graph while it is built, and its last tensor as ONNX describes it. From operator to operator
// it keeps: one chain, one quantization per tensor, one layout.
#pragma once

#include <string>
#include <vector>

#include "compiler/importer/model_graph.h"
#include "compiler/importer/node_reader.h"
#include "compiler/importer/quantization.h"
#include "core/graph.h"

namespace qsim {

// The order of an ONNX tensor's axes; the Graph itself is NHWC throughout.
enum class Axes : std::uint8_t { kNchw, kNhwc, kNk };

// Numbers of an ONNX tensor: float32 before QuantizeLinear, 8-bit, float32 after DequantizeLinear.
enum class Stage : std::uint8_t { kReal, kQuantized, kDequantized };

class GraphBuilder {
 public:
  // Starts with the graph's input; a symbolic batch dimension becomes `batch`.
  GraphBuilder(const ModelGraph& model, std::int64_t batch);

  // What the next node reads. Its quantization may not be known yet (no scale): the
  // zero_point is then 0 until a consumer gives one.
  const Value& value() const { return graph_.output_value(); }
  Axes axes() const { return axes_; }
  Stage stage() const { return stage_; }

  // Refuses the node unless it reads 8-bit numbers, or such with these axes too.
  void require_quantized(const NodeReader& node) const;
  void require(const NodeReader& node, Axes axes) const;

  // QuantizeLinear and DequantizeLinear.
  void quantize(const NodeReader& node, const Quantization& quantization);
  void dequantize(const NodeReader& node, const Quantization& quantization);

  // What a consumer says of the tensor that it reads: it must be what the producer said, and is
  // taken over where no producer said anything.
  void agree(const NodeReader& node, const Quantization& quantization);

  // Appends a layer that reads value() and writes a tensor of `shape` with the same quantization,
  // or with another one.
  void add_layer(const NodeReader& node, Operation operation, const ImageShape& shape, Axes axes);
  void add_layer(const NodeReader& node, Operation operation, const ImageShape& shape, Axes axes,
                 const Quantization& quantization);

  // Transpose: a change of axes that moves no element of the Graph's NHWC tensor.
  void set_axes(Axes axes) { axes_ = axes; }
  // The input, taken for [N, C, H, W] so far, is [N, H, W, C]. False when a layer or an earlier
  // transpose has already relied on the former.
  bool reinterpret_input_as_nhwc();

  // The finished graph. Checks it against the output that the file declares.
  Graph finish(const ModelGraph& model) &&;

 private:
  void append(const NodeReader& node, Operation operation, const Value& output, Axes axes);
  void adopt(const NodeReader& node, const Quantization& quantization);
  void check_output(const ModelGraph& model) const;

  Graph graph_;
  Axes axes_ = Axes::kNchw;
  Stage stage_ = Stage::kReal;
};

}  // namespace qsim
