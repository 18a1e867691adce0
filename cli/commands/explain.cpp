// `qsim explain`: what limits a layer or the network, in words, and what doubling each resource of
// the accelerator gains. In time alone: no data is moved, nothing is compared.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/session/engines/engines.h"
#include "cli/session/inputs/hosted_model.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/inputs/named_layer.h"
#include "cli/session/inputs/snapped_model.h"
#include "cli/session/profile/what_if.h"
#include "core/base/printable.h"
#include "report/limiter_words.h"
#include "report/run_report.h"

namespace qsim::cli {

using report::ResourceChange;
using report::SheetTable;
namespace {

struct ExplainOptions : ConfigOption, NetworkOptions, ShapeOptions, MappingOptions {
  std::string layer;  // "": the whole network
};

void declare_explain(Declarations& declared, ExplainOptions& options) {
  declare_config(declared, options);
  declare_set(declared, options);
  declare_network(declared, options);
  declare_shapes(declared, options);
  declare_mapping(declared, options);
  declare_energy(declared, options);
  declared.text("--layer", options.layer, "explain this layer (default: the whole network)",
                "NAME");
}

// What is explained: a program layer, or the whole run.
struct Subject {
  std::optional<std::size_t> layer;
  std::string name;   // "" for the run
  std::string asked;  // the graph layer that the user names, which runs in this one

  std::uint64_t cycles(const ResourceChange& change) const {
    return layer ? change.layer_cycles[*layer] : change.total_cycles;
  }
};

// The program layer that a graph layer of this name runs in.
Subject subject_of(const std::string& name, const std::string& model, const Graph& graph,
                   const Program& program) {
  if (name.empty()) return {};
  const std::size_t graph_layer = layer_named(name, "--layer", model, graph, &program);
  const std::size_t layer = program_layer_of(graph_layer, program);
  return {layer, program.layers[layer].name, name};
}

SheetTable path_table(const report::LayerTiming& timing) {
  SheetTable table{"critical_path", {"part", "cycles", "share"}, {}};
  for (std::size_t p = 0; p < report::kPathParts; ++p) {
    const std::uint64_t cycles = timing.critical_path[p];
    if (cycles == 0) continue;
    table.rows.push_back({std::string(report::kPathPartNames[p]), static_cast<std::int64_t>(cycles),
                          static_cast<double>(cycles) / static_cast<double>(timing.cycles)});
  }
  return table;
}

// The changes that can run, those that save most first.
std::vector<ResourceChange> best_first(std::vector<ResourceChange> changes,
                                       const Subject& subject) {
  std::erase_if(changes, [](const ResourceChange& change) { return !change.refusal.empty(); });
  std::stable_sort(changes.begin(), changes.end(), [&](const auto& a, const auto& b) {
    return subject.cycles(a) < subject.cycles(b);
  });
  return changes;
}

SheetTable changes_table(const std::vector<ResourceChange>& changes, const Subject& subject,
                         std::uint64_t before) {
  SheetTable table{
      "changes", {"resource", "from", "to", "cycles", "saved_cycles", "saved_share"}, {}};
  for (const ResourceChange& change : changes) {
    const std::uint64_t cycles = subject.cycles(change);
    const std::int64_t saved = report::saved_cycles(before, cycles);
    table.rows.push_back({change.field, change.from, change.to, static_cast<std::int64_t>(cycles),
                          saved, static_cast<double>(saved) / static_cast<double>(before)});
  }
  return table;
}

SheetTable refusals_table(const std::vector<ResourceChange>& changes) {
  SheetTable table{"not_possible", {"resource", "from", "to", "reason"}, {}};
  for (const ResourceChange& change : changes) {
    if (change.refusal.empty()) continue;
    table.rows.push_back({change.field, change.from, change.to, change.refusal});
  }
  return table;
}

SheetTable words_table(const Subject& subject, const report::LayerTiming& timing,
                       const ArchConfig& config, const std::vector<ResourceChange>& changes) {
  SheetTable table{"in_words", {"sentence"}, {}};
  const std::string name = subject.layer ? echoed(subject.name) : "The network";
  if (subject.layer && subject.asked != subject.name) {
    table.rows.push_back({echoed(subject.asked) + " runs in " + name +
                          ", as one layer of the program. What follows is about both."});
  }
  table.rows.push_back({report::limiter_words(name, timing, config)});
  if (changes.empty()) return table;
  const std::int64_t saved = report::saved_cycles(timing.cycles, subject.cycles(changes.front()));
  table.rows.push_back({report::gain_words(changes.front(), saved, timing.cycles)});
  for (std::size_t i = 1; i < changes.size(); ++i) {
    const std::int64_t other = report::saved_cycles(timing.cycles, subject.cycles(changes[i]));
    const std::string words = report::near_gain_words(changes[i], other, saved, timing.cycles);
    if (!words.empty()) table.rows.push_back({words});
  }
  if (subject.cycles(changes.back()) > timing.cycles) {
    table.rows.push_back(
        {std::string("A negative saving means that it takes longer with the change: the compiler "
                     "may choose other tiles, and a larger array may have more idle lanes and "
                     "bubbles.")});
  }
  return table;
}

// The run on the accelerator as it is. The program is freed before the changes are run.
struct Now {
  Subject subject;
  report::LayerTiming timing;  // of the subject
  std::uint64_t total_cycles = 0;
};

// Leaves the graph without its tensors.
Now run_now(Engine& engine, Model& model, const ArchConfig& config, const std::string& layer_name,
            const TimeRequest& request) {
  TimedRun run = run_in_time(engine, model.name, std::move(model.graph), config, request);
  model.graph = std::move(run.shapes);
  report::RunReport report;
  report::add_layers(report, run.program, run.result);
  Now now;
  now.subject = subject_of(layer_name, model.name, model.graph, run.program);
  const std::optional<std::size_t> layer = now.subject.layer;
  now.timing = *(layer ? report.layers[*layer] : report.total).timing;
  now.total_cycles = report.total.timing->cycles;
  return now;
}

ExitCode explain_model(Context& context, const ExplainOptions& options,
                       const NetworkRequest& network, const ArchConfig& config, Model model) {
  const TimeRequest request{context, network, options};
  const std::unique_ptr<Engine> engine = make_engine(kRecurrenceEngine);
  const auto [subject, timing, total_cycles] =
      run_now(*engine, model, config, options.layer, request);
  const std::vector<ResourceChange> all =
      run_with_changes(*engine, model.name, model.graph, config, request);
  const std::vector<ResourceChange> changes = best_first(all, subject);

  report::Sheet sheet;
  sheet.schema = "qsim.explain/1";
  sheet.add("model", model.name);
  sheet.add("config", config.name);
  if (!options.rounding.empty()) sheet.add("rounding", options.rounding);
  if (options.snap) sheet.add("snap", true);
  sheet.add("layer", subject.name);
  sheet.add("cycles", static_cast<std::int64_t>(timing.cycles));
  sheet.add("share", static_cast<double>(timing.cycles) / static_cast<double>(total_cycles));
  sheet.add("limited_by", std::string(timing.limited_by.name));
  sheet.add("limiter_busy", timing.limiter_busy);
  sheet.tables = {words_table(subject, timing, config, changes), path_table(timing),
                  changes_table(changes, subject, timing.cycles), refusals_table(all)};
  context.print(sheet);
  return ExitCode::kOk;
}

// The part of a network with a host that has the layer of --layer.
ExitCode explain_part(Context& context, const ExplainOptions& options,
                      const NetworkRequest& network, const ArchConfig& config) {
  HostedModel hosted = load_hosted(context, network, {options}, config, {});
  for (ArrayPart& part : hosted.hosted.parts) {
    const bool is_whole = hosted.hosted.parts.size() == 1 && hosted.hosted.host_steps.empty();
    if (!is_whole && std::ranges::count(part.graph.layers, options.layer, &Layer::name) == 0) {
      continue;
    }
    Model model;
    model.name = hosted.name;
    model.graph = std::move(part.graph);
    return explain_model(context, options, network, hosted.config, std::move(model));
  }
  const std::string what = options.layer.empty()
                               ? "a host runs a part of the network"
                               : "no part of the array has '" + echoed(options.layer) + "'";
  throw_bad_input(model_path(network, config).string() + ": " + what +
                  "; name a layer of the array with --layer; `qsim run --no-data` prints them");
}

ExitCode explain_command(Context& context, const ExplainOptions& options) {
  const NetworkRequest network{options, options,       Tensors::kShapes,
                               "",      options.layer, "name one with --layer"};
  const ArchConfig config = load_config(context, options);
  if (gives_shapes(network, config, options)) {
    return explain_part(context, options, network, config);
  }
  try {
    Model model = load_model(network, config);
    snap_model(context, model, options, config);
    return explain_model(context, options, network, config, std::move(model));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel || !wants_host(network, config)) throw;
  }
  return explain_part(context, options, network, config);
}

constexpr const char* kExplainText = R"(
It counts cycles only: it moves no data and compares nothing. It compiles and runs the network again with each resource
of the configuration doubled (`dram_latency_cycles` halved), one at a time. Other layers change too, and the compiler may
choose other tiles, so a saving can be below 0. A ReLU or max-pool that runs with another layer is explained as that one.

    build/release/qsim explain --layer fc1

| key | meaning |
|---|---|
| `model`, `config`, `layer`, `cycles`, `share`, `limited_by`, `limiter_busy` | what is explained (`layer` is empty for the network), and its share of the run; [output](output.md) has the last two |
| `in_words[].sentence` | what limits it, and which change saves most |
| `critical_path[]` | `part`, `cycles`, `share` |
| `changes[]` | `resource`, `from`, `to`, `cycles`, `saved_cycles`, `saved_share`, best first |
| `not_possible[]` | `resource`, `from`, `to`, `reason`: changes that cannot run |
)";

}  // namespace

const CommandRow kExplainCommand = {
    "explain", "say what limits a layer, and what doubling each resource gains",
    command_of<ExplainOptions, declare_explain, explain_command>, kExplainText};

}  // namespace qsim::cli
