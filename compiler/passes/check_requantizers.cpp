// Pass 3: refuses what the machine's requantizer does not have.
#include <algorithm>

#include "compiler/passes/passes.h"
#include "core/base/words.h"

namespace qsim::compiler {
namespace {

std::string dyadic_words(const ArchConfig& arch, const Remedies& remedies) {
  const std::string found = remedies.dyadic_config ? remedies.dyadic_config(arch) : "";
  return "take requantizer: dyadic" +
         (found.empty() ? ", in a copy of the configuration" : " (--config " + found + ")");
}

std::string scale_words(const Requantizer& requantizer, std::size_t channel) {
  return "scale " + number_text(static_cast<double>(real_scale(requantizer)), "%.9g") +
         " of output channel " + std::to_string(channel);
}

// A scale that no shift is, whatever the rounding.
bool is_between(const Requantizer& requantizer) {
  Requantizer rounded = requantizer;
  rounded.rounding = RequantizerRounding::kHalfEven;
  return !as_shift(rounded);
}

// What of the layer's scales and rounding no shift does; "" for nothing.
std::string without_shift(const FusedLayer& layer) {
  const auto scale = std::ranges::find_if(layer.requantizers, is_between);
  if (scale != layer.requantizers.end()) {
    // Average pools may have a requantizer for each channel and count.
    const auto index = static_cast<std::size_t>(scale - layer.requantizers.begin());
    return scale_words(*scale, index % static_cast<std::size_t>(layer.output.shape.channels));
  }
  const bool shifts = std::ranges::all_of(
      layer.requantizers, [](const Requantizer& r) { return as_shift(r).has_value(); });
  return shifts ? "" : "rounding float32";
}

// What a layer has that a machine which shifts does not.
struct Need {
  const FusedLayer* layer = nullptr;
  std::string what;
  std::string has;  // what the machine has of that
  bool can_snap = false;
};

void add_needs(const FusedLayer& layer, std::vector<Need>& needs) {
  if (layer.adder) needs.push_back({&layer, "an addition", "has none", false});
  for (const std::string& table : layer.tables) {
    needs.push_back({&layer, "the lookup table '" + table, "has none", false});
  }
  const std::string found = layer.adder ? "" : without_shift(layer);
  if (found.empty()) return;
  // --snap moves what weights have lost into their scale; an average pool has none.
  const bool can_snap = layer.kind != FusedLayer::Kind::kIdentity || !found.starts_with("scale");
  needs.push_back({&layer, found,
                   "takes the scales 1, 2^-1 to 2^-" + std::to_string(kMaxShift) +
                       " with floor, half_even or half_up",
                   can_snap});
}

}  // namespace

void check_requantizers(const std::vector<FusedLayer>& layers, const ArchConfig& arch,
                        const Remedies& remedies, Refusals& refusals) {
  if (arch.is_dyadic()) return;
  std::vector<Need> needs;
  for (const FusedLayer& layer : layers) add_needs(layer, needs);
  if (needs.empty()) return;
  // --snap is no help where one layer needs the other machine all the same.
  const bool snap_helps = remedies.may_snap && std::ranges::all_of(needs, &Need::can_snap);
  const std::string remedy = dyadic_words(arch, remedies) + (snap_helps ? ", or --snap" : "");
  for (const Need& need : needs) {
    refusals.push_back({layer_place(need.layer->name, need.layer->source) + ": " + need.what +
                            "; '" + arch.name + "' has requantizer: shift, which " + need.has +
                            "; " + remedy,
                        remedy});
  }
}

}  // namespace qsim::compiler
