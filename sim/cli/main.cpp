// The executable: reads the command line, runs one command, turns errors into a line on stderr and
// an exit code. (libsystemc exports a `main` of its own; this one is found first.)
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/options.h"

namespace qsim {
namespace {

ExitCode run(Context& context) {
  switch (context.options().command) {
    case CommandName::kRun:
      return run_command(context);
    case CommandName::kVerify:
      return verify_command(context);
    case CommandName::kCompile:
      return compile_command(context);
    case CommandName::kInspect:
      return inspect_command(context);
    case CommandName::kExportVectors:
      return export_vectors_command(context);
    case CommandName::kGoldenInfo:
      return golden_info_command(context);
    case CommandName::kGoldenRun:
      return golden_run_command(context);
    case CommandName::kGoldenBench:
      return golden_bench_command(context);
    case CommandName::kDoctor:
      return doctor_command(context);
  }
  return ExitCode::kInternal;
}

ExitCode qsim_main(const std::vector<std::string>& argv) {
  const ParsedCommandLine parsed = parse_command_line(argv);
  InterruptWatch& interrupt = *new InterruptWatch;  // its thread outlives main
  Context context(parsed.options, argv, interrupt);
  if (parsed.text) {
    context.print(*parsed.text);
    return ExitCode::kOk;
  }
  context.require_outputs();
  return run(context);
}

int fail(ExitCode code, const std::string& message) {
  std::cerr << "qsim: " << message << std::endl;
  return static_cast<int>(code);
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  using qsim::ExitCode;
  using qsim::fail;
  try {
    return static_cast<int>(qsim::qsim_main(std::vector<std::string>(argv, argv + argc)));
  } catch (const qsim::Error& error) {
    return fail(error.code(), std::string("error: ") + error.what());
  } catch (const std::bad_alloc&) {
    return fail(ExitCode::kBadInput,
                "error: out of memory: the model, its batch or its input is too large here");
  } catch (const std::exception& error) {
    return fail(ExitCode::kInternal,
                std::string("internal error (please report it): ") + error.what());
  }
}
