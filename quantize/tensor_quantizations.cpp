// The quantization of every tensor: of each group of linked tensors by the statistics of those that
// have all of its numbers.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/printable.h"
#include "core/numerics/adder.h"
#include "quantize/fusion.h"
#include "quantize/merged_statistics.h"
#include "quantize/pool_ties.h"
#include "quantize/quantizer.h"

namespace qsim::quantize {
namespace {

// Layers that only select numbers of what they read, or gather them.
bool selects_or_clamps(const Operation& operation) {
  if (const auto* activation = std::get_if<Activation>(&operation)) {
    return activation->kind == Activation::Kind::kRelu ||
           activation->kind == Activation::Kind::kClip;
  }
  return selects(operation);
}

bool has_pads(const Window& window) {
  return window.pad_top + window.pad_left + window.pad_bottom + window.pad_right > 0;
}

// ONNX Runtime adds up a whole picture in integers.
bool is_whole_picture(const Graph& graph, const Layer& layer, const Window& window) {
  const ImageShape& read = graph.tensors[layer.inputs[0]].shape;
  return window.kernel_h == read.height && window.kernel_w == read.width && !has_pads(window);
}

// Whether some windows have fewer positions than others.
bool window_varies(const Graph& graph, const Layer& layer, const AveragePool& pool) {
  const Window& window = pool.window;
  const ImageShape& read = graph.tensors[layer.inputs[0]].shape;
  const ImageShape& written = graph.tensors[layer.output].shape;
  const std::int64_t rows = (written.height - 1) * window.stride_h + window.kernel_h;
  const std::int64_t columns = (written.width - 1) * window.stride_w + window.kernel_w;
  const bool leaves = rows > read.height + window.pad_top + window.pad_bottom ||
                      columns > read.width + window.pad_left + window.pad_right;
  return leaves || (has_pads(window) && !pool.count_include_pad);
}

const char* type_name(const Levels& levels) { return levels.is_unsigned ? "uint8" : "int8"; }

void check_scheme(const Graph& graph, const Scheme& scheme) {
  std::set<std::string, std::less<>> names;
  for (const Layer& layer : graph.layers) names.insert(layer.name);
  const auto check_type = [&](const LayerScheme& one, const std::string& what) {
    if (one.activations.is_unsigned == scheme.all.activations.is_unsigned) return;
    throw_bad_input(what + ": activations are " + type_name(one.activations) + "; expected " +
                    type_name(scheme.all.activations) +
                    ", as those of the other layers (a network has one type)");
  };
  for (const auto& [name, layer] : scheme.layers) {
    if (!names.contains(name)) {
      throw_bad_input("the scheme names the layer '" + echoed(name) + "', which '" +
                      echoed(graph.name) + "' does not have");
    }
    check_type(layer, "layer '" + echoed(name) + "'");
  }
  check_type(scheme.input, "the network's input");
}

class Chooser {
 public:
  Chooser(const Graph& graph, const std::vector<TensorStatistics>& statistics, const Scheme& scheme)
      : graph_(graph),
        statistics_(statistics),
        scheme_(scheme),
        fusion_(fuse(graph)),
        groups_(graph.tensors.size()) {
    roots_of(graph.input).push_back(graph.input);
    scheme_of(graph.input) = &scheme.input;
    for (const FusedLayer& fused : fusion_.layers) add(fused);
  }

  TensorQuantizations run() {
    for (Group& group : groups_) {
      if (!group.roots.empty()) group.quantization = quantization_of_group(group);
    }
    widen_additions();
    part_pools_from_ties();
    TensorQuantizations result(graph_.tensors.size());
    for (TensorId tensor = 0; tensor < graph_.tensors.size(); ++tensor) {
      const auto& content = fusion_.content[tensor];
      if (content) result[*content] = groups_[fusion_.group[tensor]].quantization;
    }
    return result;
  }

 private:
  // Tensors with one quantization.
  struct Group {
    std::vector<TensorId> roots;  // they have all of its numbers
    const LayerScheme* scheme = nullptr;
    Quantization quantization = {};
  };

  std::vector<TensorId>& roots_of(TensorId tensor) { return groups_[fusion_.group[tensor]].roots; }
  const LayerScheme*& scheme_of(TensorId tensor) { return groups_[fusion_.group[tensor]].scheme; }

  // A scheme that names the layer, or the Relu that is its clamp.
  const LayerScheme* named(const FusedLayer& fused) const {
    for (const std::size_t layer : {fused.layer, fused.last}) {
      const auto found = scheme_.layers.find(graph_.layers[layer].name);
      if (found != scheme_.layers.end()) return &found->second;
    }
    return nullptr;
  }

  void add(const FusedLayer& fused) {
    const Layer& layer = graph_.layers[fused.layer];
    const TensorId tensor = layer.output;
    const LayerScheme*& scheme = scheme_of(tensor);
    const bool has_input = fusion_.group[tensor] == fusion_.group[graph_.input];
    if (!has_input && named(fused) != nullptr) scheme = named(fused);
    const auto& content = fusion_.content[tensor];
    if (!content) return;
    std::vector<TensorId>& roots = roots_of(tensor);
    if (!selects_or_clamps(layer.operation)) {
      roots.push_back(*content);
      return;
    }
    // A gathered tensor has all numbers of its operands; a selected one adds none to them.
    bool adds = std::holds_alternative<Concat>(layer.operation);
    for (const TensorId input : layer.inputs) {
      const auto& read = fusion_.content[fusion_.held_in[input]];
      adds |= !read.has_value();
      if (std::holds_alternative<Concat>(layer.operation) && read && !has_input) {
        std::erase(roots, *read);
      }
    }
    if (adds) roots.push_back(*content);
  }

  TensorStatistics statistics_of(const Group& group) const {
    std::vector<const TensorStatistics*> parts;
    for (const TensorId root : group.roots) parts.push_back(&statistics_[root]);
    return merged(parts);
  }

  Quantization quantization_of_group(const Group& group) const {
    const LayerScheme& scheme = scheme_of_group(group);
    Quantization result = activation_quantization(statistics_of(group), scheme.clipping,
                                                  scheme.activations, scheme.symmetry, scheme.kind);
    // QuantizeLinear of the input saturates to the type alone.
    if (std::ranges::find(group.roots, graph_.input) != group.roots.end()) {
      result.lo = scheme.activations.is_unsigned ? 0 : -128;
      result.hi = result.lo + 255;
    }
    return result;
  }

  void widen_additions() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const FusedLayer& fused : fusion_.layers) {
        const Layer& layer = graph_.layers[fused.layer];
        if (!std::holds_alternative<Add>(layer.operation)) continue;
        for (const TensorId input : layer.inputs) {
          changed |=
              widen_addition(quantization(fusion_.held_in[input]), quantization(layer.output));
        }
      }
    }
  }

  const LayerScheme& scheme_of_group(const Group& group) const {
    return group.scheme != nullptr ? *group.scheme : scheme_.all;
  }

  // In the order of the layers: a pool of a pool reads the scale that the first one got.
  void part_pools_from_ties() {
    for (const FusedLayer& fused : fusion_.layers) {
      const Layer& layer = graph_.layers[fused.layer];
      const auto* pool = std::get_if<AveragePool>(&layer.operation);
      if (pool == nullptr || is_whole_picture(graph_, layer, pool->window)) continue;
      part_from_ties(layer, *pool);
    }
  }

  void part_from_ties(const Layer& layer, const AveragePool& pool) {
    const TensorId read = fusion_.held_in[layer.inputs[0]];
    Group& group = groups_[fusion_.group[layer.output]];
    const LayerScheme& scheme = scheme_of_group(group);
    const bool is_fixed = scheme.clipping.rule == ClippingRule::kFixed;
    if (scheme.kind == ScaleKind::kFloat) {
      const TensorId own = fusion_.group[layer.output];
      if (is_fixed || own == fusion_.group[read] || own == fusion_.group[graph_.input]) return;
      group.quantization.scale = scale_without_ties(
          quantization(read), group.quantization, pool.window, window_varies(graph_, layer, pool));
    } else if (scheme.symmetry != Symmetry::kAffine) {
      group.quantization = with_even_middle(group.quantization);
    } else if (!is_fixed) {
      const TensorStatistics all = statistics_of(group);
      group.quantization.zero_point = even_zero_point(group.quantization, all.min, all.max);
    }
  }

  Quantization& quantization(TensorId tensor) {
    return groups_[fusion_.group[tensor]].quantization;
  }

  const Graph& graph_;
  const std::vector<TensorStatistics>& statistics_;
  const Scheme& scheme_;
  Fusion fusion_;
  std::vector<Group> groups_;  // by Fusion::group
};

}  // namespace

bool widen_addition(Quantization& operand, Quantization& output) {
  bool changed = false;
  while (output.scale * std::ldexp(1.0F, kMostLog2Ratio - 1) < operand.scale) {
    output.scale *= 2.0F;
    changed = true;
  }
  while (operand.scale < output.scale * std::ldexp(1.0F, kLeastLog2Ratio + 1)) {
    operand.scale *= 2.0F;
    changed = true;
  }
  return changed;
}

TensorQuantizations quantize_tensors(const Graph& graph,
                                     const std::vector<TensorStatistics>& statistics,
                                     const Scheme& scheme) {
  QSIM_CHECK(statistics.size() == graph.tensors.size(), "statistics are not one a tensor");
  check_scheme(graph, scheme);
  return Chooser(graph, statistics, scheme).run();
}

}  // namespace qsim::quantize
