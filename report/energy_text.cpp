#include "report/energy_text.h"

#include <cmath>

#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/machine/energy_table.h"
#include "report/text_table.h"

namespace qsim::report {
namespace {

constexpr double kEnergyScale = 1e6;    // pJ in a uJ
constexpr double kProductScale = 1e12;  // and cycles in a Mcycle

}  // namespace

std::string four_digits(double number) {
  constexpr double kMostDecimals = 999.95;  // from here on four digits have no decimal
  if (number >= kMostDecimals) {
    return with_thousands(static_cast<std::uint64_t>(std::llround(number)));
  }
  return number_text(number, "%.4g");
}

std::string energy_heading(const std::string& unit) {
  return unit == kPicojoules ? "energy uJ" : "energy (million)";
}

std::string energy_number(double energy) { return four_digits(energy / kEnergyScale); }

std::string energy_delay_heading(const std::string& unit) {
  return unit == kPicojoules ? "EDP uJ x Mcycle" : "EDP (million x Mcycle)";
}

std::string energy_delay_number(double product) { return four_digits(product / kProductScale); }

std::string energy_text(double energy, const std::string& unit) {
  return energy_number(energy) + (unit == kPicojoules ? " uJ" : " million x " + echoed(unit));
}

std::string energy_delay_text(double product, const std::string& unit) {
  return energy_delay_number(product) +
         (unit == kPicojoules ? " uJ" : " million x " + echoed(unit)) + " x Mcycle";
}

std::string energy_note(const std::string& unit) {
  if (unit == kPicojoules) return "";
  return "energy: in millions of the unit, which is " + echoed(unit) +
         "; EDP: energy x million cycles";
}

}  // namespace qsim::report
