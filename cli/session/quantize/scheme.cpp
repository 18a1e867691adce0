#include "cli/session/quantize/scheme.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <variant>
#include <vector>

#include <fnmatch.h>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/text/yaml.h"
#include "quantize/layer_weights.h"

namespace qsim::cli {

using formats::choice_or;
using formats::YamlNode;
namespace {

using quantize::ClippingRule;
using quantize::LayerScheme;
using quantize::ScaleKind;
using quantize::Symmetry;

constexpr std::array<std::string_view, 3> kScaleKinds = {"float", "dyadic", "power_of_two"};
constexpr std::array<std::string_view, 3> kSymmetries = {"affine", "symmetric", "symmetric_max"};
constexpr std::array<std::string_view, 6> kClippings = {"min_max", "moving_average", "percentile",
                                                        "mse",     "entropy",        "fixed"};
constexpr std::array<std::string_view, 3> kWeightClippings = {"min_max", "percentile", "mse"};
constexpr std::array<std::string_view, 2> kGranularities = {"channel", "tensor"};
constexpr std::array<std::string_view, 2> kWeightLevels = {"uniform", "log2"};
constexpr std::array<std::string_view, 4> kReduced = {"none", "weights", "activations", "both"};

template <std::size_t size>
std::size_t index_of(const std::array<std::string_view, size>& words, std::string_view word) {
  return static_cast<std::size_t>(std::ranges::find(words, word) - words.begin());
}

ClippingRule weight_rule(std::size_t index) {
  constexpr std::array kRules = {ClippingRule::kMinMax, ClippingRule::kPercentile,
                                 ClippingRule::kMse};
  return kRules[index];
}

void set_reduced(std::size_t index, LayerScheme& scheme) {
  scheme.weights.levels.reduced = index == 1 || index == 3;
  scheme.activations.reduced = index == 2 || index == 3;
}

struct Numbers {
  double lo = 0;
  double hi = 0;
};

// Reads "LO,HI" with LO < HI; refuses the first character that is not part of a number.
Numbers two_numbers(const std::string& option, const std::string& text) {
  const auto wrong = [&] {
    throw Error(ExitCode::kUsage, option + ": found '" + echoed(text) +
                                      "'; allowed: two numbers with a comma between them, the "
                                      "first one less");
  };
  const auto number = [&](std::string_view word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) wrong();
    return value;
  };
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) wrong();
  const Numbers result{number(std::string_view(text).substr(0, comma)),
                       number(std::string_view(text).substr(comma + 1))};
  if (!(result.lo < result.hi)) wrong();
  return result;
}

void set_percentiles(const Numbers& numbers, LayerScheme& scheme) {
  for (quantize::Clipping* clipping : {&scheme.clipping, &scheme.weights.clipping}) {
    clipping->percentile_low = numbers.lo;
    clipping->percentile_high = numbers.hi;
  }
}

LayerScheme scheme_of_all(const QuantizeOptions& own) {
  LayerScheme scheme;
  scheme.kind = static_cast<ScaleKind>(index_of(kScaleKinds, own.scale_kind));
  scheme.activations.bits = static_cast<int>(own.activation_bits);
  scheme.activations.is_unsigned = own.activations == "u8";
  scheme.symmetry = static_cast<Symmetry>(index_of(kSymmetries, own.symmetry));
  scheme.clipping.rule = static_cast<ClippingRule>(index_of(kClippings, own.clipping));
  if (own.moving_average) scheme.clipping.moving_average = *own.moving_average;
  scheme.weights.levels.bits = static_cast<int>(own.weight_bits);
  scheme.weights.symmetry = static_cast<Symmetry>(index_of(kSymmetries, own.weight_symmetry));
  scheme.weights.clipping.rule = weight_rule(index_of(kWeightClippings, own.weight_clipping));
  scheme.weights.per_channel = own.granularity == "channel";
  scheme.weights.log2 = own.weight_levels == "log2";
  scheme.weights.kind = scheme.kind;
  set_reduced(index_of(kReduced, own.reduced_range), scheme);
  if (!own.percentile.empty()) {
    const Numbers numbers = two_numbers("--percentile", own.percentile);
    if (numbers.lo < 0 || numbers.hi > 100) {
      throw Error(ExitCode::kUsage, "--percentile: found '" + echoed(own.percentile) +
                                        "'; allowed: percentiles, 0 to 100");
    }
    set_percentiles(numbers, scheme);
  }
  if (!own.range.empty()) {
    const Numbers numbers = two_numbers("--range", own.range);
    scheme.clipping.fixed = {static_cast<float>(numbers.lo), static_cast<float>(numbers.hi)};
  }
  return scheme;
}

// The two numbers under a key; nothing where it is absent.
std::optional<Numbers> numbers_of(const YamlNode& map, std::string_view key) {
  const YamlNode* list = map.find(key);
  if (list == nullptr) return {};
  const std::vector<YamlNode>& items = list->items();
  if (items.size() != 2)
    list->fail("found " + std::to_string(items.size()) + " values; expected two numbers");
  const Numbers result{items[0].number(), items[1].number()};
  if (!(result.lo < result.hi))
    list->fail("found two numbers of which the first is not less; expected [LO, HI]");
  return result;
}

// What an entry of --layers says of one layer; what it does not say stays.
void apply_entry(const YamlNode& entry, LayerScheme& scheme) {
  scheme.kind = static_cast<ScaleKind>(
      choice_or(entry, "scale_kind", kScaleKinds, static_cast<std::size_t>(scheme.kind)));
  scheme.weights.kind = scheme.kind;
  scheme.activations.bits = static_cast<int>(
      formats::integer_or(entry, "activation_bits", 2, 8, scheme.activations.bits));
  scheme.symmetry = static_cast<Symmetry>(
      choice_or(entry, "symmetry", kSymmetries, static_cast<std::size_t>(scheme.symmetry)));
  scheme.clipping.rule = static_cast<ClippingRule>(
      choice_or(entry, "clipping", kClippings, static_cast<std::size_t>(scheme.clipping.rule)));
  if (const YamlNode* constant = entry.find("moving_average")) {
    scheme.clipping.moving_average = constant->number();
    if (!(scheme.clipping.moving_average > 0 && scheme.clipping.moving_average <= 1))
      constant->fail("found a constant that is not above 0 and at most 1; expected such a number");
  }
  if (const auto numbers = numbers_of(entry, "percentile")) {
    if (numbers->lo < 0 || numbers->hi > 100)
      entry.at("percentile").fail("found percentiles beyond 0 to 100; expected such");
    set_percentiles(*numbers, scheme);
  }
  if (const auto numbers = numbers_of(entry, "range")) {
    scheme.clipping.fixed = {static_cast<float>(numbers->lo), static_cast<float>(numbers->hi)};
  }
  const std::size_t reduced =
      (scheme.weights.levels.reduced ? 1U : 0U) + (scheme.activations.reduced ? 2U : 0U);
  set_reduced(choice_or(entry, "reduced_range", kReduced, reduced), scheme);
  scheme.weights.levels.bits =
      static_cast<int>(formats::integer_or(entry, "weight_bits", 1, 8, scheme.weights.levels.bits));
  scheme.weights.symmetry = static_cast<Symmetry>(choice_or(
      entry, "weight_symmetry", kSymmetries, static_cast<std::size_t>(scheme.weights.symmetry)));
  scheme.weights.log2 =
      choice_or(entry, "weight_levels", kWeightLevels, scheme.weights.log2 ? 1 : 0) == 1;
  scheme.weights.per_channel =
      choice_or(entry, "granularity", kGranularities, scheme.weights.per_channel ? 0 : 1) == 0;
  if (entry.find("weight_clipping") != nullptr) {
    scheme.weights.clipping.rule =
        weight_rule(choice_or(entry, "weight_clipping", kWeightClippings, 0));
  }
}

constexpr const char* kInput = "input";

// What an entry of --layers has matched, with what it has after the entry.
struct Matched {
  const LayerScheme* scheme;
  bool has_weights;
};

// What a key needs to have an effect on a layer; `has_ranges` is the mode's.
struct Effect {
  std::string_view key;
  bool (*is_met)(const LayerScheme&, bool has_weights, bool has_ranges);
  std::string_view what;
};

bool has_ranges_of(const LayerScheme&, bool, bool has_ranges) { return has_ranges; }
bool has_weights_of(const LayerScheme&, bool has_weights, bool) { return has_weights; }

constexpr std::string_view kRanges = "--mode static or fake, which have ranges";
constexpr std::string_view kWeights = "a layer with weights";
constexpr std::array<Effect, 12> kEffects = {{
    {"activation_bits", has_ranges_of, kRanges},
    {"symmetry", has_ranges_of, kRanges},
    {"clipping", has_ranges_of, kRanges},
    {"moving_average",
     [](const LayerScheme& layer, bool, bool has_ranges) {
       return has_ranges && layer.clipping.rule == ClippingRule::kMovingAverage;
     },
     "clipping: moving_average"},
    {"percentile",
     [](const LayerScheme& layer, bool has_weights, bool has_ranges) {
       return (has_ranges && layer.clipping.rule == ClippingRule::kPercentile) ||
              (has_weights && layer.weights.clipping.rule == ClippingRule::kPercentile);
     },
     "clipping or weight_clipping: percentile"},
    {"range",
     [](const LayerScheme& layer, bool, bool has_ranges) {
       return has_ranges && layer.clipping.rule == ClippingRule::kFixed;
     },
     "clipping: fixed"},
    {"reduced_range",
     [](const LayerScheme& layer, bool has_weights, bool has_ranges) {
       return has_ranges || (has_weights && !layer.weights.log2);
     },
     "ranges, or uniform weights"},
    {"weight_bits", has_weights_of, kWeights},
    {"weight_symmetry",
     [](const LayerScheme& layer, bool has_weights, bool) {
       return has_weights && !layer.weights.log2;
     },
     "a layer with uniform weights"},
    {"weight_levels", has_weights_of, kWeights},
    {"weight_clipping", has_weights_of, kWeights},
    {"granularity", has_weights_of, kWeights},
}};

// A key must do something to one layer at least that the entry's name matches.
void require_effects(const YamlNode& entry, const std::vector<Matched>& layers, bool has_ranges) {
  for (const Effect& effect : kEffects) {
    const YamlNode* value = entry.find(effect.key);
    if (value == nullptr) continue;
    const bool is_met = std::ranges::any_of(layers, [&](const Matched& layer) {
      return effect.is_met(*layer.scheme, layer.has_weights, has_ranges);
    });
    if (is_met) continue;
    value->fail(std::string(effect.key) + " does nothing here: it needs " +
                std::string(effect.what) + "; leave it out");
  }
  for (const Matched& layer : layers) {
    const quantize::Clipping& clipping = layer.scheme->clipping;
    const bool has_range = clipping.fixed.lo < clipping.fixed.hi;
    if (clipping.rule != ClippingRule::kFixed || has_range || entry.find("clipping") == nullptr)
      continue;
    entry.at("clipping").fail("fixed needs the range; give range: [LO, HI]");
  }
}

void apply_file(const std::string& file, const Graph& graph, bool has_ranges,
                quantize::Scheme& scheme) {
  const YamlNode document = formats::load_yaml(file);
  document.require_keys({"layers"});
  std::vector<std::string_view> names = {kInput};
  for (const Layer& layer : graph.layers) names.push_back(layer.name);
  for (const YamlNode& entry : document.at("layers").items()) {
    entry.require_keys({"name", "scale_kind", "activation_bits", "symmetry", "clipping",
                        "moving_average", "percentile", "range", "reduced_range", "weight_bits",
                        "weight_symmetry", "weight_levels", "weight_clipping", "granularity"});
    const std::string& pattern = entry.at("name").text();
    std::vector<Matched> matched;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string name(names[i]);
      if (::fnmatch(pattern.c_str(), name.c_str(), 0) != 0) continue;
      const bool is_input = i == 0;
      LayerScheme& own =
          is_input ? scheme.input : scheme.layers.try_emplace(name, scheme.all).first->second;
      apply_entry(entry, own);
      matched.push_back({&own, !is_input && quantize::weights_of(graph.layers[i - 1].operation)});
    }
    if (matched.empty()) {
      entry.at("name").fail("'" + echoed(pattern) + "' matches no layer; the network has " +
                            nearest_names(pattern, names));
    }
    require_effects(entry, matched, has_ranges);
  }
}

}  // namespace

quantize::Scheme scheme_of_options(const QuantizeOptions& options, const Graph& graph) {
  quantize::Scheme scheme;
  scheme.all = scheme_of_all(options);
  scheme.input = scheme.all;
  if (!options.layers.empty())
    apply_file(options.layers, graph, options.mode == "static" || options.mode == "fake", scheme);
  return scheme;
}

}  // namespace qsim::cli
