// The words that a shape reads when its address is 0.
#pragma once

#include <vector>

#include "compiler/verifier/command_ranges.h"
#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"

namespace qsim {

// The words of scratchpads and buffers that a command reads and writes, as the verifier sees them.
compiler::verifier::LocalAccess local_access(const Command& command, const ArchConfig& arch);

// Words [begin, end).
struct WordSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

// Activation words of an EXECUTE, accumulator words of a POST; none when it sees nothing but pad.
std::vector<WordSpan> words_of(const Execute& execute, const ArchConfig& arch);
std::vector<WordSpan> words_of(const Post& post, const ArchConfig& arch);

// The psum words of an EXECUTE, counted from acc_addr, that the accumulator sees first and last:
// output_stationary drains a group of pixels from its last to its first.
bool drains_backwards(const Execute& execute);
std::int64_t first_psum(const Execute& execute, const ArchConfig& arch);
std::int64_t last_psum(const Execute& execute, const ArchConfig& arch);

// The span from the first to the last of them; empty for none.
WordSpan span_of(const std::vector<WordSpan>& spans);

}  // namespace qsim
