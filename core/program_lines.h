// What the lines of a program's text hold, each as the noun that it describes. The order of the
// lines is program_parser.cpp's. All throw Error with the line, what was found and what is
// expected.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/program.h"
#include "core/text_line.h"

namespace qsim {

using Semaphores = decltype(Program::semaphores);

// The line `input`; the tensor must lie within the writable area: engines rely on it.
DramTensor input_of(const TextLine& line, std::int64_t writable_bytes);
TapPacking taps_of(const TextLine& line);
// The line `layer`, which must be that of layer `number`.
ProgramLayer layer_of(const TextLine& line, std::int64_t number, std::int64_t writable_bytes);

// The keys that a command of this unit may have, which the caller checks: once made, for a stream.
std::vector<std::string_view> instruction_keys(Unit unit);
Instruction instruction_of(const TextLine& line, Unit unit, const Semaphores& semaphores);

}  // namespace qsim
