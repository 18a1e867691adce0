// A Program as text: one command a line, every field by name, DRAM segments in hexadecimal.
// parse(print(p)) == p for every program; docs/reference/files.md defines the form.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "core/machine/program.h"

namespace qsim {

// One command, without a newline: "load wait=act_free signal=act_ready memory=0 dram_addr=..."
std::string command_text(const Program& program, const Command& command);

// How messages name a command: "execute command 12 (conv2 tile 3, n 0..1, ...)".
std::string command_label(const Program& program, Unit unit, std::size_t index);

void print_program(const Program& program, std::ostream& out);
// Throws Error with `source` (a file name), line and column, what was found and what is expected.
Program parse_program(std::string_view text, const std::string& source);

}  // namespace qsim
