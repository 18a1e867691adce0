// The layers of a quantized network as ONNX nodes. A layer's node has its name, and so has the
// tensor of its levels.
#pragma once

#include <optional>
#include <vector>

#include "core/network/quantized_network.h"
#include "formats/onnx/exporter/model_writer.h"
#include "formats/onnx/exporter/onnx_exporter.h"
#include "formats/onnx/exporter/tensor_writer.h"

namespace qsim::formats {

class LayerWriter {
 public:
  LayerWriter(const QuantizedNetwork& network, OnnxForm form, ModelWriter& model,
              TensorWriter& tensors);

  // Writes all layers. The graph's input must be defined in `tensors`.
  void write();

 private:
  struct Clamp {
    std::int32_t lo;
    std::int32_t hi;
  };

  void write(const Conv2d& conv);
  void write(const FullyConnected& fc);
  void write(const MaxPool& pool);
  void write(const Relu& relu);
  void write(const Flatten& flatten);
  void write(const AveragePool& pool);
  void write(const Add& add);
  void write(const Concat& concat);
  void write(const LookupTable& table);
  void write(const PRelu& prelu);

  void write_activation(const Activation& activation, TensorRank rank);
  bool write_clipped(const LookupTable& table, TensorRank rank);
  std::string add_activation(const Activation& activation, const std::string& name,
                             const std::string& reals);
  std::string add_empty_pad(const std::string& reals, TensorRank rank);
  void find_joined_tables();
  bool is_joined_table(std::size_t index, const Layer& concat, std::size_t operand) const;
  TensorId joined_operand(std::size_t operand) const;

  const Layer& layer() const { return network_.graph.layers[index_]; }
  const Value& output() const { return network_.graph.output_of(index_); }
  const Value& input(std::size_t operand = 0) const {
    return network_.graph.input_of(index_, operand);
  }
  TensorId operand(std::size_t number = 0) const { return layer().inputs[number]; }
  // Whether the layer is written as an operator on real numbers: in the QDQ form, and where the
  // types of its tensors differ, for which ONNX Runtime has no operator on levels.
  bool is_real() const;
  [[noreturn]] void refuse(const std::string& found, const std::string& supported) const;
  void require_float32(RequantizerRounding rounding) const;
  bool absorbs_clamp(TensorId tensor) const;

  // The layer's node, and what follows it: QuantizeLinear where it computes real numbers, and the
  // clamp where it is more than the output's type. Its first output is the layer's tensor.
  onnx::NodeProto& add_layer(const char* op_type, const TensorNames& inputs, TensorRank rank,
                             bool computes_reals, std::optional<Clamp> clamp = {});
  void add_clamp(const Clamp& clamp, const std::string& levels);
  float real_of(std::int32_t level) const;  // of the layer's output
  std::string add_clip(const std::string& name, const std::string& reals, float lo, float hi);
  // The node of a layer with weights on levels: x, w, y and the bias in that operator's order.
  TensorNames weighted_inputs(const Tensor& weights, const Tensor& bias,
                              const Requantization& requantization, TensorRank rank,
                              bool bias_last);

  const QuantizedNetwork& network_;
  OnnxForm form_;
  ModelWriter& model_;
  TensorWriter& tensors_;
  std::size_t index_ = 0;
  std::vector<std::optional<std::size_t>> writers_;  // by tensor: the layer that writes it
  std::vector<int> readers_;                         // by tensor, the graph's output included
  std::vector<bool> joined_;                         // layers that are part of a QLinearConcat
};

// The slopes as ONNX repeats them over [N, C, H, W], or over [N, K].
Tensor onnx_slopes(const PRelu& prelu, bool is_vector);

}  // namespace qsim::formats
