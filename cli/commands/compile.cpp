// `qsim compile`: a model lowered to a program, kept as text, with what the compiler chose.
#include "compiler/compile.h"

#include <sstream>

#include "cli/commands/commands.h"
#include "cli/session/mapping_option.h"
#include "cli/session/memory_need.h"
#include "cli/session/model_source.h"
#include "core/program_text.h"
#include "report/program_sheet.h"

namespace qsim {
namespace {

std::string text_of(const Program& program) {
  std::ostringstream text;
  print_program(program, text);
  return std::move(text).str();
}

Model model_of(const Options& options, const ArchConfig& config) {
  Model model = load_model(options, config);
  require_memory_for(model.name, model.graph, config, options);
  return model;
}

}  // namespace

ExitCode compile_command(Context& context) {
  const Options& options = context.options();
  const ArchConfig config = load_config(options);
  Model model = model_of(options, config);
  const CompileOptions asked = compile_options(options, config, model.graph);
  Compilation compilation(std::move(model.graph), config, asked);
  write_mappings(context, model.name, config, compilation.mappings());
  const Program program = std::move(compilation).program();
  if (options.program_out == "-") {
    context.print(text_of(program));
    return ExitCode::kOk;
  }
  if (!options.program_out.empty()) context.write_file(options.program_out, text_of(program));

  Sheet sheet = program_sheet(program);
  sheet.schema = "qsim.compile/1";
  context.print(sheet);
  return ExitCode::kOk;
}

}  // namespace qsim
