// The Graph while it is built, and what the tensors of the ONNX file so far are in it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/onnx/importer/axes.h"
#include "formats/onnx/importer/node_reader.h"
#include "formats/onnx/importer/real/channel_map.h"
#include "formats/onnx/importer/real/stored_integers.h"

namespace qsim::formats {

// What a tensor of the file is: a tensor of the graph with pads around it that no layer has added
// yet, or what the host makes of the graph's output.
struct RealTensor {
  TensorId id = 0;
  Axes axes = Axes::kNchw;
  Pads pads = {};
  HostTail tail = {};  // of the host where it is not empty
};

class RealBuilder {
 public:
  // Starts with the graph's input; a symbolic batch dimension becomes `batch`.
  RealBuilder(const ModelGraph& model, std::int64_t batch);

  // Its sizes in the graph, pads included.
  ImageShape shape(const RealTensor& tensor) const;

  // What input `index` of a node is; null for a constant of the file and for an absent one.
  const RealTensor* find(const NodeReader& node, int index) const;
  // The same of an input that the graph computes. Throws for any other.
  RealTensor tensor(const NodeReader& node, int index) const;
  // The same with these axes.
  RealTensor tensor(const NodeReader& node, int index, Axes axes) const;
  // The same of what the graph or the host computes, with axes [N, K].
  RealTensor host_tensor(const NodeReader& node, int index) const;

  // Sets what the node's output is.
  void define(const NodeReader& node, const RealTensor& tensor);

  // Appends a layer of that name; the pads of `inputs` are none. `map` is of a layer with weights.
  RealTensor add_layer(const NodeReader& node, const std::string& name, Operation operation,
                       const std::vector<RealTensor>& inputs, const ImageShape& shape, Axes axes,
                       std::optional<ChannelMap> map = {});
  // A layer called after the node, whose output it is.
  void define_layer(const NodeReader& node, Operation operation,
                    const std::vector<RealTensor>& inputs, const ImageShape& shape, Axes axes,
                    std::optional<ChannelMap> map = {});
  // The node's output is `scale` * input + `shift` by channel.
  void define_map(const NodeReader& node, const RealTensor& input, ChannelMap map);
  // The node's output is the numbers of `input` on one axis, by a layer of that name.
  void define_flat(const NodeReader& node, const std::string& name, const RealTensor& input,
                   Axes axes);
  // The tensor with its pads, where it has any, as a layer of its own.
  RealTensor without_pads(const NodeReader& node, const RealTensor& tensor);

  // The input, taken for [N, C, H, W] so far, is [N, H, W, C]. False when a layer, another node or
  // an earlier transpose has already relied on the former.
  bool reinterpret_input_as_nhwc(const NodeReader& node);

  // Input `index` of a node is a constant that stands for integers: said once, before the node is
  // imported. Null where it is float.
  void set_integers(const std::string& constant, StoredIntegers integers);
  const StoredIntegers* integers(const NodeReader& node, int index) const;
  // The last layer computes with these.
  void set_layer_integers(RealLayerWeights weights);
  // What becomes of a tensor that the node alone reads; its output is that tensor. Refuses a second
  // rule, and other readers.
  void define_rounded(const NodeReader& node, const TensorRule& rule);

  // The layer that writes a tensor; null for the input's.
  const Layer* writer_of(const RealTensor& tensor) const;

  // The finished graph. Checks it against the output that the file declares.
  HybridNetwork finish() &&;

 private:
  void check_output(const RealTensor& output) const;

  const ModelGraph& model_;
  MappedGraph mapped_;
  std::map<std::string, RealTensor, std::less<>> tensors_;
  std::map<std::string, StoredIntegers, std::less<>> integers_;
};

}  // namespace qsim::formats
