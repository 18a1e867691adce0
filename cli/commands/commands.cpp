#include "cli/commands/commands.h"

namespace qsim::cli {

CommandTable commands() {
  static constexpr const CommandRow* kCommands[] = {
      &kRunCommand,           &kVerifyCommand,         &kExplainCommand,   &kProfileCommand,
      &kCompareCommand,       &kEvalCommand,           &kCompileCommand,   &kInspectCommand,
      &kExportVectorsCommand, &kSchemesCommand,        &kQuantizeCommand,  &kGoldenInfoCommand,
      &kGoldenRunCommand,     &kGoldenBenchCommand,    &kGoldenAbcCommand, &kGoldenConvertCommand,
      &kGoldenLinearCommand,  &kGoldenQuantizeCommand, &kDoctorCommand};
  return kCommands;
}

}  // namespace qsim::cli
