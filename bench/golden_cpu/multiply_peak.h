// The limit that a golden forward pass is held against: how fast this core multiplies int8 when
// nothing but multiplying happens.
#pragma once

#include <optional>

namespace qsim {

// Multiply-accumulates per second of CPU time of a loop of independent 512-bit vpdpbusd between
// registers, the best of several trials. Nothing where the processor lacks AVX-512 VNNI.
std::optional<double> vnni_peak_macs_per_second();

}  // namespace qsim
