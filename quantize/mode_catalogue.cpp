#include "quantize/mode_catalogue.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "quantize/fake_network.h"
#include "quantize/hybrid.h"
#include "quantize/layer_weights.h"

namespace qsim::quantize {
namespace {

using Statistics = std::vector<TensorStatistics>;

struct Weights {
  const char* name;
  int bits;
  bool per_channel;
  bool log2;
};
constexpr Weights kInt8{"int8 channel", 8, true, false};
constexpr Weights kInt4{"int4 channel", 4, true, false};
constexpr Weights kLog2{"log2 4 channel", 4, true, true};
constexpr std::array kWeights = {
    kInt8, Weights{"int8 tensor", 8, false, false},  kInt4, Weights{"int3 channel", 3, true, false},
    kLog2, Weights{"log2 5 channel", 5, true, true},
};

struct Activations {
  const char* name;
  int bits;
  bool log2;
};
constexpr Activations kUint8{"uint8", 8, false};
constexpr Activations kLog2Of4{"log2 4", 4, true};

struct Format {
  const char* name;
  FloatRule::Format format;
  double largest;  // of the format, for the scale; 0: no scale
};
constexpr std::array kFormats = {
    Format{"e4m3", FloatRule::Format::kE4m3, 448},
    Format{"e5m2", FloatRule::Format::kE5m2, 57344},
    Format{"bfloat16", FloatRule::Format::kBfloat16, 0},
    Format{"tensorfloat32", FloatRule::Format::kTensorFloat32, 0},
    Format{"float16", FloatRule::Format::kFloat16, 0},
};

Scheme scheme_of(const Weights& weights, int activation_bits) {
  LayerScheme all;
  all.activations.bits = activation_bits;
  all.clipping.rule = ClippingRule::kMse;
  all.weights.levels.bits = weights.bits;
  all.weights.per_channel = weights.per_channel;
  all.weights.log2 = weights.log2;
  all.weights.clipping.rule = ClippingRule::kMse;
  Scheme scheme{.all = all, .layers = {}, .input = all};
  scheme.input.activations.bits = 8;
  scheme.input.clipping = {};
  return scheme;
}

ModeNetwork network_of(const HybridNetwork& hybrid) {
  return {hybrid.graph, golden::executor_options(hybrid)};
}

ModeRow row_without_rules(HybridMode mode, const Weights& weights) {
  const auto make = [mode, weights](const Graph& graph, const Statistics&) {
    const auto own =
        weights_of_layers(graph, TensorQuantizations(graph.tensors.size()), scheme_of(weights, 8));
    return network_of(hybrid_network(graph, mode, own));
  };
  const bool is_dynamic = mode == HybridMode::kDynamic;
  return {is_dynamic ? "dynamic" : "weight_only", weights.name, is_dynamic ? "uint8" : "float",
          make};
}

ModeRow fake_row(const Weights& weights, const Activations& activations) {
  const auto make = [=](const Graph& graph, const Statistics& statistics) {
    const Scheme scheme = scheme_of(weights, activations.log2 ? 8 : activations.bits);
    const TensorQuantizations tensors = quantize_tensors(graph, statistics, scheme);
    std::vector<std::optional<TensorRule>> rules = uniform_rules(tensors);
    if (activations.log2) {
      const auto input = rules[graph.input];
      rules =
          log2_rules(tensors, statistics, activations.bits, ClippingRule::kMse, ScaleKind::kFloat);
      rules[graph.input] = input;
    }
    // Without the limits of integer biases: nothing here is an integer.
    const auto own = weights_of_layers(graph, TensorQuantizations(graph.tensors.size()), scheme);
    return network_of(hybrid_network(graph, HybridMode::kFake, own, std::move(rules)));
  };
  return {"fake", weights.name, activations.name, make};
}

float scale_of(const Format& format, float least, float most) {
  const double largest =
      std::max(std::abs(static_cast<double>(least)), std::abs(static_cast<double>(most)));
  return format.largest == 0 || largest == 0 ? 1.0F : float_scale(largest / format.largest);
}

ModeRow format_row(const Format& format) {
  const auto make = [format](const Graph& graph, const Statistics& statistics) {
    ModeNetwork result{graph, {}};
    result.options.rules.resize(graph.tensors.size());
    for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
      const TensorStatistics& own = statistics[id];
      result.options.rules[id] = FloatRule{format.format, scale_of(format, own.min, own.max)};
    }
    for (Layer& layer : result.graph.layers) {
      const auto own = weights_of(layer.operation);
      if (!own) continue;
      const auto [least, most] = std::ranges::minmax(own->weights->as<float>());
      golden::apply(FloatRule{format.format, scale_of(format, least, most)}, *own->weights);
    }
    return result;
  };
  return {"fake", format.name, format.name, make};
}

}  // namespace

std::vector<ModeRow> mode_catalogue() {
  std::vector<ModeRow> rows;
  rows.push_back({"float", "float", "float", [](const Graph& graph, const Statistics&) {
                    return ModeNetwork{graph, {}};
                  }});
  for (const Weights& weights : kWeights) {
    rows.push_back(row_without_rules(HybridMode::kWeightOnly, weights));
  }
  for (const Weights& weights : kWeights) {
    if (weights.log2 && weights.bits > 4) continue;  // int8 does not hold them
    rows.push_back(row_without_rules(HybridMode::kDynamic, weights));
  }
  const std::array<std::pair<Weights, Activations>, 8> fakes = {{
      {kInt8, kUint8},
      {kInt8, {"uint6", 6, false}},
      {kInt8, {"uint4", 4, false}},
      {kInt4, kUint8},
      {kLog2, kUint8},
      {kInt8, kLog2Of4},
      {kInt8, {"log2 5", 5, true}},
      {kLog2, kLog2Of4},
  }};
  for (const auto& [weights, activations] : fakes) rows.push_back(fake_row(weights, activations));
  for (const Format& format : kFormats) rows.push_back(format_row(format));
  return rows;
}

}  // namespace qsim::quantize
