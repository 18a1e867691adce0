#include "report/conditions/condition.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "core/base/nearest_name.h"
#include "core/base/printable.h"
#include "core/machine/energy_table.h"
#include "report/conditions/condition_parser.h"
#include "report/conditions/condition_units.h"

namespace qsim::report {
namespace {

bool compares(const std::string& op, double left, double right) {
  if (op == "<") return left < right;
  if (op == "<=") return left <= right;
  if (op == ">") return left > right;
  if (op == ">=") return left >= right;
  return (left == right) == (op == "==");
}

// The value of a condition for one result.
class Evaluation {
 public:
  Evaluation(const std::string& text, const NetworkResult& result, const BasePoints& base)
      : text_(text), result_(result), base_(base) {}

  bool holds(const ConditionNode& node) {
    switch (node.kind) {
      case ConditionKind::kNot:
        return !holds(*node.parts[0]);
      case ConditionKind::kAnd:
        return holds(*node.parts[0]) && holds(*node.parts[1]);
      case ConditionKind::kOr:
        return holds(*node.parts[0]) || holds(*node.parts[1]);
      case ConditionKind::kAny:
      case ConditionKind::kAll:
        return over_layers(node);
      default:
        return comparison(node);
    }
  }

  // The sides of the comparison that was made last, and its layer.
  const std::string& sides() const { return sides_; }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw_bad_input("--fail-if '" + echoed(text_) + "': " + message);
  }

  bool over_layers(const ConditionNode& node) {
    const bool is_any = node.kind == ConditionKind::kAny;
    for (const ResultLayer& layer : result_.layers) {
      of_layer_ = layer.name;
      const bool is_true = holds(*node.parts[0]);
      of_layer_.clear();
      if (is_true == is_any) return is_any;
    }
    return !is_any;
  }

  // A unit of joules says nothing of an energy in another unit.
  void require_joules() const {
    if (!names_joules_ || energy_unit_.empty() || energy_unit_ == kPicojoules) return;
    fail("the energies are in " + echoed(energy_unit_) +
         "; give numbers in millions of it: 8000 million");
  }

  bool comparison(const ConditionNode& node) {
    names_joules_ = false;
    const double left = number(*node.parts[0]);
    const double right = number(*node.parts[1]);
    require_joules();
    sides_ = (of_layer_.empty() ? "" : "in " + echoed(of_layer_) + " ") +
             side(*node.parts[0], left) + ", compared with " + side(*node.parts[1], right);
    return compares(node.op, left, right);
  }

  std::string side(const ConditionNode& node, double value) const {
    std::string words = echoed(std::string_view(text_).substr(node.begin, node.end - node.begin));
    while (words.ends_with(' ')) words.pop_back();
    return node.kind == ConditionKind::kNumber
               ? words
               : words + " = " + with_unit(value, node.dimension, energy_unit_);
  }

  double number(const ConditionNode& node) {
    if (node.kind == ConditionKind::kNumber) {
      names_joules_ = names_joules_ || node.is_of_joules;
      return node.number;
    }
    if (node.kind == ConditionKind::kValue) return value(node);
    const double left = number(*node.parts[0]);
    if (node.kind == ConditionKind::kNegate) return -left;
    const double right = number(*node.parts[1]);
    if (node.op == "+") return left + right;
    if (node.op == "-") return left - right;
    if (node.op == "*") return left * right;
    if (right == 0) fail("column " + std::to_string(node.begin + 1) + " divides by 0");
    return left / right;
  }

  double value(const ConditionNode& node) {
    const NetworkResult& result = node.file.empty() ? result_ : result_of(node.file);
    const std::string& name = of_layer_.empty() ? node.layer : of_layer_;
    const std::string whose = node.file.empty() ? full_label(result) : node.file;
    if (!node.file.empty()) require_comparable(node.file, result, node.field);
    const ResultLayer& layer = name.empty() ? result.total : layer_of(result, name, whose);
    const std::optional<double> number = condition_value(result, layer, node.field);
    if (!number) fail_without(node.field, echoed(whose));
    if (node.dimension.energy != 0) energy_unit_ = result.energy_unit;
    return *number;
  }

  [[noreturn]] void fail_without(const std::string& field, const std::string& whose) const {
    if (field == "tops_per_watt") {
      fail(whose + " has no tops_per_watt; give --energy with a table in pJ");
    }
    if (field == "area_mm2") {
      fail(whose + " has no area_mm2; give --energy with a table that has areas");
    }
    if (field == "simulated_seconds")
      fail(whose + " has no simulated_seconds; make the file again");
    fail(whose + " has no energy; give --energy");
  }

  const ResultLayer& layer_of(const NetworkResult& result, const std::string& name,
                              const std::string& whose) const {
    const LayerIndex& layers = layers_.try_emplace(&result, result.layers).first->second;
    if (const ResultLayer* layer = layers.find(name)) return *layer;
    std::vector<std::string_view> names;
    for (const ResultLayer& layer : result.layers) names.push_back(layer.name);
    fail(echoed(whose) + " has no layer '" + echoed(name) + "'; it has " +
         nearest_names(name, names));
  }

  // What the file has of the same point is of the same work; a run of another point is what the
  // user asks for. An energy is by the same table.
  void require_comparable(const std::string& name, const NetworkResult& point,
                          const std::string& field) const {
    if (same_point(point, result_) && point.total.macs != result_.total.macs) {
      fail(echoed(name) + " has " + std::to_string(point.total.macs) + " MACs for " +
           echoed(full_label(result_)) + ", this has " + std::to_string(result_.total.macs) +
           "; it is of another --batch or of another model of that name");
    }
    if (needs_energy_table(field) && point.energy_table != result_.energy_table) {
      fail(echoed(name) + " has energies by the table '" + echoed(point.energy_table) +
           "', this by '" + echoed(result_.energy_table) + "'; give the same --energy");
    }
  }

  const NetworkResult& result_of(const std::string& name) const {
    const auto [file, points] = base_.find(name);
    QSIM_CHECK(file != nullptr, "file '" + name + "' is not loaded");
    if (file->is_run) return file->results.front();
    const NetworkResult* point = points->find(result_);
    if (point == nullptr) {
      fail(echoed(name) + " has no result of " + echoed(full_label(result_)) + "; it has " +
           nearest_results(full_label(result_), file->results));
    }
    if (!point->ran()) {
      fail(echoed(name) + " has no values of " + echoed(full_label(result_)) +
           ", which did not run there");
    }
    return *point;
  }

  const std::string& text_;
  const NetworkResult& result_;
  const BasePoints& base_;
  mutable std::map<const NetworkResult*, LayerIndex> layers_;  // of results that were asked
  std::string of_layer_;                                       // inside any() and all()
  std::string sides_;
  std::string energy_unit_;    // of the energies of the comparison
  bool names_joules_ = false;  // a number of the comparison does
};

}  // namespace

BasePoints::BasePoints(const std::vector<ResultsFile>& files) {
  for (const ResultsFile& file : files) {
    files_.emplace(file.name, std::pair(&file, PointIndex(file.results)));
  }
}

std::pair<const ResultsFile*, const PointIndex*> BasePoints::find(const std::string& file) const {
  const auto found = files_.find(file);
  if (found == files_.end()) return {nullptr, nullptr};
  return {found->second.first, &found->second.second};
}

Condition::Condition(const std::string& text) : text_(text), root_(parse_condition(text)) {}

std::vector<std::string> Condition::files() const {
  std::vector<std::string> names;
  const std::function<void(const ConditionNode&)> visit = [&](const ConditionNode& node) {
    const bool is_new = std::find(names.begin(), names.end(), node.file) == names.end();
    if (!node.file.empty() && is_new) names.push_back(node.file);
    for (const auto& part : node.parts) visit(*part);
  };
  visit(*root_);
  return names;
}

bool Condition::uses_energy() const {
  const std::function<bool(const ConditionNode&)> visit = [&](const ConditionNode& node) {
    if (node.kind == ConditionKind::kValue && node.file.empty()) {
      return needs_energy_table(node.field);
    }
    return std::any_of(node.parts.begin(), node.parts.end(),
                       [&](const auto& part) { return visit(*part); });
  };
  return visit(*root_);
}

std::string Condition::violation(const NetworkResult& result,
                                 const std::vector<ResultsFile>& base) const {
  return violation_among(result, BasePoints(base));
}

std::string Condition::violation_among(const NetworkResult& result, const BasePoints& base) const {
  Evaluation evaluation(text_, result, base);
  return evaluation.holds(*root_) ? evaluation.sides() : "";
}

void require_conditions(const std::vector<Condition>& conditions,
                        const std::vector<NetworkResult>& results,
                        const std::vector<ResultsFile>& base) {
  const BasePoints points(base);
  std::string first;
  std::string details;
  const auto add = [&](const std::string& line) {
    if (first.empty()) {
      first = line;
    } else {
      details += (details.empty() ? "" : "\n") + line;
    }
  };
  for (const Condition& condition : conditions) {
    const std::string start = "--fail-if '" + echoed(condition.text()) + "' ";
    for (const NetworkResult& result : results) {
      const std::string label = echoed(full_label(result));
      if (!result.ran()) {
        add(start + "has no value for " + label + ", which does not run");
        continue;
      }
      const std::string sides = condition.violation_among(result, points);
      if (!sides.empty()) add(start + "is true for " + label + ": " + sides);
    }
  }
  if (!first.empty()) throw Error(ExitCode::kRequirementMissed, first, details);
}

}  // namespace qsim::report
