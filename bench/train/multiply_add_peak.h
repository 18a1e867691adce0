// The limit of the float executor's vector paths: how fast this core multiplies and adds float32
// when nothing but the path's fused multiply-adds happens.
#pragma once

#include <optional>
#include <string_view>

#include "golden/common/vector_path.h"

namespace qsim::bench {

// "vfmadd231ps, 512 bits"; empty for a path without a limit.
std::string_view multiply_add_instruction(golden::VectorPath path);

// Multiply-adds per second of CPU time of a loop of this instruction between registers, independent
// of each other; the best of several trials. Nothing where the processor lacks it.
std::optional<double> multiply_add_peak(golden::VectorPath path);

}  // namespace qsim::bench
