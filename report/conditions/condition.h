// --fail-if: conditions on results, for people's own CI: `cycles > 1.01 * base.json`.
// docs/reference/cli.md has the grammar.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/results/result_index.h"
#include "report/results/result_json.h"

namespace qsim::report {

struct ConditionNode;  // report/conditions/condition_parser.h

// The results that conditions compare with, by file and point. The files outlive it.
class BasePoints {
 public:
  explicit BasePoints(const std::vector<ResultsFile>& files);

  // Null for a file that is not there.
  std::pair<const ResultsFile*, const PointIndex*> find(const std::string& file) const;

 private:
  std::map<std::string, std::pair<const ResultsFile*, PointIndex>> files_;
};

// A condition that is parsed. A copy shares it.
class Condition {
 public:
  // Throws Error (exit code 2) with the column for what is not a condition.
  explicit Condition(const std::string& text);

  const std::string& text() const { return text_; }
  // The files of results that it compares with, each once.
  std::vector<std::string> files() const;
  // Whether it names energy or area of the result that it is about; those of a file do not count.
  bool uses_energy() const;

  // What makes the condition true for `result`: "cycles is 67799403; 1.01 * base.json is 66000000".
  // "" where it is false. `base` has a file of each name of files(). A profile's point that is the
  // same as `result` counts (same_point); a run counts as it is. Throws Error (exit code 3) for a
  // layer, point or energy that is not there, and for 0 / 0.
  std::string violation(const NetworkResult& result, const std::vector<ResultsFile>& base) const;
  // The same for files that are indexed once, for many results.
  std::string violation_among(const NetworkResult& result, const BasePoints& base) const;

 private:
  std::string text_;
  std::shared_ptr<const ConditionNode> root_;
};

// Throws Error (exit code 6) naming every result that makes a condition true.
void require_conditions(const std::vector<Condition>& conditions,
                        const std::vector<NetworkResult>& results,
                        const std::vector<ResultsFile>& base);

}  // namespace qsim::report
