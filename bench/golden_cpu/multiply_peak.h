// The limit of every vector path: how fast this core multiplies int8, exactly, when nothing but
// the path's multiply-accumulate instructions happens.
#pragma once

#include <optional>
#include <string_view>

#include "golden/graph/cpu/graph_executor.h"

namespace qsim::bench {

// "vpmaddwd and vpaddd, 256 bits": the instructions of the limit.
std::string_view multiply_instructions(golden::VectorPath path);

// Multiply-accumulates per second of CPU time of a loop of these instructions between registers,
// independent of each other; the best of several trials. kAuto means the best path. Nothing where
// the processor lacks them.
std::optional<double> multiply_peak_macs_per_second(golden::VectorPath path);

}  // namespace qsim::bench
