// A random case as one file: the input's bytes, then the program's text with its segments.
#pragma once

#include <filesystem>

#include "tests/rtl/programs/program_generator.h"

namespace qsim {

// `found` says in words what differed, for people.
std::string reproducer_text(const RandomCase& made, const std::string& found);
// Throws Error with file and line for anything but such a text, and for an illegal program.
RandomCase read_reproducer(const std::filesystem::path& path);

}  // namespace qsim
