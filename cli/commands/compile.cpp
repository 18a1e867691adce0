// `qsim compile`: a model lowered to a program, kept as text, with what the compiler chose.
#include "compiler/compile.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/session/engines/memory_need.h"
#include "cli/session/inputs/hosted_model.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/inputs/snapped_model.h"
#include "cli/session/run/topology_run.h"
#include "core/base/printable.h"
#include "core/machine/program_text.h"
#include "core/network/graph_shapes.h"
#include "report/program_sheet.h"

namespace qsim::cli {
namespace {

struct ProgramOptions : ConfigOption, NetworkOptions, MappingOptions {
  std::string write_mapping;  // a file, "-" for stdout, "" for none
  std::string out;            // the same
};

void declare_compile(Declarations& declared, ProgramOptions& options) {
  declare_config(declared, options);
  declare_set(declared, options);
  declare_network(declared, options);
  declare_mapping(declared, options);
  declare_dram_plan(declared, options);
  declare_energy(declared, options);
  declare_write_mapping(declared, options.write_mapping);
  declared.output_place("--out", options.out, "write the program's text; - is stdout");
}

NetworkRequest network_of(const ProgramOptions& options) {
  return {options, options, options.out.empty() ? Tensors::kShapes : Tensors::kDrawn};
}

std::string text_of(const Program& program) {
  std::ostringstream text;
  print_program(program, text);
  return std::move(text).str();
}

// The program, or only its commands where the graph has no bytes of weights.
Program program_of(compiler::Compilation&& compilation) {
  return has_tensors(compilation.graph()) ? std::move(compilation).program()
                                          : compilation.commands();
}

// A layer of a topology, compiled.
struct CompiledLayer {
  LayerMapping mapping;
  std::int64_t commands = 0;
  std::int64_t dram_bytes = 0;
  report::SheetTable table;  // of one row, which begins with the layer's name
};

// One program a layer, so no --out. The bytes of DRAM are those of the program that needs most.
// Layers of the same sizes are compiled once; --mapping may name any of them.
ExitCode compile_topology(Context& context, const ProgramOptions& options,
                          const TopologySource& source, const ArchConfig& config) {
  const NetworkRequest request = network_of(options);
  require_options_of_several(source, request, {{!options.out.empty(), "--out"}});
  compiler::CompileOptions searched;
  std::map<std::size_t, CompiledLayer> done;  // by the first layer of its sizes
  std::vector<LayerMapping> mappings;
  std::int64_t commands = 0;
  std::int64_t dram_bytes = 0;
  report::Sheet sheet;
  const auto compile_layer = [&](std::size_t i) -> CompiledLayer {
    Model model = layer_model(source, i, request.tensors);
    compiler::CompileOptions asked =
        compile_options(context, request, options, config, model.graph, &source.file);
    asked.known = searched.known;
    require_memory_for(model.name, model.graph, config, need_of_compile(false), asked);
    compiler::Compilation compilation(std::move(model.graph), config, asked);
    const LayerMapping mapping = compilation.mappings().front();
    const std::int64_t layer_bytes = compilation.dram_bytes();
    const Program program = program_of(std::move(compilation));
    return {mapping, static_cast<std::int64_t>(program.command_count()), layer_bytes,
            report::program_sheet(program, layer_bytes).tables.front()};
  };
  for (std::size_t i = 0; i < source.topology.layers.size(); ++i) {
    const std::size_t key = options.mapping.empty() ? formats::first_alike(source.topology, i) : i;
    if (!done.contains(key)) done.emplace(key, compile_layer(i));
    CompiledLayer layer = done.at(key);
    layer.mapping.layer = source.topology.layers[i].name;
    layer.table.rows.front().front() = layer.mapping.layer;
    if (sheet.tables.empty()) sheet.tables.push_back({layer.table.name, layer.table.columns, {}});
    sheet.tables.front().rows.push_back(std::move(layer.table.rows.front()));
    mappings.push_back(std::move(layer.mapping));
    commands += layer.commands;
    dram_bytes = std::max(dram_bytes, layer.dram_bytes);
  }
  note_ended_searches(context, searched);
  write_mappings(context, options.write_mapping, source.name, config, mappings);
  sheet.schema = "qsim.compile/1";
  sheet.add("program", source.topology.name);
  sheet.add("config", config.name);
  sheet.add("commands", commands);
  sheet.add("dram_bytes", dram_bytes);
  context.print(sheet);
  return ExitCode::kOk;
}

ExitCode compile_network(Context& context, const ProgramOptions& options,
                         const ArchConfig& config) {
  const NetworkRequest request = network_of(options);
  Model model = load_model(request, config);
  snap_model(context, model, options, config);
  const compiler::CompileOptions asked =
      compile_options(context, request, options, config, model.graph);
  require_memory_for(model.name, model.graph, config, need_of_compile(!options.out.empty()), asked);
  compiler::Compilation compilation(std::move(model.graph), config, asked);
  note_ended_searches(context, asked);
  write_mappings(context, options.write_mapping, model.name, config, compilation.mappings());
  const compiler::DramUse dram = compilation.dram_use();
  const std::int64_t dram_bytes = compilation.dram_bytes();
  const Program program = program_of(std::move(compilation));
  if (!options.out.empty()) context.print_to(options.out, text_of(program));

  report::Sheet sheet = report::program_sheet(program, dram_bytes);
  sheet.schema = "qsim.compile/1";
  if (!options.rounding.empty()) sheet.add("rounding", options.rounding);
  if (options.snap) sheet.add("snap", true);
  sheet.add("activation_dram_bytes", dram.bytes);
  sheet.add("separate_dram_bytes", dram.separate_bytes);
  sheet.add("live_dram_bytes", dram.live_bytes);
  context.print(sheet);
  return ExitCode::kOk;
}

ExitCode compile_command(Context& context, const ProgramOptions& options) {
  const NetworkRequest request = network_of(options);
  const ArchConfig config = load_config(context, options);
  const std::optional<TopologySource> topology = find_topology(request, config);
  if (topology && topology->topology.layers.size() > 1) {
    return compile_topology(context, options, *topology, config);
  }
  return run_alone(request, config, "compile",
                   [&] { return compile_network(context, options, config); });
}

constexpr const char* kCompileText = R"(
`--out` writes the program as [text](files.md#the-text-of-a-program); [isa](isa.md) describes the commands.

| key | meaning |
|---|---|
| `program`, `config`, `commands`, `dram_bytes` | names, how many commands, bytes of the DRAM image |
| `activation_dram_bytes`, `separate_dram_bytes`, `live_dram_bytes` | DRAM for the input and all ofmaps: of this program, with `--dram-plan separate`, and the least, what one layer needs |
| `layers[]` | `layer`, `op`, `mapping`, `macs`, commands of each unit (`load`, `execute`, `post`, `store`), `dram_traffic_bytes` |
)";

}  // namespace

const CommandRow kCompileCommand = {
    "compile", "translate a model to a program and write it as text",
    command_of<ProgramOptions, declare_compile, compile_command>, kCompileText};

}  // namespace qsim::cli
