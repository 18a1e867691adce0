// A random valid network and a random valid accelerator out of an input's bytes: shapes, windows
// and modes each from a byte of their own, tensors from seeds.
#pragma once

#include <optional>

#include "core/machine/arch_config.h"
#include "core/network/graph.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

// Valid, 4 to 16 rows and columns, memories of a few KiB; nothing when the sizes drawn do not fit
// one another.
std::optional<ArchConfig> arch_from(ByteSource& bytes);

// One to six layers, at most some 50,000 MACs, over all that core/network/graph.h allows: more than
// the compiler takes. Valid.
Graph graph_from(ByteSource& bytes);

// The graph's input.
Tensor input_from(ByteSource& bytes, const Value& value);

}  // namespace qsim::fuzz
