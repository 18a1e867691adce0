// The command line: words to a command with its options.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/command.h"

namespace qsim::cli {

// What parsing came to: steps to run, or text to print (--help, --version) and leave.
struct ParsedCommandLine {
  std::unique_ptr<Declarations> declared;  // with what was given
  Steps steps;
  std::optional<std::string> text;
};

// Throws Error (exit code 2) for an unknown command or option (naming the nearest right one), a
// missing or malformed value, or options that exclude each other.
ParsedCommandLine parse_command_line(CommandTable commands, const std::vector<std::string>& argv);

}  // namespace qsim::cli
