#include "bench/common/figures.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "core/base/error.h"

namespace qsim::bench {
namespace {

constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+/";

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kTime:
      return "time";
    case Kind::kRatio:
      return "ratio";
    case Kind::kMemory:
      return "memory";
    case Kind::kCount:
      return "count";
  }
  throw InternalError("a kind of figure without a name");
}

// The shortest text that reads back as the same number.
std::string number(const Figure& figure, double value) {
  QSIM_CHECK(std::isfinite(value), "figure " + figure.name + " is not finite");
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  QSIM_CHECK(error == std::errc(), "figure " + figure.name + " has too long a number");
  return {text.data(), end};
}

}  // namespace

bool take_figures_option(int& argc, char** argv) {
  char** const end = std::remove_if(argv + 1, argv + argc, [](const char* argument) {
    return std::string_view(argument) == "--figures";
  });
  const bool found = end != argv + argc;
  argc = static_cast<int>(end - argv);
  return found;
}

Figure median_figure(std::string name, std::vector<double> samples, std::string unit, Kind kind) {
  QSIM_CHECK(!samples.empty(), "figure " + name + " has no samples");
  std::sort(samples.begin(), samples.end());
  const std::size_t last = samples.size() - 1;
  return {std::move(name),
          samples[samples.size() / 2],
          std::move(unit),
          kind,
          static_cast<int>(samples.size()),
          samples[last / 4],
          samples[last - last / 4]};
}

Figure time_figure(std::string name, std::vector<double> seconds) {
  return median_figure(std::move(name), std::move(seconds), "s", Kind::kTime);
}

Figure single_figure(std::string name, double value, std::string unit, Kind kind) {
  return median_figure(std::move(name), {value}, std::move(unit), kind);
}

Figure count_figure(std::string name, double value, std::string unit) {
  return single_figure(std::move(name), value, std::move(unit), Kind::kCount);
}

std::string figure_json(const Figure& figure) {
  QSIM_CHECK(
      !figure.name.empty() && figure.name.find_first_not_of(kNameCharacters) == std::string::npos,
      "a figure is called '" + figure.name + "'");
  return "{\"name\": \"" + figure.name + "\", \"value\": " + number(figure, figure.value) +
         ", \"unit\": \"" + figure.unit + "\", \"kind\": \"" + kind_name(figure.kind) +
         "\", \"runs\": " + std::to_string(figure.runs) + ", \"spread\": [" +
         number(figure, figure.lower_quartile) + ", " + number(figure, figure.upper_quartile) +
         "]}";
}

void print_figure(const Figure& figure) {
  std::printf("%s\n", figure_json(figure).c_str());
  std::fflush(stdout);
}

}  // namespace qsim::bench
