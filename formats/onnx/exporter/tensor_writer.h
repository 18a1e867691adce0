// What the tensors of a Graph are called in the ONNX file: as 8-bit levels and as real numbers, as
// pictures [N, C, H, W] and as vectors [N, K]. What is asked for and not there yet is added.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/network/graph.h"
#include "formats/onnx/exporter/model_writer.h"
#include "formats/onnx/exporter/onnx_exporter.h"

namespace qsim::formats {

// Of a tensor in the file. A vector is a picture of one pixel in the Graph.
enum class TensorRank : std::uint8_t { kPicture, kVector };

class TensorWriter {
 public:
  TensorWriter(const Graph& graph, OnnxForm form, ModelWriter& model);

  // The levels of a tensor of the graph are now in the file.
  void define(TensorId id, const std::string& levels, TensorRank rank);
  // The rank that it was defined with.
  TensorRank rank(TensorId id) const { return names_[id].rank; }

  // Names of the tensor in the file.
  std::string levels(TensorId id, TensorRank rank);
  std::string reals(TensorId id, TensorRank rank);
  // Its scale and its zero_point.
  TensorNames quantization(TensorId id);
  // Levels and quantization, as the inputs of an operator on levels.
  TensorNames quantized(TensorId id, TensorRank rank);

  // Nodes between real numbers and levels of that tensor's quantization. The first returns the
  // name of its output.
  std::string dequantize(const std::string& levels, TensorId id, const std::string& wanted);
  void quantize(const std::string& reals, TensorId id, const std::string& levels);

 private:
  struct Names {
    std::string base = "input";         // what its constants and nodes are called after
    std::array<std::string, 2> levels;  // by TensorRank; "" where there are none yet
    std::array<std::string, 2> reals;
    std::string scale;
    std::string zero_point;
    TensorRank rank = TensorRank::kPicture;
  };

  std::string changed_rank(TensorId id, TensorRank rank);

  const Graph& graph_;
  OnnxForm form_;
  ModelWriter& model_;
  std::vector<Names> names_;
};

}  // namespace qsim::formats
