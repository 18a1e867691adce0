// The commands by name, and which of them a command line calls.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal/options.h"

namespace qsim {

struct CommandRow {
  CommandName command;
  const char* name;  // "run", "golden info"
  const char* description;
};

// What `qsim --help` prints, or `qsim golden --help` (the commands whose first word is `golden`),
// where `argv` asks for one of them: options of every command may come before it, anything after.
std::optional<std::string> help_on_commands(const std::vector<std::string>& argv);

// Whether a command's name begins with this word.
bool is_command_word(const std::string& word);

// The row that `argv` calls (run when it names none), and the words left when its name is taken
// out. Only options of every command may come before the name. Throws Error (exit code 2) for a
// name that is not there, naming the nearest.
std::pair<const CommandRow*, std::vector<std::string>> split_command(
    const std::vector<std::string>& argv);

}  // namespace qsim
