// The commands by name, and which of them a command line calls.
#pragma once

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

// Of `qsim --help`.
std::string top_help();

// Of `qsim golden --help`: the commands whose first word is `golden`.
std::string golden_help();

// Whether a command's name begins with this word.
bool is_command_word(const std::string& word);

// The row that `argv` calls (run when it names none), and the words left when its name is taken
// out. Only options of every command can stand before the name. Throws Error (exit code 2) for a
// name that is not there, naming the nearest.
std::pair<const CommandRow*, std::vector<std::string>> split_command(
    const std::vector<std::string>& argv);

}  // namespace qsim
