#include "quantize/fusion.h"

#include <algorithm>

namespace qsim::quantize {
namespace {

// The range of a Relu or Clip; nothing for another layer.
struct RealClamp {
  float low;
  float high;
};

std::optional<RealClamp> real_clamp_of(const Operation& operation) {
  const auto* activation = std::get_if<Activation>(&operation);
  if (activation == nullptr) return std::nullopt;
  if (activation->kind == Activation::Kind::kClip) return RealClamp{activation->lo, activation->hi};
  if (activation->kind != Activation::Kind::kRelu) return std::nullopt;
  return RealClamp{0.0F, std::numeric_limits<float>::infinity()};
}

class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : graph_(graph),
        readers_(graph.tensors.size(), 0),
        writers_(graph.tensors.size()),
        parents_(graph.tensors.size()) {
    ++readers_[graph.output];
    for (const Layer& layer : graph.layers) {
      for (const TensorId input : layer.inputs) ++readers_[input];
    }
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      fusion_.held_in.push_back(id);
      fusion_.content.emplace_back(id);
      parents_[id] = id;
    }
  }

  Fusion run() && {
    for (std::size_t i = 0; i < graph_.layers.size(); ++i) add(i);
    for (TensorId id = 0; id < parents_.size(); ++id) fusion_.group.push_back(root(id));
    return std::move(fusion_);
  }

 private:
  void add(std::size_t index) {
    const Layer& layer = graph_.layers[index];
    const auto clamp = real_clamp_of(layer.operation);
    if (clamp && can_clamp(layer.inputs[0])) {
      const TensorId tensor = fusion_.held_in[layer.inputs[0]];
      narrow(tensor, *clamp);
      fusion_.layers[*writers_[tensor]].last = index;
      fusion_.held_in[layer.output] = tensor;
      fusion_.content[tensor] = layer.output;
      fusion_.content[layer.output].reset();
      return;
    }
    writers_[layer.output] = fusion_.layers.size();
    fusion_.layers.push_back({index, index});
    if (!clamp && !selects(layer.operation)) return;
    const bool is_concat = std::holds_alternative<Concat>(layer.operation);
    for (const TensorId input : layer.inputs) {
      const TensorId tensor = fusion_.held_in[input];
      if (is_concat && root(tensor) == root(graph_.input)) continue;
      parents_[root(tensor)] = root(layer.output);
    }
  }

  const Layer& writer_of(TensorId tensor) const {
    return graph_.layers[fusion_.layers[*writers_[tensor]].layer];
  }

  // Whether the layers that make `id` can clamp it unseen by others.
  bool can_clamp(TensorId id) const {
    const TensorId tensor = fusion_.held_in[id];
    if (readers_[id] != 1 || !writers_[tensor]) return false;
    const Layer& layer = writer_of(tensor);
    if (clamp_of(layer.operation)) return true;
    if (!selects(layer.operation)) return false;
    return std::ranges::all_of(layer.inputs, [&](TensorId input) { return can_clamp(input); });
  }

  void narrow(TensorId tensor, const RealClamp& clamp) {
    FusedLayer& fused = fusion_.layers[*writers_[tensor]];
    fused.low = std::clamp(fused.low, clamp.low, clamp.high);
    fused.high = std::clamp(fused.high, clamp.low, clamp.high);
    const Layer& layer = graph_.layers[fused.layer];
    if (!selects(layer.operation)) return;
    for (const TensorId input : layer.inputs) {
      const TensorId read = fusion_.held_in[input];
      narrow(read, clamp);
      fusion_.content[read].reset();
    }
  }

  TensorId root(TensorId tensor) const {
    while (parents_[tensor] != tensor) tensor = parents_[tensor];
    return tensor;
  }

  const Graph& graph_;
  Fusion fusion_;
  std::vector<int> readers_;                         // of a tensor; the end is one
  std::vector<std::optional<std::size_t>> writers_;  // of Fusion::layers
  std::vector<TensorId> parents_;
};

}  // namespace

bool selects(const Operation& operation) {
  return row_of(operation).selects_levels || std::holds_alternative<Concat>(operation);
}

Fusion fuse(const Graph& graph) { return Fuser(graph).run(); }

}  // namespace qsim::quantize
