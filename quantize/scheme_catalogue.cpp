#include "quantize/scheme_catalogue.h"

#include <array>
#include <utility>

namespace qsim::quantize {
namespace {

constexpr std::array kObservers = {ClippingRule::kMinMax, ClippingRule::kMovingAverage,
                                   ClippingRule::kPercentile, ClippingRule::kMse,
                                   ClippingRule::kEntropy};

struct RangeOfLevels {
  const char* name;
  Symmetry symmetry;
  bool reduced;
};
constexpr std::array kRanges = {RangeOfLevels{"affine", Symmetry::kAffine, false},
                                RangeOfLevels{"affine_reduced", Symmetry::kAffine, true},
                                RangeOfLevels{"symmetric", Symmetry::kSymmetric, false},
                                RangeOfLevels{"symmetric_reduced", Symmetry::kSymmetric, true}};

constexpr std::array kKinds = {std::pair{"float", ScaleKind::kFloat},
                               std::pair{"dyadic", ScaleKind::kDyadic},
                               std::pair{"power_of_two", ScaleKind::kPowerOfTwo}};

// Weights have neither batches nor a distribution that many pictures make, so there the observers
// that need them keep the whole range.
ClippingRule rule_of_weights(ClippingRule observer) {
  const bool counts = observer == ClippingRule::kMse || observer == ClippingRule::kPercentile;
  return counts ? observer : ClippingRule::kMinMax;
}

LayerScheme layer_scheme(ClippingRule observer, bool per_channel, const RangeOfLevels& range,
                         ScaleKind kind) {
  LayerScheme scheme;
  scheme.activations = {.bits = 8, .is_unsigned = true, .reduced = range.reduced};
  scheme.symmetry = range.symmetry;
  scheme.kind = kind;
  scheme.clipping.rule = observer;
  scheme.weights.levels = {.bits = 8, .is_unsigned = false, .reduced = range.reduced};
  scheme.weights.kind = kind;
  scheme.weights.per_channel = per_channel;
  scheme.weights.clipping.rule = rule_of_weights(observer);
  return scheme;
}

Scheme network_scheme(const LayerScheme& all) {
  Scheme scheme;
  scheme.all = all;
  scheme.input = all;
  scheme.input.clipping = {};  // pixels have no outliers
  return scheme;
}

}  // namespace

std::vector<CatalogueRow> scheme_catalogue() {
  std::vector<CatalogueRow> rows;
  for (const ClippingRule observer : kObservers) {
    for (const bool per_channel : {false, true}) {
      for (const RangeOfLevels& range : kRanges) {
        for (const auto& [name, kind] : kKinds) {
          rows.push_back({std::string(clipping_name(observer)), per_channel ? "channel" : "tensor",
                          range.name, name,
                          network_scheme(layer_scheme(observer, per_channel, range, kind))});
        }
      }
    }
  }
  return rows;
}

}  // namespace qsim::quantize
