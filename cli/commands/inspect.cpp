// `qsim inspect FILE`: what a program, model, workload, trace or config holds. A program is also
// checked by compiler/verifier: exit code 3 when it breaks one.
#include "cli/commands/commands.h"
#include "cli/session/inputs/hosted_model.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/inputs/remedies.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/inputs/snapped_model.h"
#include "cli/session/inputs/topology_source.h"
#include "cli/terminal/usage_error.h"
#include "compiler/compile.h"
#include "compiler/verifier/verify.h"
#include "core/base/printable.h"
#include "core/machine/program_text.h"
#include "formats/files/files.h"
#include "formats/settings/arch_config_file.h"
#include "formats/settings/scale_sim_config.h"
#include "formats/text/yaml.h"
#include "golden/host/host_costs.h"
#include "report/graph_sheet.h"
#include "report/program_sheet.h"

namespace qsim::cli {

using formats::is_topology_file;
using report::Sheet;
using report::SheetTable;
namespace {

namespace fs = std::filesystem;

constexpr const char* kInspectSchema = "qsim.inspect/1";

struct InspectOptions : ConfigOption, ScaleOptions, HostOptions {
  std::string file;
  bool commands = false;
};

void declare_inspect(Declarations& declared, InspectOptions& options) {
  declare_config(declared, options);
  declare_set(declared, options);
  declared
      .text("file", options.file,
            "program text (.qprog), ONNX model, workload, trace, config, or a shipped name")
      .required()
      .read(Reads::kInspected, "the inspected file");
  declare_scales(declared, options);
  declare_host(declared, options);
  declare_shapes(declared, options);
  declared.flag("--commands", options.commands, "print the command streams of a program");
}

bool is_config_file(const fs::path& path) {
  if (formats::is_scale_sim_config(path)) return true;
  if (path.extension() != ".yaml" && path.extension() != ".yml") return false;
  const formats::YamlNode root = formats::load_yaml(path);
  return root.kind() != formats::YamlNode::Kind::kMap || root.find("layers") == nullptr;
}

bool is_program_file(const fs::path& path) {
  std::error_code error;
  return path.extension() != ".onnx" && path.extension() != ".yaml" && path.extension() != ".yml" &&
         !formats::is_scale_sim_config(path) && !is_topology_file(path) &&
         !fs::is_directory(path, error);
}

Sheet config_sheet(const ArchConfig& config) {
  Sheet sheet;
  sheet.add("kind", std::string("config"));
  for (const ArchConfigField& field : arch_config_fields()) {
    if (!is_written(config, field)) continue;
    const std::string name(field.name);
    if (field.number != nullptr) {
      sheet.add(name, config.*field.number);
    } else {
      sheet.add(name, value_text(config, field));
    }
  }
  if (!config.host) return sheet;
  for (const HostConfigField& field : host_config_fields()) {
    const std::string name = "host." + std::string(field.name);
    if (field.rate != nullptr) {
      sheet.add(name, *config.host.*field.rate);
    } else {
      sheet.add(name, *config.host.*field.flag);
    }
  }
  return sheet;
}

// What keeps the network from running on the accelerator, each reason with what to do.
void add_refusals(Sheet& sheet, const Model& model, const ScaleOptions& options,
                  const ArchConfig& config) {
  // The remedy first: a first column may be cut, and a reason begins with its file.
  SheetTable table{"blocking_layers", {"remedy", "reason"}, {}};
  compiler::CompileOptions asked;
  asked.remedies = remedies_for(model.kind, options);
  for (const compiler::Refusal& refusal : compiler::refusals_of(model.graph, config, asked)) {
    table.rows.push_back({refusal.remedy, refusal.reason});
  }
  sheet.add("accelerator", config.name);
  sheet.add("blocking", static_cast<std::int64_t>(table.rows.size()));
  sheet.tables.push_back(std::move(table));
}

void add_float_nodes(Sheet& sheet, const std::vector<formats::FloatNode>& nodes) {
  SheetTable table{"float_nodes", {"node", "op", "reason"}, {}};
  for (const formats::FloatNode& node : nodes)
    table.rows.push_back({node.name, node.op, node.reason});
  sheet.add("float_in_onnxruntime", static_cast<std::int64_t>(nodes.size()));
  sheet.tables.push_back(std::move(table));
}

// Which parts of a network the array runs, and why the host runs the rest.
Sheet hosted_sheet(Context& context, const InspectOptions& options, const NetworkRequest& request,
                   const ArchConfig& config) {
  const HostedModel model = load_hosted(context, request, options, config, {});
  const HostedNetwork& hosted = model.hosted;
  Sheet sheet;
  sheet.add("kind", std::string(model_kind_name(ModelKind::kOnnx)));
  sheet.add("graph", model.name);
  sheet.add("accelerator", config.name);
  if (model.config.requantizer != config.requantizer) {
    sheet.add("requantizer", std::string("dyadic"));
  }
  sheet.add("as", options.as);
  SheetTable parts{"parts", {"first_layer", "layers", "input", "output", "macs"}, {}};
  std::int64_t macs = 0;
  for (const ArrayPart& part : hosted.parts) {
    std::int64_t own = 0;
    for (std::size_t i = 0; i < part.graph.layers.size(); ++i) own += layer_macs(part.graph, i);
    parts.rows.push_back({part.graph.layers.front().name, std::ssize(part.graph.layers),
                          hosted.network.values[part.input].name,
                          hosted.network.values[part.output].name, own});
    macs += own;
  }
  SheetTable nodes{"host_nodes", {"node", "op", "operations", "bytes", "reason"}, {}};
  std::int64_t operations = 0;
  for (const HostStep& step : hosted.host_steps) {
    const HostNode& node = hosted.network.nodes[step.node];
    const std::int64_t own = golden::host_operations(hosted.network, node);
    nodes.rows.push_back(
        {node.name, node.op, own, golden::host_bytes(hosted.network, node), step.reason});
    operations += own;
  }
  sheet.add("macs_on_the_array", macs);
  sheet.add("operations_on_the_host", operations);
  sheet.tables = {std::move(parts), std::move(nodes)};
  return sheet;
}

Sheet model_sheet(Context& context, const InspectOptions& options, const fs::path& path,
                  const ArchConfig& config) {
  const NetworkRequest request{options, {options, options.file, {}}, Tensors::kShapes};
  Model model = load_model_file(path, options.file, request);
  snap_model(context, model, options, config);
  Sheet sheet = report::graph_sheet(model.graph);
  sheet.facts.insert(sheet.facts.begin(), {"kind", std::string(model_kind_name(model.kind))});
  if (model.sidecar) {
    sheet.add("labels", static_cast<std::int64_t>(model.sidecar->labels.size()));
  }
  if (model.kind == ModelKind::kOnnx) add_float_nodes(sheet, model.float_nodes);
  add_refusals(sheet, model, options, config);
  return sheet;
}

// The layers of a topology as the convolutions that compute them.
Sheet topology_sheet(const fs::path& path) {
  const formats::Topology topology = formats::read_topology(path);
  Sheet sheet;
  sheet.add("kind", std::string(model_kind_name(ModelKind::kTopology)));
  sheet.add("name", topology.name);
  sheet.add("layers", static_cast<std::int64_t>(topology.layers.size()));
  SheetTable table{"layers", {"layer", "ifmap", "kernel", "strides", "out_channels", "place"}, {}};
  for (const formats::TopologyLayer& layer : topology.layers) {
    const Window& w = layer.window;
    table.rows.push_back({layer.name, shape_text(layer.input.nhwc()),
                          shape_text({w.kernel_h, w.kernel_w}),
                          shape_text({w.stride_h, w.stride_w}), layer.out_channels, layer.place});
  }
  sheet.tables.push_back(std::move(table));
  return sheet;
}

// One line a command: unit, number, fields, and what it works for.
template <typename Visit>
void for_each_command(const Program& program, Visit visit) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    for (const Instruction& instruction : program.streams[u]) {
      visit(std::string(kUnitNames[u]), command_text(program, instruction.command),
            origin_text(program, instruction.origin));
    }
  }
}

Sheet verified_program_sheet(const Program& program, const std::vector<std::string>& violations) {
  Sheet sheet = report::program_sheet(program, program.dram_bytes());
  sheet.facts.insert(sheet.facts.begin(), {"kind", std::string("program")});
  sheet.add("violations", static_cast<std::int64_t>(violations.size()));
  SheetTable table{"broken_rules", {"violation"}, {}};
  for (const std::string& violation : violations) table.rows.push_back({violation});
  sheet.tables.push_back(std::move(table));
  return sheet;
}

ExitCode inspect_program(Context& context, const fs::path& path, bool prints_commands) {
  const Program program = parse_program(formats::read_text_file(path), path.string());
  const std::vector<std::string> violations = compiler::verify(program, program.arch);
  Sheet sheet = verified_program_sheet(program, violations);
  sheet.schema = kInspectSchema;
  std::string lines;
  if (prints_commands) {
    SheetTable table{"command_streams", {"unit", "command", "origin"}, {}};
    for_each_command(program, [&](std::string unit, std::string text, std::string origin) {
      lines += text + "  # " + origin + "\n";
      table.rows.push_back({std::move(unit), std::move(text), std::move(origin)});
    });
    if (!context.has_json()) {
      context.print(report::sheet_text(sheet) + "\n" + lines);
      return violations.empty() ? ExitCode::kOk : ExitCode::kBadInput;
    }
    sheet.tables.push_back(std::move(table));
  }
  context.print(sheet);
  return violations.empty() ? ExitCode::kOk : ExitCode::kBadInput;
}

Sheet network_sheet(Context& context, const InspectOptions& options, const fs::path& path,
                    const ArchConfig& config) {
  const NetworkRequest request{options, {options, options.file, {}}, Tensors::kShapes};
  if (!options.shapes.empty() && model_kind(path) != ModelKind::kOnnx) {
    usage_error("--shape is of ONNX files; '" + echoed(options.file) + "' is not an ONNX file");
  }
  if (options.as == kAsOnnxRuntime || !options.shapes.empty()) {
    return hosted_sheet(context, options, request, config);
  }
  try {
    return model_sheet(context, options, path, config);
  } catch (const Error& error) {
    const bool may_have_host = error.code() == ExitCode::kUnsupportedModel && !options.no_host &&
                               !options.snap && model_kind(path) == ModelKind::kOnnx;
    if (!may_have_host) throw;
  }
  return hosted_sheet(context, options, request, config);
}

ExitCode inspect_command(Context& context, const InspectOptions& options) {
  const ArchConfig config = load_config(context, options);
  const std::string& name = options.file;
  const fs::path path = find_config_or_model(name);
  const bool is_program = is_program_file(path);
  const bool is_config = !is_program && !is_topology_file(path) && is_config_file(path);
  if (is_program) require_onnx_options(options, name, "program");
  if (is_config) require_onnx_options(options, name, "config");
  if (is_topology_file(path)) require_onnx_options(options, name, "topology");
  if (is_program) return inspect_program(context, path, options.commands);
  Sheet sheet = is_topology_file(path) ? topology_sheet(path)
                : is_config            ? config_sheet(formats::load_arch_config(path))
                                       : network_sheet(context, options, path, config);
  sheet.schema = kInspectSchema;
  context.print(sheet);
  return ExitCode::kOk;
}

constexpr const char* kInspectText = R"(
It checks a program by the rules of `compiler/verifier`, and ends with exit code 3 if it breaks one. Of a network it says
whether the accelerator of `--config` runs it, and if not why and what to do. Of an ONNX model it lists the nodes that
[ONNX Runtime computes in float32](onnx.md): there its bytes may differ from qsim's.

| key | meaning |
|---|---|
| `kind` | `"program"`, `"ONNX model"`, `"workload"`, `"layer trace"`, `"topology"` or `"config"` |
| `violations`, `broken_rules[].violation` | of a program, besides the keys of `compile` |
| `command_streams[]` | of `--commands`: `unit`, `command`, `origin` |
| `graph`, `input`, `output`, `layout`, `float_input`, `float_output`, `weights`, `macs`, `labels` | of a network: as the host sees it (`float_`: real numbers, quantized inside), and how many |
| `layers[]` | `layer`, `op`, `inputs` (with branches), `ofmap`, `dtype`, `zero_point`, `window`, `shift`, `rounding`, `weights`, `macs` |
| `float_in_onnxruntime`, `float_nodes[]` | of an ONNX model: `node`, `op`, `reason` |
| `as`, `parts[]`, `macs_on_the_array`, `host_nodes[]`, `operations_on_the_host` | of an ONNX model [with a host](host.md): `first_layer`, `layers`, `input`, `output`, `macs` of each part of the array; `node`, `op`, `operations`, `bytes`, `reason` of each node of the host |
| `accelerator`, `blocking`, `blocking_layers[]` | what keeps the network from running: `remedy`, `reason` |

A configuration has its [fields](config.md) as keys.
)";

}  // namespace

const CommandRow kInspectCommand = {
    "inspect", "show what a program, model, workload, trace or config contains",
    command_of<InspectOptions, declare_inspect, inspect_command>, kInspectText};

}  // namespace qsim::cli
