// The energy of each kind of event and the area of each kind of cell, as read from
// configs/energy/*.yaml. Plain numbers; their sources are in the files. core/machine/energy.h
// multiplies them with counts of events, core/machine/area.h with counts of cells.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace qsim {

// A published point: an SRAM of that size takes `energy` for an access of `bits`.
struct SramPoint {
  double kib = 0;
  double energy = 0;
  double bits = 0;
  bool operator==(const SramPoint&) const = default;
};

// An operation of another number format, for comparisons: no part of a run's energy.
struct NamedEnergy {
  std::string name;
  double energy = 0;
  bool operator==(const NamedEnergy&) const = default;
};

// Areas of cells, in um2.
struct AreaTable {
  double gate = 0;  // of two inputs
  double flip_flop = 0;
  double sram_bit = 0;
  bool operator==(const AreaTable&) const = default;
};

// Energies in `unit`. What is absent has no published number: it is left out of every sum.
struct EnergyTable {
  std::string name;
  std::string unit;             // "pJ", or in words what is 1
  double mac = 0;               // one multiply-accumulate of a PE
  std::optional<double> add;    // one int32 add outside the array
  std::optional<double> hop;    // one bit into the next register of the array
  std::vector<SramPoint> sram;  // at least one
  double dram = 0;              // one bit read or written
  std::vector<NamedEnergy> operations;
  std::optional<AreaTable> area = std::nullopt;
  bool operator==(const EnergyTable&) const = default;
};

inline constexpr const char* kPicojoules = "pJ";

}  // namespace qsim
