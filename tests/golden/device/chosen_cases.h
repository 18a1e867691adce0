// Which of a program's random cases run: all of them, those of --chosen, or, with --cover, all of
// them and a report of a few that launch the same kernels. A sanitizer, under which a case takes a
// hundred times as long, gets the few.
#pragma once

#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/base/error.h"

namespace qsim::golden_test {

// A case, what it was the first or another one to meet, and how long it took.
struct MetByCase {
  std::string name;
  std::set<std::size_t> met;
  double seconds = 0;
  double macs = 0;  // which cost a sanitizer more than anything else
};

// Names of cases that meet all that `cases` meet, in their order: those that meet the most for
// their cost first, none that the others make needless.
std::vector<std::string> covering_cases(const std::vector<MetByCase>& cases);

class ChosenCases {
 public:
  explicit ChosenCases(CLI::App& command);

  // Whether the case runs; if so, it ends where the next begins. `name` has no comma or blank.
  bool begin(const std::string& name);
  // Multiply-accumulates of the case that has begun.
  void add_work(double macs) { cases_.back().macs += macs; }
  // Whether every case runs, so that each kernel of a family must be met.
  bool all() const { return chosen_.empty(); }
  // With --cover or --chosen prints how many of the program's kernels were launched, and what the
  // option asks for. `result`, or kInternal where a chosen case was not there.
  ExitCode end(ExitCode result);

 private:
  void close_case();

  std::vector<std::string> chosen_;
  bool covers_ = false;
  std::vector<MetByCase> cases_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace qsim::golden_test
