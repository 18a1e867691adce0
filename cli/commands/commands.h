// The commands, one file each: its options, its steps, its text. A run returns the exit code and
// throws Error for what the user can mend.
#pragma once

#include "cli/terminal/command.h"

namespace qsim::cli {

// The table: in the order of `qsim --help`; the first is what runs when none is named.
CommandTable commands();

extern const CommandRow kRunCommand;
extern const CommandRow kVerifyCommand;
extern const CommandRow kExplainCommand;
extern const CommandRow kProfileCommand;
extern const CommandRow kCompareCommand;
extern const CommandRow kEvalCommand;
extern const CommandRow kCompileCommand;
extern const CommandRow kInspectCommand;
extern const CommandRow kExportVectorsCommand;
extern const CommandRow kSchemesCommand;
extern const CommandRow kQuantizeCommand;
extern const CommandRow kGoldenInfoCommand;
extern const CommandRow kGoldenRunCommand;
extern const CommandRow kGoldenBenchCommand;
extern const CommandRow kGoldenAbcCommand;
extern const CommandRow kGoldenConvertCommand;
extern const CommandRow kGoldenLinearCommand;
extern const CommandRow kGoldenQuantizeCommand;
extern const CommandRow kDoctorCommand;

}  // namespace qsim::cli
