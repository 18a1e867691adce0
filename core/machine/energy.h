// Energy = events x table, by component. No leakage, clock tree or control:
// docs/reference/energy.md says what is not modelled.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/machine/energy_events.h"
#include "core/machine/energy_table.h"

namespace qsim {

// Energy of an SRAM access by size, through the table's published points: energy per bit =
// scale * kib ^ exponent, by least squares of log(energy / bits) over log(kib). One size alone
// gives exponent 0.
struct SramRule {
  double scale = 0;  // per bit, at 1 KiB
  double exponent = 0;

  double per_bit(double kib) const;
};

// `points` has at least one entry of positive numbers.
SramRule sram_rule(const std::vector<SramPoint>& points);

enum class EnergyPart : std::uint8_t {
  kMacs,
  kHops,
  kAdds,
  kActivation,
  kWeight,
  kAccumulator,
  kOutput,
  kParameter,
  kDramRead,
  kDramWrite
};
inline constexpr std::size_t kEnergyParts = 10;
inline constexpr std::array<std::string_view, kEnergyParts> kEnergyPartNames = {
    "macs",        "array_registers", "adds",       "activations", "weights",
    "accumulator", "outputs",         "parameters", "dram_read",   "dram_write"};

// By EnergyPart, in the table's unit; absent where the table has no number for the part.
struct Energy {
  std::array<std::optional<double>, kEnergyParts> parts{};

  double total() const;  // of the parts that are there
};

// The accumulator's size is that of one of its halves, each of which is an SRAM of its own.
Energy energy(const EnergyEvents& events, const EnergyTable& table, const ArchConfig& arch);

// The total, in the table's unit: what the mapper makes least (compiler/lowering/mapping_value.h).
double total_energy(const EnergyEvents& events, const EnergyTable& table, const ArchConfig& arch);

}  // namespace qsim
