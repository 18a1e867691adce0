#include "report/conditions/condition_units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/base/words.h"
#include "core/machine/energy_table.h"

namespace qsim::report {
namespace {

constexpr ConditionDimension kEnergy{.energy = 1};
constexpr ConditionDimension kShare{.share = 1};

constexpr std::array<ConditionUnit, 7> kConditionUnits = {{
    {"pJ", 1, kEnergy, true},
    {"nJ", 1e3, kEnergy, true},
    {"uJ", 1e6, kEnergy, true},
    {"mJ", 1e9, kEnergy, true},
    {"J", 1e12, kEnergy, true},
    {"million", 1e6, kEnergy, false},
    {"%", 0.01, kShare, false},
}};

// The number in few digits; counts keep all of them.
std::string plain_text(double value) {
  const bool is_count = std::abs(value) < 0x1p53 && value == std::floor(value);
  return qsim::number_text(value, is_count ? "%.0f" : "%.9g");
}

bool is_constant(const ConditionNode& node) {
  if (node.kind == ConditionKind::kValue) return false;
  return std::ranges::all_of(node.parts, [](const auto& part) { return is_constant(*part); });
}

bool is_number(const ConditionNode& node, bool (*is)(double)) {
  return node.kind == ConditionKind::kNumber && is(node.number);
}

// What is wrong with a constant beside what has `dimension`; "" for nothing.
std::string wrong_unit(const ConditionNode& constant, const ConditionDimension& dimension) {
  if (constant.dimension == dimension) return "";
  if (is_number(constant, [](double number) { return number == 0; })) return "";
  if (constant.dimension != ConditionDimension{}) {
    return "its unit is not that of what it is added to or compared with";
  }
  if (dimension == kShare) {
    const bool is_share = !is_number(constant, [](double number) { return number > 1; });
    return is_share ? "" : "a share is at most 1; in percent it needs a %: 80%";
  }
  if (dimension.energy == 0) return "";
  const std::string cycles = dimension.delay == 0 ? "" : " x Mcycle";
  return "expected a unit after it, because the tables show uJ: 8000 uJ" + cycles +
         ", or pJ, nJ, mJ, J; of an energy table in another unit 8000 million" + cycles;
}

ConditionDimension product(const ConditionNode& node) {
  const ConditionDimension& a = node.parts[0]->dimension;
  const ConditionDimension& b = node.parts[1]->dimension;
  const int sign = node.op == "*" ? 1 : -1;
  return {a.energy + sign * b.energy, a.delay + sign * b.delay, 0};
}

}  // namespace

const ConditionUnit* condition_unit(std::string_view name) {
  const auto* const found = std::ranges::find(kConditionUnits, name, &ConditionUnit::name);
  return found == kConditionUnits.end() ? nullptr : found;
}

double cycles_of_unit(std::string_view name) {
  if (name == "cycle") return 1;
  return name == "Mcycle" ? 1e6 : 0;
}

ConditionDimension dimension_of_field(const std::string& field) {
  if (field == "energy") return kEnergy;
  if (field == "energy_delay") return {.energy = 1, .delay = 1};
  return field == "utilization" || field == "limiter_busy" ? kShare : ConditionDimension{};
}

void check_units(ConditionNode& node,
                 const std::function<void(std::size_t, const std::string&)>& fail) {
  for (const auto& part : node.parts) check_units(*part, fail);
  if (node.kind == ConditionKind::kValue) node.dimension = dimension_of_field(node.field);
  if (node.kind == ConditionKind::kNegate) node.dimension = node.parts[0]->dimension;
  if (node.kind == ConditionKind::kProduct) node.dimension = product(node);
  if (node.kind != ConditionKind::kSum && node.kind != ConditionKind::kComparison) return;
  const ConditionNode& left = *node.parts[0];
  const ConditionNode& right = *node.parts[1];
  node.dimension = is_constant(left) ? right.dimension : left.dimension;
  for (const auto& [constant, other] : {std::pair(&left, &right), std::pair(&right, &left)}) {
    if (!is_constant(*constant)) continue;
    const std::string reason = wrong_unit(*constant, other->dimension);
    if (!reason.empty()) fail(constant->begin, reason);
  }
}

std::string with_unit(double value, const ConditionDimension& dimension,
                      const std::string& energy_unit) {
  if (dimension.energy != 1 || dimension.delay < 0 || dimension.delay > 1) {
    return plain_text(value);
  }
  const bool has_delay = dimension.delay == 1;
  return plain_text(value / (has_delay ? 1e12 : 1e6)) +
         (energy_unit == kPicojoules ? " uJ" : " million") + (has_delay ? " x Mcycle" : "");
}

}  // namespace qsim::report
