// Figures: what the benchmarks measure, and the one form in which all of them report it, so that
// bench/run.py can keep and compare them (bench/README.md has the schema). For every figure less is
// better. A program prints figures as JSON, one a line, when --figures is among its arguments.
#pragma once

#include <string>
#include <vector>

namespace qsim::bench {

enum class Kind { kTime, kRatio, kMemory, kCount };

struct Figure {
  std::string name;  // where/what: words of letters, digits, '_', '.', '-', '+' with '/' between
  double value = 0;
  std::string unit;  // of kTime "s", of kMemory "bytes", of kRatio "1"
  Kind kind = Kind::kTime;
  int runs = 1;
  double lower_quartile = 0;
  double upper_quartile = 0;
};

// Removes --figures from the arguments; whether it was there.
bool take_figures_option(int& argc, char** argv);

// Median and quartiles of the samples, which must not be empty.
Figure median_figure(std::string name, std::vector<double> samples, std::string unit, Kind kind);
Figure time_figure(std::string name, std::vector<double> seconds);

// What every run gives alike.
Figure single_figure(std::string name, double value, std::string unit, Kind kind);
Figure count_figure(std::string name, double value, std::string unit);

// One line of JSON, without the newline. Throws InternalError for a name that is not well-formed or
// a value that is not finite.
std::string figure_json(const Figure& figure);

// The line on stdout, at once, so that an interrupted benchmark loses nothing that it measured.
void print_figure(const Figure& figure);

}  // namespace qsim::bench
