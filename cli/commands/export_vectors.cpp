// `qsim export-vectors`: a program with everything that a test bench needs to run it and to judge
// the result, for people who verify RTL of their own.
#include <set>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/inputs/hosted_model.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/run/network.h"
#include "cli/session/vectors/vector_manifest.h"
#include "cli/terminal/output_folders.h"
#include "compiler/compile.h"
#include "core/machine/program_text.h"
#include "formats/files/files.h"
#include "formats/settings/arch_config_file.h"
#include "report/tensor_comparison.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

struct VectorOptions : ConfigOption, NetworkOptions, InputOptions, MappingOptions {
  std::string out;  // a folder
};

void declare_export_vectors(Declarations& declared, VectorOptions& options) {
  declare_config(declared, options);
  declare_set(declared, options);
  declare_network(declared, options);
  declare_input(declared, options);
  declare_mapping(declared, options);
  declare_dram_plan(declared, options);
  declare_energy(declared, options);
  declared.output_folder("--out", options.out, is_vector_file, "write the files to this folder")
      .required();
}

NetworkRequest network_of(const VectorOptions& options) {
  return {options, options, Tensors::kDrawn, options.layers, "", "name one with --layers"};
}

std::string program_text(const Program& program) {
  std::ostringstream text;
  print_program(program, text);
  return std::move(text).str();
}

// Bytes that golden does not confirm must not become test vectors.
std::int64_t mismatches(const Network& network, const Program& program, const Vectors& vectors,
                        GoldenSelection& golden) {
  RunResult result;
  result.ofmaps = vectors.ofmaps;
  const std::vector<Tensor> expected = golden.runner(network.graph)->run(network.input);
  return report::compare_ofmaps(program, expected, result).mismatches();
}

void write_files(Context& context, const std::filesystem::path& path, const Network& network,
                 const Program& program, const Vectors& vectors) {
  formats::remove_file(path /
                       kVectorFile);  // the last file to be written says that the others are whole
  VectorFolder folder(context, path);
  add_commands(folder, program);
  add_times(folder, vectors);
  add_semaphores(folder, program);
  add_images(folder, program, vectors);
  add_ofmaps(folder, program, vectors);
  add_header(folder, program, vectors);
  folder.add_text({"program.qprog", "qprog", "", {}, "the program as text"}, program_text(program));
  folder.add_text({"config.yaml", "yaml", "", {}, "the configuration, resolved"},
                  formats::arch_config_yaml(program.arch));
  std::set<std::string> names;
  for (const VectorFile& file : folder.files()) names.insert(file.name);
  formats::remove_other_files(path, is_vector_file, names);  // of an older export with more layers
  context.write_file(path / kVectorFile,
                     manifest_json(network.provenance, program, vectors, folder.files()));
}

report::Sheet summary(const VectorOptions& options, const Program& program,
                      const Vectors& vectors) {
  report::Sheet sheet;
  sheet.schema = "qsim.export-vectors/1";
  sheet.add("folder", options.out);
  sheet.add("config", program.arch.name);
  if (!options.rounding.empty()) sheet.add("rounding", options.rounding);
  if (options.snap) sheet.add("snap", true);
  sheet.add("commands", static_cast<std::int64_t>(program.command_count()));
  sheet.add("cycles", static_cast<std::int64_t>(vectors.total_cycles));
  sheet.add("dram_bytes", static_cast<std::int64_t>(vectors.dram_before.size()));
  sheet.add("layers", static_cast<std::int64_t>(program.layers.size()));
  return sheet;
}

ExitCode export_network(Context& context, const VectorOptions& options, const ArchConfig& config) {
  GoldenSelection golden("", "auto", context.notes());
  const Network network = import_network(
      context, {network_of(options), options, options, need_of_export_vectors(), false, true},
      config, golden);
  const Program program = compiler::compile(network.graph, config, network.asked);
  note_ended_searches(context, network.asked);
  context.progress("running " + report::with_thousands(program.command_count()) + " commands");
  const Vectors vectors = make_vectors(program, network.input);
  const std::int64_t wrong = mismatches(network, program, vectors, golden);
  if (wrong > 0) {
    context.print("export-vectors: " + std::to_string(wrong) +
                  " values differ from golden; nothing is written\n");
    return ExitCode::kMismatch;
  }
  context.progress("writing the files");
  write_files(context, options.out, network, program, vectors);
  context.print(summary(options, program, vectors));
  return ExitCode::kOk;
}

ExitCode export_vectors_command(Context& context, const VectorOptions& options) {
  context.make_folder(options.out);
  require_only_vectors(options.out);
  const ArchConfig config = load_config(context, options);
  return run_alone(network_of(options), config, "export-vectors",
                   [&] { return export_network(context, options, config); });
}

constexpr const char* kVectorsText = R"(
It writes commands, DRAM before and after, semaphores, start, free and done cycle of every command, and every layer's
ofmap ([verify your own RTL](../guide/verify_your_rtl.md)). The bytes come from the interpreter, the cycles from the
SystemC model. `manifest.json` is written last; files of an older export are replaced or removed, and a folder that `run`
wrote is refused. If golden does not confirm a value, it ends with exit code 5 and writes nothing. Its keys are `folder`,
`config`, `commands`, `cycles`, `dram_bytes` and `layers`.
)";

}  // namespace

const CommandRow kExportVectorsCommand = {
    "export-vectors",
    "write a program, its memory images and its cycles, to verify RTL of your own",
    command_of<VectorOptions, declare_export_vectors, export_vectors_command>, kVectorsText};

}  // namespace qsim::cli
