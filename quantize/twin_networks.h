// The float network and the quantized one (in fake quantization) side by side, a layer at a time,
// on the same pictures: so that what is decided for one layer is seen by the layers after it, and
// every layer is computed once.
#pragma once

#include <optional>
#include <vector>

#include "core/real_graph.h"
#include "golden/common/thread_team.h"
#include "golden/real/real_rules.h"

namespace qsim::quantize {

class TwinNetworks {
 public:
  // `rules`: one a tensor, of the quantized network. `pictures`: float32 [N][H][W][C].
  TwinNetworks(const RealGraph& graph, std::vector<std::optional<golden::TensorRule>> rules,
               Tensor pictures, golden::ThreadTeam& team);

  // Of the next layer: what it reads in both networks (its first operand).
  std::size_t next_layer() const { return next_; }
  bool at_end() const { return next_ == graph_.layers.size(); }
  const Tensor& float_input() const { return float_[graph_.layers[next_].inputs[0]]; }
  const Tensor& quantized_input() const { return quantized_[graph_.layers[next_].inputs[0]]; }

  // Computes the next layer in both networks, in the quantized one as `operation` (its weights
  // rounded), without the rule of its output.
  void compute(const RealOperation& operation);
  const Tensor& float_output() const { return float_[graph_.layers[next_].output]; }
  const Tensor& quantized_output() const { return quantized_[graph_.layers[next_].output]; }
  // Adds a number to each channel of quantized_output().
  void shift(const std::vector<float>& by_channel);
  // Applies the rule, frees what nobody reads any more, and goes to the layer after.
  void advance();

 private:
  Tensor run(const RealOperation& operation, const std::vector<Tensor>& tensors);

  const RealGraph& graph_;
  std::vector<std::optional<golden::TensorRule>> rules_;
  golden::ThreadTeam& team_;
  std::vector<Tensor> float_;  // by tensor; of no bytes where nobody reads it
  std::vector<Tensor> quantized_;
  std::vector<std::size_t> last_readers_;
  std::size_t next_ = 0;
};

// The bytes that TwinNetworks needs for one picture.
std::int64_t twin_bytes(const RealGraph& graph);

}  // namespace qsim::quantize
