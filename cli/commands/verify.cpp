// `qsim verify`: several engines against golden, and the cycles of those that have time against
// each other, on a model or on random layers. Exit code 5 when anything differs.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/session/engines/engines.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/engines/memory_need.h"
#include "cli/session/inputs/hosted_steps.h"
#include "cli/session/inputs/input_source.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/inputs/snapped_model.h"
#include "cli/session/run/graph_cut.h"
#include "cli/session/run/host_time.h"
#include "cli/session/run/topology_run.h"
#include "cli/session/verification/random_layers.h"
#include "cli/session/verification/verification.h"
#include "cli/terminal/usage_error.h"
#include "compiler/compile.h"
#include "core/base/limits.h"
#include "report/run_report.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::Sheet;
using report::SheetTable;
using report::with_thousands;
namespace {

struct VerifyOptions : ConfigOption, NetworkOptions, HostOptions, InputOptions, MappingOptions {
  Words engines = {std::string(kInterpreterEngine), std::string(kSystemcEngine)};
  std::string golden = "auto";  // "cpu", "cuda", both with a comma, or "auto"
  std::optional<std::int64_t> images;
  std::int64_t seeds = 0;
  bool all_configs = false;
};

// Those without times are first.
Words engine_words() {
  Words words = engine_names([](const EngineRow& row) { return !row.has_time; });
  for (std::string& name : engine_names(&EngineRow::has_time)) words.push_back(std::move(name));
  return words;
}

bool simulates_time(const EngineRow& row) { return row.has_time && row.has_data; }

// An engine that computes times alone needs another one that they are compared with.
void require_compared_times(const Words& engines) {
  const auto times_alone = std::ranges::find_if(
      engines, [](const std::string& name) { return !engine_row(name).has_data; });
  if (times_alone == engines.end() || std::ranges::any_of(engines, [](const std::string& name) {
        return simulates_time(engine_row(name));
      })) {
    return;
  }
  usage_error("--engines names " + *times_alone +
              ", which computes times alone, and no engine whose times they are compared with; "
              "add " +
              engine_list(simulates_time, " or "));
}

void check_verify(const VerifyOptions& options, const Declarations& declared) {
  if (options.seeds > 0) {
    for (const char* name :
         {"--model", "--input", "--index", "--batch", "--layers", "--images", "--energy",
          "--rounding", "--snap", "--no-host", "--strict", "--as", "--mapping", "--dataflow",
          "--objective", "--slack", "--mapping-search", "--mapping-budget", "--dram-plan"}) {
      if (!declared.given(name)) continue;
      usage_error("--seeds makes its own layers; leave out " + std::string(name));
    }
  }
  require_engines_once(options.engines);
  require_compared_times(options.engines);
  if (options.all_configs && options.seeds == 0) {
    usage_error("--all-configs needs --seeds; give --seeds N");
  }
  if (options.all_configs && options.config_given) {
    usage_error("--all-configs takes every shipped configuration; leave out --config");
  }
  if (options.all_configs && !options.set.empty()) {
    usage_error("--all-configs takes configurations as they are; leave out --set");
  }
}

std::string golden_error(const std::string& text) {
  const Words allowed = {"auto", "cpu", "cuda", "cpu,cuda", "cuda,cpu"};
  if (std::ranges::count(allowed, text) > 0) return "";
  return "found '" + text + "'; allowed: auto, cpu, cuda, or cpu,cuda";
}

void declare_verify(Declarations& declared, VerifyOptions& options) {
  declare_config(declared, options);
  declare_set(declared, options);
  declared.check([&] { check_verify(options, declared); });
  declare_network(declared, options);
  declare_host(declared, options);
  declare_input(declared, options);
  declare_mapping(declared, options);
  declare_dram_plan(declared, options);
  declare_energy(declared, options);
  declared
      .list("--engines", options.engines, "engines to compare, with commas between them",
            engine_words())
      .shows(options.engines.front() + "," + options.engines.back());
  OptionRow& golden = declared.text(
      "--golden", options.golden,
      "golden backend: cpu, cuda, cpu,cuda, or auto, which takes QSIM_GOLDEN if it is set, "
      "otherwise a GPU if there is one, otherwise the CPU");
  golden.allowed = "cpu|cuda|cpu,cuda|auto";
  golden.refusal = golden_error;
  declared.number("--images", {1, kMaxImages}, options.images,
                  "pictures of the CIFAR-10 batch, from --index on (default: one --batch)");
  declared
      .number("--seeds", {1, kMaxSeeds}, options.seeds,
              "verify N random layers, seeds --seed and up, instead of a model")
      .shows("")
      .read(Reads::kNoNetwork, "");
  declared
      .flag("--all-configs", options.all_configs,
            "spread the layers of --seeds over all shipped configs")
      .read(Reads::kEveryConfig, "the configuration");
}

NetworkRequest network_of(const VerifyOptions& options) {
  return {options, options, Tensors::kDrawn, options.layers, "", "name one with --layers"};
}

NeedOf need_of(const VerifyOptions& options) {
  return need_of_verify(1 + std::ranges::count(options.golden, ','), std::ssize(options.engines));
}

std::string so_far(std::int64_t done, std::int64_t all, const char* what,
                   const Verification& verification) {
  return with_thousands(done) + " of " + with_thousands(all) + " " + what + ", " +
         with_thousands(verification.mismatches()) + " mismatches so far";
}

// One row a layer, one column of mismatches a witness; witnesses that see other layers (golden
// against a trace sees fused ones too) are left out.
SheetTable layers_table(const Verification& verification) {
  const WitnessTally& first = verification.witnesses().front();
  SheetTable table{"layers", {"layer", "values"}, {}};
  for (const report::LayerComparison& layer : first.layers) {
    table.rows.push_back({layer.layer, layer.values});
  }
  for (const WitnessTally& tally : verification.witnesses()) {
    if (tally.layers.size() != first.layers.size()) continue;
    table.columns.push_back(tally.name);
    for (std::size_t i = 0; i < tally.layers.size(); ++i) {
      table.rows[i].emplace_back(tally.layers[i].mismatches);
    }
  }
  return table;
}

SheetTable witnesses_table(const Verification& verification) {
  SheetTable table{"engines", {"engine", "programs", "values", "mismatches"}, {}};
  for (const WitnessTally& tally : verification.witnesses()) {
    table.rows.push_back({tally.name, tally.programs, tally.values, tally.mismatches});
  }
  return table;
}

void add_result(Sheet& sheet, const Verification& verification) {
  sheet.add("values", verification.values());
  sheet.add("mismatches", verification.mismatches());
  const std::string first = verification.first_divergence();
  if (!first.empty()) sheet.add("first_divergence", first);
  sheet.tables.push_back(witnesses_table(verification));
  if (verification.times().empty()) return;
  sheet.add("timed_commands", verification.timed_commands());
  sheet.add("time_mismatches", verification.time_mismatches());
  SheetTable table{"cycles", {"engines", "commands", "mismatches"}, {}};
  for (const TimeTally& tally : verification.times()) {
    table.rows.push_back({tally.name, tally.commands, tally.mismatches});
    if (!tally.first.empty()) sheet.add("first_time_divergence", tally.name + ": " + tally.first);
  }
  sheet.tables.push_back(std::move(table));
}

EngineSettings settings_of(Context& context) {
  EngineSettings settings;
  settings.on_build = [&context](const std::string& line) {
    context.note(line);
    context.progress("building an RTL model");
  };
  return settings;
}

bool runs_rtl(const Words& engines) {
  return std::ranges::any_of(engines,
                             [](const std::string& name) { return engine_row(name).runs_rtl; });
}

// What the last line says of times, besides the bytes. A user who compares with the hardware's
// values could otherwise believe that its cycles are confirmed too.
std::string times_text(const std::vector<std::string>& engines, const Verification& verification) {
  if (verification.times().empty()) {
    if (!runs_rtl(engines)) return "";
    const auto predicts = [](const EngineRow& row) { return row.has_time && !row.runs_rtl; };
    return "; cycles: not compared (needs " + engine_list(predicts, " or ") + ")";
  }
  return "; start, free and done of " + with_thousands(verification.timed_commands()) +
         " commands, " + with_thousands(verification.time_mismatches()) + " mismatches";
}

// Pictures of a series by their numbers in the file.
std::string numbers_text(std::int64_t first, std::int64_t count) {
  if (count == 1) return "image " + std::to_string(first);
  return "images " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

// Compares pictures `first` to `end` - 1 of the series, a whole number of the graph's batches.
void verify_pictures(Context& context, Verification& verification, GoldenSelection& golden,
                     const ArchConfig& config, const Model& model,
                     const compiler::CompileOptions& asked, const InputSource& source,
                     std::int64_t first, std::int64_t end, bool cut) {
  const std::int64_t batch = model.graph.input_value().shape.batch;
  const Program program = compiler::compile(model.graph, config, asked);
  std::vector<std::unique_ptr<GoldenRunner>> backends = golden.runners(model.graph);
  for (std::int64_t at = first; at < end; at += batch) {
    const Tensor input = cut ? *model.own_input : source.at(model, at);
    const std::string what =
        source.pictures() > batch ? numbers_text(source.first() + at, batch) : "";
    const std::vector<Tensor> expected =
        verification.run_golden(what, model.graph, input, backends);
    verification.check(what, program, input, expected, model.recorded);
    if (!model.recorded.empty()) {
      verification.check_golden(model.graph, expected, model.recorded);
    }
    context.progress(so_far(at + batch, source.pictures(), "images", verification));
  }
}

// The model for as many pictures at a time as there are, at most.
Model load_for_series(const VerifyOptions& options, const ArchConfig& config) {
  Model model = load_model(network_of(options), config);
  const std::int64_t batch = model.graph.input_value().shape.batch;
  set_batch(model.graph, std::min(batch, options.images.value_or(batch)));
  return model;
}

// Leaves the layers of --layers in `model`, and their input as its own.
void cut(Model& model, const InputSource& source, const VerifyOptions& options,
         GoldenSelection& golden) {
  const std::int64_t batch = model.graph.input_value().shape.batch;
  if (source.pictures() > batch) {
    throw Error(ExitCode::kUsage, "--layers compares one batch; --images " +
                                      std::to_string(source.pictures()) + " is more than --batch " +
                                      std::to_string(batch));
  }
  model.own_input = cut_layers(model, source.at(model, 0), options.layers, &golden);
}

// The layers of a topology, each a network of its own.
Sheet verify_topology(Context& context, const VerifyOptions& options, Verification& verification,
                      GoldenSelection& golden, const TopologySource& source,
                      const ArchConfig& config) {
  const NetworkRequest request = network_of(options);
  require_options_of_several(source, request,
                             {{!options.input.empty(), "--input"},
                              {options.index.has_value(), "--index"},
                              {options.images.has_value(), "--images"}});
  for (const std::string& name : options.engines) {
    prepare_engine(name, config, settings_of(context));
  }
  const auto known = std::make_shared<compiler::KnownMappings>();
  const auto layers = static_cast<std::int64_t>(source.topology.layers.size());
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const Model model = layer_model(source, index, request.tensors);
    compiler::CompileOptions asked =
        compile_options(context, request, options, config, model.graph, &source.file);
    asked.known = known;
    require_memory_for(model.name, model.graph, config, need_of(options), asked);
    const Program program = compiler::compile(model.graph, config, asked);
    std::vector<std::unique_ptr<GoldenRunner>> backends = golden.runners(model.graph);
    const std::string& what = source.topology.layers[index].name;
    const std::vector<Tensor> expected =
        verification.run_golden(what, model.graph, *model.own_input, backends);
    verification.check(what, program, *model.own_input, expected, {});
    context.progress(so_far(i + 1, layers, "layers", verification));
  }
  Sheet sheet;
  sheet.add("model", source.name);
  sheet.add("config", config.name);
  sheet.add("layers", layers);
  add_result(sheet, verification);
  return sheet;
}

Sheet verify_model(Context& context, const VerifyOptions& options, Verification& verification,
                   GoldenSelection& golden, const ArchConfig& config) {
  const NetworkRequest request = network_of(options);
  const std::optional<TopologySource> topology = find_topology(request, config);
  if (topology && topology->topology.layers.size() > 1) {
    return verify_topology(context, options, verification, golden, *topology, config);
  }
  Model model = load_for_series(options, config);
  snap_model(context, model, options, config);
  compiler::CompileOptions asked;
  const auto judge = [&] {
    asked = compile_options(context, request, options, config, model.graph);
    require_memory_for(model.name, model.graph, config, need_of(options), asked);
  };
  if (options.layers.empty()) {
    judge();
  } else {
    require_memory_for_golden(model.name, model.graph);  // up to the cut
  }
  const InputSource source(request, options, config, model, options.images);
  if (!options.layers.empty()) {
    cut(model, source, options, golden);
    judge();
  }
  for (const std::string& name : options.engines) {
    prepare_engine(name, config, settings_of(context));
  }
  const std::int64_t images = source.pictures();
  const std::int64_t rest = images % model.graph.input_value().shape.batch;
  context.progress(so_far(0, images, "images", verification));
  verify_pictures(context, verification, golden, config, model, asked, source, 0, images - rest,
                  !options.layers.empty());
  if (rest > 0) {
    set_batch(model.graph, rest);
    verify_pictures(context, verification, golden, config, model, asked, source, images - rest,
                    images, !options.layers.empty());
  }
  note_ended_searches(context, asked);
  Sheet sheet;
  sheet.add("model", model.name);
  sheet.add("config", config.name);
  if (!options.rounding.empty()) sheet.add("rounding", options.rounding);
  if (options.snap) sheet.add("snap", true);
  sheet.add("input", source.name());
  sheet.add("images", images);
  add_result(sheet, verification);
  sheet.tables.push_back(layers_table(verification));
  return sheet;
}

// For the estimate of the time of host and array.
std::int64_t recurrence_cycles(Engine& engine, const Program& program, const Tensor& input) {
  report::RunReport report;
  report.engine = kRecurrenceEngine;
  report::add_layers(report, program, engine.run(program, input, {.move_data = false}));
  return static_cast<std::int64_t>(report.total.timing->cycles);
}

// The parts that the array runs of a network with a host; golden gives what each part makes of the
// input, so that all engines see the same.
Sheet verify_hosted(Context& context, const VerifyOptions& options, Verification& verification,
                    GoldenSelection& golden, const ArchConfig& given) {
  const NetworkRequest request = network_of(options);
  HostInputs inputs = read_host_inputs(request, options.input, given, [&] {
    static_cast<void>(load_hosted(context, request, options, given, {}));
  });
  const HostedModel model = load_hosted(context, request, options, given, shapes_of(inputs));
  refuse_with_host(request, given,
                   {{!options.layers.empty(), "--layers"},
                    {options.snap, "--snap"},
                    {options.index.has_value(), "--index"},
                    {options.images.has_value(), "--images"},
                    {options.batch.has_value(), "--batch"},
                    {!options.mapping.empty(), "--mapping"}});
  const ArchConfig& config = model.config;
  for (const std::string& name : options.engines) {
    prepare_engine(name, config, settings_of(context));
  }
  const auto parts = std::ssize(model.hosted.parts);
  const std::unique_ptr<Engine> recurrence = config.host ? make_engine(kRecurrenceEngine) : nullptr;
  std::vector<std::int64_t> part_cycles;
  HostedSteps steps(model, std::move(inputs));
  steps.run([&](std::size_t index, const Tensor& input) {
    const Graph& graph = model.hosted.parts[index].graph;
    const compiler::CompileOptions asked =
        compile_options(context, request, options, config, graph);
    require_memory_for(model.name, graph, config, need_of(options), asked);
    const Program program = compiler::compile(graph, config, asked);
    std::vector<std::unique_ptr<GoldenRunner>> backends = golden.runners(graph);
    const std::string what = "part " + std::to_string(index);
    std::vector<Tensor> expected = verification.run_golden(what, graph, input, backends);
    verification.check(what, program, input, expected, {});
    if (recurrence) part_cycles.push_back(recurrence_cycles(*recurrence, program, input));
    context.progress(so_far(std::int64_t(index) + 1, parts, "parts", verification));
    return std::optional(std::move(expected.back()));
  });
  Sheet sheet;
  sheet.add("model", model.name);
  sheet.add("config", config.name);
  sheet.add("input", options.input);
  sheet.add("as", options.as);
  sheet.add("parts", parts);
  sheet.add("host_nodes", std::ssize(model.hosted.host_steps));
  if (config.host) {
    const report::HostEstimate estimate =
        estimate_time(model.hosted, *config.host, part_cycles).estimate;
    sheet.add("host_cycles_estimated", estimate.host_cycles);
    sheet.add("total_cycles_estimated", estimate.total_cycles);
  }
  add_result(sheet, verification);
  return sheet;
}

Sheet verify_random_layers(Context& context, const VerifyOptions& options,
                           Verification& verification, GoldenSelection& golden) {
  RandomLayers layers(options.all_configs ? RandomLayers::every_config()
                                          : std::vector<ArchConfig>{load_config(options)},
                      options.seed, !runs_rtl(options.engines));
  for (std::int64_t i = 0; i < options.seeds; ++i) {
    layers.check(i, verification, golden);
    context.progress(so_far(i + 1, options.seeds, "random layers", verification));
  }
  Sheet sheet;
  sheet.add("random_layers", options.seeds);
  sheet.add("first_seed", static_cast<std::int64_t>(options.seed));
  sheet.add("configs", layers.config_names());
  const std::vector<std::string> empty = layers.empty_buckets();
  sheet.add("empty_buckets", static_cast<std::int64_t>(empty.size()));
  add_result(sheet, verification);
  sheet.tables.push_back(layers.histogram());
  SheetTable names{"buckets_without_layers", {"bucket"}, {}};
  for (const std::string& name : empty) names.rows.push_back({name});
  sheet.tables.push_back(std::move(names));
  return sheet;
}

ExitCode print_verification(Context& context, const VerifyOptions& options, Sheet sheet,
                            const Verification& verification, const GoldenSelection& golden) {
  sheet.schema = "qsim.verify/1";
  sheet.facts.insert(sheet.facts.begin(), {"golden", golden.name()});
  context.print(sheet);
  const bool differs = verification.mismatches() + verification.time_mismatches() > 0;
  context.print("verify: golden " + golden.name() + ", " + with_thousands(verification.values()) +
                " values, " + with_thousands(verification.mismatches()) + " mismatches" +
                times_text(options.engines, verification) + "\n");
  return differs ? ExitCode::kMismatch : ExitCode::kOk;
}

ExitCode verify_command(Context& context, const VerifyOptions& options) {
  GoldenSelection golden("--golden", options.golden, context.notes());
  Verification verification(options.engines, options.seed, settings_of(context));
  const auto print = [&](Sheet sheet) {
    return print_verification(context, options, std::move(sheet), verification, golden);
  };
  if (options.seeds > 0) {
    return print(verify_random_layers(context, options, verification, golden));
  }
  const auto on_array = [&](const ArchConfig& config) {
    return print(verify_model(context, options, verification, golden, config));
  };
  const ArchConfig given = load_config(context, options);
  const auto with_host = [&] {
    return print(verify_hosted(context, options, verification, golden, given));
  };
  return run_as_it_can(context, network_of(options), options, given, on_array, with_host);
}

constexpr const char* kVerifyText = R"(
It names layer, tile and coordinate of the first divergence, and with a layer trace compares the trace's own tensors
too. The interpreter runs twice: in program order, and in a random legal order of the four units, which reveals a missing
token. Of engines that have time, the start, free and done cycle of every command is compared with those of `systemc`, or
else of `recurrence`; a difference is a mismatch (exit code 5). With `--golden cpu,cuda` the engines are compared with
the first, and `cuda` with `cpu`. With `rtl`, the layers of `--seeds` keep the configuration's memories, since each size
is hardware of its own.

| key | meaning |
|---|---|
| `golden` | `"cpu"`, `"cuda"`, or both as the option names them |
| `values`, `mismatches`, `first_divergence` | over all engines; the last in words, absent if there is none |
| `engines[]` | `engine`, `programs`, `values`, `mismatches`; also rows `golden against the trace` and `golden cuda against cpu` |
| `timed_commands`, `time_mismatches`, `first_time_divergence` | with two engines that have time |
| `cycles[]` | `engines` (`"rtl against systemc"`), `commands`, `mismatches` |
| `as`, `parts`, `host_nodes`, `host_cycles_estimated`, `total_cycles_estimated` | of a network [with a host](host.md) |
| `layers[]` | of a model: `layer`, `values`, and mismatches by engine; besides it `images` |
| `random_layers`, `first_seed`, `configs` | with `--seeds` |
| `histogram[]` | what they were: `feature`, `value`, `layers`, `share` |
| `empty_buckets`, `buckets_without_layers[].bucket` | rows of the histogram without a layer |
)";

}  // namespace

const CommandRow kVerifyCommand = {
    "verify", "compare engines with golden, layer by layer and byte by byte",
    command_of<VerifyOptions, declare_verify, verify_command>, kVerifyText};

}  // namespace qsim::cli
