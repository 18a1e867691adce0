// From a configuration to the parameters of the hardware (docs/reference/rtl.md): the one place
// that maps them. DRAM latency, clock and slots are not parameters of the hardware.
#pragma once

#include <string>
#include <vector>

#include "core/machine/arch_config.h"
#include "rtl/engine/core_abi.h"

namespace qsim::rtl {

RtlParameters rtl_parameters(const ArchConfig& arch);

// "ArrayRows=16", ...: every parameter of qsim_accelerator.
std::vector<std::string> rtl_parameter_texts(const RtlParameters& parameters);

// "BusBytes=16 (wanted 4), ...": where two sets part; "" where they do not.
std::string rtl_parameter_difference(const RtlParameters& found, const RtlParameters& wanted);

}  // namespace qsim::rtl
