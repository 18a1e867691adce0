// The grammar of --fail-if. A condition compares numbers; numbers are fields of the total, of a
// layer, or of a results file.
//
//   condition  = both { "||" both }
//   both       = one { "&&" one }
//   one        = "!" one | ("any" | "all") "(" condition ")" | "(" condition ")" | comparison
//   comparison = sum ("<" | "<=" | ">" | ">=" | "==" | "!=") sum
//   sum        = product { ("+" | "-") product }
//   product    = factor { ("*" | "/") factor }
//   factor     = NUMBER [ unit ] | "-" factor | "(" sum ")" | value | FILE [ ":" value ]
//   unit       = "%" | ( "pJ" | "nJ" | "uJ" | "mJ" | "J" | "million" ) [ "x" ( "cycle" | "Mcycle" )
//   ] value      = FIELD | LAYER "." FIELD
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/results/network_result.h"

namespace qsim::report {

enum class ConditionKind : std::uint8_t {
  kNumber,
  kValue,    // a field of a layer or of the total; of `file`, if that is not empty
  kNegate,   // of numbers
  kSum,      // `op` + or -
  kProduct,  // `op` * or /
  kComparison,
  kNot,  // of conditions, as all that follow
  kAnd,
  kOr,
  kAny,  // over layers
  kAll,
};

// The powers of what a number is in: energy, the delay of an energy-delay product, a share of 1.
struct ConditionDimension {
  int energy = 0;
  int delay = 0;
  int share = 0;

  bool operator==(const ConditionDimension&) const = default;
};

struct ConditionNode {
  ConditionKind kind = ConditionKind::kNumber;
  std::string op;
  double number = 0;  // in the unit of a field
  ConditionDimension dimension;
  bool is_of_joules = false;  // of kNumber: it has such a unit
  std::string field;
  std::string layer;  // "": the total, or inside any() and all() each layer
  std::string file;
  std::vector<std::unique_ptr<ConditionNode>> parts;
  std::size_t begin = 0;  // in the text
  std::size_t end = 0;
};

// The fields that a condition can name: a result's total and layers have the first ones, the whole
// network the others.
std::vector<std::string> condition_fields();
// Whether only the whole network has the field, and layers do not.
bool is_network_field(const std::string& field);
// Whether the field is known only with a table of energies.
bool needs_energy_table(const std::string& field);
// The value of a field of `layer`, which may be the total. Absent for what the result does not
// have.
std::optional<double> condition_value(const NetworkResult& result, const ResultLayer& layer,
                                      const std::string& field);

// Throws Error (exit code 2): what is wrong, in which column of `text`, and what is expected.
std::unique_ptr<ConditionNode> parse_condition(const std::string& text);

}  // namespace qsim::report
