// What verify() checks besides command_ranges.h, each part in a source of its own.
#pragma once

#include "compiler/verifier/token_order.h"

namespace qsim::compiler::verifier {

// Each command's fields by themselves: every value must have a meaning. Every value fits its bits,
// since a program cannot hold one that does not.
void check_fields(const Program& program, Violations& violations);

// Where the regions of DRAM are: input and ofmaps within the writable area, segments beyond it.
// Whether tensors may share bytes is a question of their commands: check_dram().
void check_regions(const Program& program, Violations& violations);

// The addresses of each transfer by itself: addresses and strides are multiples of a beat, and fit
// 32 bits.
void check_alignment(const Program& program, Violations& violations);

// What LOADs and STOREs do to the regions: transfers stay inside them, every element of every ofmap
// is stored exactly once, no LOAD overtakes the STOREs of what it reads, and where tensors share
// bytes, no STORE overtakes the LOADs of what it overwrites. Precondition: check_regions() and
// check_fields() found nothing.
void check_dram(const Program& program, const TokenOrder& order, Violations& violations);

// On-chip words in the order that the tokens guarantee: every read sees the write it is meant to
// see, no write overtakes a read, and nothing that was written is lost.
void check_hazards(const Program& program, const TokenOrder& order, Violations& violations);

}  // namespace qsim::compiler::verifier
