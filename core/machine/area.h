// What the accelerator is made of: gates, flip-flops and SRAM bits by part, and their area. Gates
// and flip-flops by a law that is fitted to Yosys's counts of our RTL (rtl/yosys/area.csv), SRAM
// bits exactly. No wires, placement, clock tree or pads: docs/reference/energy.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/machine/arch_config.h"
#include "core/machine/energy_table.h"

namespace qsim {

enum class AreaPart : std::uint8_t {
  kPes,         // multipliers, adders and registers of the PEs
  kArrayEdges,  // skews, lanes and the realignment of psums
  kOperands,    // between the scratchpads and the array, with the array's flags
  kPsumAdders,  // from the array into the accumulator
  kPost,        // requantization, pooling, and the parameters, which are flip-flops
  kDma,         // the load and the store unit
  kControl,     // sequencers of EXECUTE, semaphores, the start of commands
  kQueues,      // queues of commands and bursts, and psum addresses on their way
  kActivations,
  kWeights,
  kAccumulator,
  kOutputs
};
inline constexpr std::size_t kAreaParts = 12;
inline constexpr std::size_t kLogicParts = 7;  // the first ones, of gates and flip-flops alone
inline constexpr std::array<std::string_view, kAreaParts> kAreaPartNames = {
    "pes",     "array_edges", "operands",    "psum_adders", "post",        "dma",
    "control", "queues",      "activations", "weights",     "accumulator", "outputs"};

struct CellCounts {
  std::int64_t gates = 0;  // AND, OR, XOR, MUX and NOT
  std::int64_t flip_flops = 0;
  std::int64_t sram_bits = 0;

  CellCounts& operator+=(const CellCounts& other);
  bool operator==(const CellCounts&) const = default;
};

// The cells by AreaPart. The RTL is built for all three dataflows.
struct AreaReport {
  std::array<CellCounts, kAreaParts> parts{};
  std::string outside;  // what of the configuration is beyond the measured ones, in words; or empty

  const CellCounts& operator[](AreaPart part) const {
    return parts[static_cast<std::size_t>(part)];
  }
  CellCounts total() const;
};

// `arch` is valid. Counts are rounded to whole cells.
AreaReport area_of(const ArchConfig& arch);

// Each cell times its area.
double mm2(const CellCounts& counts, const AreaTable& table);
double total_mm2(const AreaReport& area, const AreaTable& table);

}  // namespace qsim
