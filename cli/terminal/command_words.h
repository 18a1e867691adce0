// Which command the words of a command line call, and the help on commands.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal/command.h"

namespace qsim::cli {

// What `qsim --help` prints, or `qsim golden --help` (the commands whose first word is `golden`),
// where `argv` asks for one of them: options of every command may come before it, anything after.
std::optional<std::string> help_on_commands(CommandTable commands,
                                            const std::vector<std::string>& argv);

// Whether a command's name begins with this word.
bool is_command_word(CommandTable commands, const std::string& word);

// The command that `argv` calls (the table's first when it names none), and the words left when its
// name is taken out. Only options of every command may come before the name. Throws Error (exit
// code 2) for a name that is not there, naming the nearest.
std::pair<const CommandRow*, std::vector<std::string>> split_command(
    CommandTable commands, const std::vector<std::string>& argv);

}  // namespace qsim::cli
