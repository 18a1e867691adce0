#include "compiler/lowering/network_mapping.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "compiler/lowering/mapper.h"
#include "compiler/lowering/objective.h"
#include "compiler/passes/refusal.h"
#include "core/base/nearest_name.h"
#include "core/base/printable.h"

namespace qsim::compiler {
namespace {

std::string in_front(const std::string& place) { return place.empty() ? "" : place + ": "; }

// Every mapping is of a layer that there is.
void require_layers(const std::vector<LayerMapping>& mappings,
                    std::span<const PlannedLayer> layers) {
  std::vector<std::string_view> names;
  for (const PlannedLayer& planned : layers) names.push_back(planned.layer->name);
  for (const LayerMapping& given : mappings) {
    if (std::find(names.begin(), names.end(), given.layer) != names.end()) continue;
    const std::string_view near = nearest_name(given.layer, names);
    throw_bad_input(in_front(given.place) + "the program has no layer '" + echoed(given.layer) +
                    "'" + (near.empty() ? "" : "; did you mean '" + echoed(near) + "'?"));
  }
}

// The mapping that the user gives for a layer, or null.
const Mapping* given_mapping(const PlannedLayer& planned, const ArchConfig& arch,
                             const CompileOptions& options) {
  const FusedLayer& layer = *planned.layer;
  for (const LayerMapping& given : options.mappings) {
    if (given.layer != layer.name) continue;
    const std::optional<MappingFault> fault = find_fault(planned.geometry, given.mapping, arch);
    if (!fault) return &given.mapping;
    std::string place = given.place;
    for (std::size_t i = 0; i < given.field_places.size(); ++i) {
      if (mapping_fields()[i].name == fault->field) place = given.field_places[i];
    }
    throw_bad_input(in_front(place) + "the mapping does not fit layer '" + echoed(layer.name) +
                    "': " + fault_text(*fault));
  }
  return nullptr;
}

class NetworkMapper {
 public:
  NetworkMapper(std::span<PlannedLayer> layers, const ArchConfig& arch,
                const CompileOptions& options)
      : layers_(layers), arch_(arch), options_(options) {
    for (const PlannedLayer& planned : layers) {
      given_.push_back(given_mapping(planned, arch, options));
    }
    const std::int64_t searches = options.mixes_dataflows ? kDataflows : 1;
    searches_left_ = searches * std::count(given_.begin(), given_.end(), nullptr);
  }

  void run() {
    if (options_.mixes_dataflows) return mix();
    const Dataflow dataflow = options_.dataflow.value_or(options_.mapper.dataflow);
    Refusals refusals;  // of all layers that do not fit the memories
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      collect_refusal(refusals, [&] {
        layers_[i].mapping = given_[i] != nullptr ? *given_[i] : search(i, dataflow).mapping;
      });
    }
    throw_refusals(refusals);
  }

 private:
  static constexpr std::size_t kPure = kDataflows;  // programs of one dataflow
  // By dataflow; of a layer with a given mapping, that mapping each time.
  using Choices = std::array<MappedLayer, kPure>;

  // The mapper's choice for a layer; equal layers are searched once. Each search has an equal part
  // of what is left of the budget.
  const MappedLayer& search(std::size_t layer, Dataflow dataflow) {
    MapperOptions mapper = options_.mapper;
    mapper.dataflow = dataflow;
    const std::vector<std::int64_t> key = layer_key(layers_[layer], arch_, mapper);
    const std::int64_t left = searches_left_--;
    const auto known = options_.known->find(key);
    if (known != options_.known->end()) return known->second;
    if (options_.budget_seconds > 0) {
      const double now = seconds();
      const double end = now + (begin_ + options_.budget_seconds - now) / static_cast<double>(left);
      mapper.is_over = [this, end] { return seconds() > end; };
    }
    if (options_.on_progress) {
      MappingProgress progress{layers_[layer].layer->name, static_cast<std::int64_t>(layer),
                               std::ssize(layers_), 0};
      options_.on_progress(progress);
      mapper.on_progress = [this, progress](std::int64_t timed) mutable {
        progress.timed = timed;
        options_.on_progress(progress);
      };
    }
    return options_.known->emplace(key, map_layer(layers_[layer], arch_, mapper)).first->second;
  }

  MappedLayer cost_of_given(std::size_t layer) const {
    MappedLayer given;
    given.mapping = *given_[layer];
    given.cost = cost_of(layers_[layer], given.mapping, arch_);
    given.amount =
        ObjectiveAmount(layers_[layer], arch_, options_.mapper).exact(given.mapping, given.cost);
    given.fewest_cycles = static_cast<std::int64_t>(given.cost.cycles);
    return given;
  }

  Choices choices_of(std::size_t layer) {
    Choices choices;
    for (std::size_t d = 0; d < kPure; ++d) {
      choices[d] =
          given_[layer] != nullptr ? cost_of_given(layer) : search(layer, static_cast<Dataflow>(d));
    }
    return choices;
  }

  // What a report shows of a layer, which is what `auto` compares: of kCycles the bytes of data
  // alone, without what a search adds for commands.
  Score shown_of(const MappedLayer& mapped) const {
    const bool compares_bytes = options_.mapper.objective == Objective::kCycles;
    const std::uint64_t bytes = mapped.cost.read_bytes() + mapped.cost.write_bytes;
    return {static_cast<std::int64_t>(mapped.cost.cycles),
            compares_bytes ? static_cast<double>(bytes) : mapped.amount,
            static_cast<std::int64_t>(mapped.cost.commands)};
  }

  // The fewest cycles that the searches of a layer saw.
  static std::int64_t fewest_cycles(const Choices& choices) {
    std::int64_t fewest = choices[0].fewest_cycles;
    for (const MappedLayer& choice : choices) fewest = std::min(fewest, choice.fewest_cycles);
    return fewest;
  }

  std::size_t best_choice(const Choices& choices) const {
    std::array<Score, kPure> scores;
    for (std::size_t d = 0; d < kPure; ++d) scores[d] = shown_of(choices[d]);
    return best_of(scores, fewest_cycles(choices), options_.mapper);
  }

  // Program kPure has the best dataflow of each layer, the others the same one in all layers.
  void mix() {
    std::vector<Choices> choices;
    std::vector<std::size_t> best;
    std::array<Score, kPure + 1> programs{};
    std::int64_t fewest = 0;
    Refusals refusals;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      collect_refusal(refusals, [&] { choices.push_back(choices_of(i)); });
      if (!refusals.empty()) continue;
      best.push_back(best_choice(choices.back()));
      for (std::size_t d = 0; d < kPure; ++d) programs[d] += shown_of(choices[i][d]);
      programs[kPure] += shown_of(choices[i][best[i]]);
      fewest += fewest_cycles(choices[i]);
    }
    throw_refusals(refusals);
    const std::size_t program = best_of(programs, fewest, options_.mapper);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      layers_[i].mapping = choices[i][program == kPure ? best[i] : program].mapping;
    }
  }

  double seconds() const {
    if (options_.clock) return options_.clock();
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }

  std::span<PlannedLayer> layers_;
  const ArchConfig& arch_;
  const CompileOptions& options_;
  std::vector<const Mapping*> given_;  // by layer; null where the mapper chooses
  std::int64_t searches_left_ = 0;
  double begin_ = seconds();
};

}  // namespace

void choose_mappings(std::span<PlannedLayer> layers, const ArchConfig& arch,
                     const CompileOptions& options) {
  require_layers(options.mappings, layers);
  NetworkMapper(layers, arch, options).run();
}

}  // namespace qsim::compiler
