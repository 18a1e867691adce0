// One slot of the parameter memory: bias and scale of each output channel of a column block, with
// the same bytes in DRAM. commands.h has the bits (LOAD, memory 2); here they are written and read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"
#include "core/numerics/requantizer.h"

namespace qsim {

struct ChannelParameters {
  std::int32_t bias = 0;
  Requantizer requantizer;  // of its rounding, which is POST's, the block holds nothing

  friend bool operator==(const ChannelParameters&, const ChannelParameters&) = default;
};

// The parameters of channel `column` in a block of arch.param_block_bytes() bytes. Writing: a
// machine that shifts takes requantizer_of_shift() alone. Reading takes any bytes: unused bits are
// ignored, and a multiplier below kLeastMultiplier multiplies as it is.
void write_channel(std::span<std::byte> block, const ArchConfig& arch, std::int64_t column,
                   const ChannelParameters& parameters);
ChannelParameters read_channel(std::span<const std::byte> block, const ArchConfig& arch,
                               std::int64_t column, RequantizerRounding rounding);

// How many roundings POST has: kFloat32, the last one, needs `requantizer: dyadic`.
inline int post_roundings(const ArchConfig& arch) {
  return arch.is_dyadic() ? kAcceleratorRequantizerRoundings : kAcceleratorRoundingModes;
}

// Why POST's `rounding`, `add` or `lookup` cannot be on this machine; "" where it can.
std::string rounding_fault(std::uint32_t rounding, const ArchConfig& arch);
std::string add_fault(const Post& post, const ArchConfig& arch);
std::string lookup_fault(const Post& post, const ArchConfig& arch);

}  // namespace qsim
