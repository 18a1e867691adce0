// Units in --fail-if: the tables show energies in uJ and shares in percent, and the fields are pJ
// and shares of 1. So a number beside an energy says its unit, and nobody compares 8000 pJ who
// reads 8000 uJ.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "report/conditions/condition_parser.h"

namespace qsim::report {

struct ConditionUnit {
  std::string_view name;
  double factor = 1;  // of the number before it, to the unit of the field
  ConditionDimension dimension;
  bool is_of_joules = false;  // else of the energy table's own unit, or of none
};

// Null for any other word.
const ConditionUnit* condition_unit(std::string_view name);
// What "x cycle" and "x Mcycle" multiply the unit before them by; 0 for any other word.
double cycles_of_unit(std::string_view name);

ConditionDimension dimension_of_field(const std::string& field);

// Sets the dimension of every part of a comparison, whose values all have fields. Calls
// fail(column, reason) for a constant whose unit is not that of what it is added to or compared
// with. 0 needs no unit, nor does a share up to 1.
void check_units(ConditionNode& comparison,
                 const std::function<void(std::size_t at, const std::string& reason)>& fail);

// The value with its unit as the tables show it: " uJ" of an energy table in pJ.
std::string with_unit(double value, const ConditionDimension& dimension,
                      const std::string& energy_unit);

}  // namespace qsim::report
