// What each command does to the memories: the pseudo-code of core/machine/isa/commands.h as plain
// code. Throws Error when a command leaves a memory; the caller adds which command it was.
#pragma once

#include "sim/interpreter/machine.h"

namespace qsim::sim::interpreter {

void apply(const Load& load, Machine& machine);
void apply(const Execute& execute, Machine& machine);
void apply(const Post& post, Machine& machine);
void apply(const Store& store, Machine& machine);

// Throws Error unless words [first, first + count) lie within the `words` words of `memory`.
void check_words(const char* memory, std::int64_t first, std::int64_t count, std::int64_t words);

// The largest position 0 <= o * stride + k + origin < size with o < outputs, k < kernel, that is
// the last resident row or column that a window slides over; -1 when there is none.
std::int64_t last_position(std::int64_t outputs, std::int64_t kernel, std::int64_t stride,
                           std::int64_t origin, std::int64_t size);

}  // namespace qsim::sim::interpreter
