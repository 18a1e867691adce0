// The layers of a float network as ONNX nodes, those with integer weights among them. A layer's
// node has its name.
#pragma once

#include <string>
#include <vector>

#include "core/network/hybrid_network.h"
#include "formats/onnx/exporter/model_writer.h"

namespace qsim::formats {

class HybridLayerWriter {
 public:
  HybridLayerWriter(const HybridNetwork& network, ModelWriter& model);

  // Whether a tensor is [N, K] in the file, not [N, C, H, W].
  bool is_vector(TensorId id) const { return is_vector_[id]; }
  // A tensor of the graph is now in the file; its rounding, where it has one, is added.
  void define(TensorId id, const std::string& name);
  const std::string& tensor(TensorId id) const { return names_[id]; }

  // Writes all layers. The graph's input must be defined.
  void write();

 private:
  // Weights as the file has them.
  struct Stored {
    onnx::TensorProto::DataType dtype = onnx::TensorProto::FLOAT;
    Shape shape;
    std::string bytes;
    std::vector<float> scales;  // empty: float weights
    std::string zero_points;    // as many; empty: all 0
  };

  void write(const Conv2d& conv);
  void write(const FullyConnected& linear);
  void write(const MaxPool& pool);
  void write(const AveragePool& pool);
  void write(const Add& add);
  void write(const Concat& concat);
  void write(const Activation& activation);
  void write(const PRelu& prelu);
  void write(const Flatten& flatten);

  void find_vectors();
  const Layer& layer() const { return network_.graph.layers[index_]; }
  const ImageShape& input() const { return network_.graph.tensors[layer().inputs[0]].shape; }
  const ImageShape& output() const { return network_.graph.output_of(index_).shape; }
  const RealLayerWeights* integers() const;
  const std::string& operand(std::size_t number = 0) const {
    return names_[layer().inputs[number]];
  }
  // The layer's node; its output is the layer's tensor.
  onnx::NodeProto& add_layer(const char* op_type, const TensorNames& inputs);
  Stored stored(const Tensor& weights) const;
  void turn(Stored& stored) const;  // [M, K] to [K, M]
  // The weights' tensor: a constant, or what a DequantizeLinear makes of one.
  std::string add_weights(const Stored& stored);
  // `op_type` on integers, the scales of input and weights, and the bias. Returns its node.
  onnx::NodeProto& add_dynamic(const char* op_type, const Stored& stored, const Tensor& bias,
                               bool is_conv);
  [[noreturn]] void refuse(const std::string& found, const std::string& supported) const;

  const HybridNetwork& network_;
  ModelWriter& model_;
  std::size_t index_ = 0;
  std::vector<std::string> names_;  // by tensor
  std::vector<bool> is_vector_;     // by tensor
};

}  // namespace qsim::formats
