// The Graph while it is built, and what the tensors of the ONNX file so far are in it. It keeps:
// one quantization and one order of axes per tensor.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/network/graph.h"
#include "formats/onnx/importer/imported_tensor.h"
#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

class GraphBuilder {
 public:
  // Starts with the graph's input; a symbolic batch dimension becomes `batch`.
  GraphBuilder(const ModelGraph& model, std::int64_t batch, RequantizerRounding rounding);

  RequantizerRounding rounding() const { return rounding_; }
  const Value& value(const ImportedTensor& tensor) const { return graph_.tensors[tensor.id]; }
  // Its sizes in the Graph, pads included.
  ImageShape shape(const ImportedTensor& tensor) const {
    return padded(value(tensor).shape, tensor.pads);
  }
  Quantization quantization(const ImportedTensor& tensor) const;

  // What input `index` of a node is; null for a constant of the file and for an absent one.
  const ImportedTensor* find(const NodeReader& node, int index) const;
  // The same for an input that must be computed. Throws for any other.
  const ImportedTensor& tensor(const NodeReader& node, int index) const;
  // Sets what the node's output is: a tensor, or a layer that waits for its QuantizeLinear.
  void define(const NodeReader& node, ImportedTensor tensor);
  void define_open(const NodeReader& node, std::shared_ptr<OpenLayer> layer);
  // The same numbers as `input`, levels or real, moved by a layer of its own.
  void define_moved(const NodeReader& node, const ImportedTensor& input, Operation operation,
                    const ImageShape& shape, Axes axes);

  // Input `index` must be 8-bit numbers (kLevels), or such with these axes.
  ImportedTensor levels(const NodeReader& node, int index) const;
  ImportedTensor levels(const NodeReader& node, int index, Axes axes) const;
  // Input `index` of an operator that moves numbers but computes none: levels or real numbers,
  // also those of the float32 input.
  ImportedTensor moved(const NodeReader& node, int index) const;
  // Levels, and what the node says of its quantization is what the tensor has.
  ImportedTensor levels(const NodeReader& node, int index, const Quantization& quantization);
  // The levels of an input that must be float32 straight after a DequantizeLinear.
  ImportedTensor dequantized(const NodeReader& node, int index) const;
  void require_axes(const NodeReader& node, const ImportedTensor& tensor, Axes axes) const;

  // What a consumer says of the tensor that it reads: it must be what the producer said, and is
  // taken over where no producer said anything.
  void agree(const NodeReader& node, const ImportedTensor& tensor,
             const Quantization& quantization);

  // Appends a layer of that name. `quantization` is the output's; without it, the input's.
  ImportedTensor add_layer(const NodeReader& node, const std::string& name, Operation operation,
                           const std::vector<ImportedTensor>& inputs, const ImageShape& shape,
                           Axes axes, const std::optional<Quantization>& quantization = {});
  // A table of `bytes` over a tensor; its pads must be none. `function` is what people read.
  ImportedTensor add_table(const NodeReader& node, const std::string& name,
                           const std::string& function, const ImportedTensor& input,
                           const ByteTable& bytes, const Quantization& output);
  // The tensor with its pads, where it has any, as a layer of its own.
  ImportedTensor without_pads(const NodeReader& node, const ImportedTensor& tensor);

  // A function of real numbers, each of which is a function of one level.
  ImportedTensor apply(const ImportedTensor& reals, const RealFunction& function) const;
  // The levels of real numbers, rounded to `output`: the tensor itself where they are its own.
  ImportedTensor quantized_levels(const NodeReader& node, const std::string& name,
                                  const std::string& function, const ImportedTensor& reals,
                                  const Quantization& output);
  // What a QuantizeLinear before made of the same real numbers of an activation: null if none did.
  const ImportedTensor* rounded_before(const ImportedTensor& reals,
                                       const Quantization& output) const;
  // Whether one made anything of what the activation `node` gives.
  bool has_rounded(const ModelNode& node) const { return rounded_.contains(node.index); }
  void keep_rounded(const ImportedTensor& reals, const Quantization& output,
                    const ImportedTensor& levels);
  // Adds an open layer with its output's quantization; a layer of its own for each that differs.
  ImportedTensor close(const NodeReader& node, OpenLayer& layer, const Quantization& output);

  // The zero_point that a Pad of bytes says before any node gives the input's quantization.
  void expect_zero_point(std::int32_t zero_point);

  // QuantizeLinear of the float32 input.
  ImportedTensor quantize_input(const NodeReader& node, const ImportedTensor& input,
                                const Quantization& quantization);
  // The input, taken for [N, C, H, W] so far, is [N, H, W, C]. False when a layer, another node or
  // an earlier transpose has already relied on the former.
  bool reinterpret_input_as_nhwc(const NodeReader& node);

  // The table that computes a tensor, and the tensor that it reads.
  struct Table {
    TensorId input;
    ByteTable bytes;
  };
  const Table* table_of(TensorId id) const;

  HostInterface& host() { return graph_.host; }
  // The finished graph. Checks it against the output that the file declares.
  Graph finish() &&;

 private:
  void start(std::int64_t batch);
  void adopt(const NodeReader& node, const Quantization& quantization);
  void check_zero_point(const NodeReader& node, std::int32_t zero_point) const;
  void check_output(const ImportedTensor& output) const;
  [[noreturn]] void refuse_kind(const NodeReader& node, const ImportedTensor& tensor,
                                bool wants_levels) const;

  const ModelGraph& model_;
  RequantizerRounding rounding_;
  Graph graph_;
  std::map<std::string, ImportedTensor, std::less<>> tensors_;
  std::map<TensorId, Table> tables_;
  struct Rounded {
    ImportedTensor reals;
    Quantization output;
    ImportedTensor levels;
  };
  std::map<int, std::vector<Rounded>> rounded_;  // by the activation's ModelNode::index
  std::vector<std::int32_t> expected_zero_points_;
};

}  // namespace qsim::formats
