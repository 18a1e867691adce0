// choose_winners(): the best point of each model, and why it is the best.
#include <algorithm>
#include <array>

#include "core/base/printable.h"
#include "report/energy_text.h"
#include "report/results/profile.h"
#include "report/text_table.h"

namespace qsim::report {
namespace {

constexpr std::size_t kLayersInReasons = 3;  // in the reasons
constexpr std::size_t kMostEqual = 4;        // points by name

// What ranks two points; the smaller value is better.
struct Criterion {
  double (*value)(const NetworkResult& point);
  const char* better;  // "moves fewer bytes of DRAM"
  std::string (*text)(const NetworkResult& point);
};

double of(std::optional<double> value) { return value.value_or(0); }

std::string text_of(const NetworkResult& point, Measure measure) {
  return measure_text(of(measured(point.total, measure)), measure, point.energy_unit);
}

template <Measure kMeasure>
constexpr Criterion criterion(const char* better) {
  return {[](const NetworkResult& point) { return of(measured(point.total, kMeasure)); }, better,
          [](const NetworkResult& point) { return text_of(point, kMeasure); }};
}

// What decides after the measure, in this order.
constexpr std::array<Criterion, 5> kTieBreaks = {{
    criterion<Measure::kCycles>("takes fewer cycles"),
    criterion<Measure::kDramBytes>("moves fewer bytes of DRAM"),
    criterion<Measure::kEnergy>("takes less energy"),
    {[](const NetworkResult& point) { return of(point.area_mm2); }, "has less area",
     [](const NetworkResult& point) { return four_digits(of(point.area_mm2)) + " mm2"; }},
    {[](const NetworkResult& point) { return static_cast<double>(point.pes); }, "has fewer PEs",
     [](const NetworkResult& point) { return with_thousands(point.pes); }},
}};

std::array<double, kTieBreaks.size() + 1> rank(const NetworkResult& point, Measure measure) {
  std::array<double, kTieBreaks.size() + 1> numbers{of(measured(point.total, measure))};
  for (std::size_t i = 0; i < kTieBreaks.size(); ++i) numbers[i + 1] = kTieBreaks[i].value(point);
  return numbers;
}

// The points of a model that ran, best first.
std::vector<std::size_t> ranked(const Profile& profile, const std::string& model) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < profile.points.size(); ++i) {
    if (profile.points[i].model == model && profile.points[i].ran()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rank(profile.points[a], profile.measure) < rank(profile.points[b], profile.measure);
  });
  return order;
}

// What tells a point from another: the parts of its label that the other does not have.
std::string name_beside(const NetworkResult& point, const NetworkResult& other) {
  std::string name = point.config == other.config ? "" : point.config;
  const auto add = [&name](const std::string& part) { name += (name.empty() ? "" : ", ") + part; };
  for (const FieldValue& value : point.set) {
    if (std::find(other.set.begin(), other.set.end(), value) != other.set.end()) continue;
    add(value.first + " " + set_text(value.second));
  }
  if (point.dataflow != other.dataflow) add(point.dataflow);
  return name.empty() ? point_label(point) : name;
}

std::string limit_sentence(const NetworkResult& best) {
  return "It is " + limit_text(best.total) + "; utilization " + percent(best.total.utilization) +
         ", " + megabytes(best.total.dram_bytes()) + " MB of DRAM.";
}

// "Equal in all of that: auto; array_rows 32, auto."
std::string equal_sentence(const Winner& winner, const Profile& profile) {
  const NetworkResult& best = profile.points[winner.point];
  std::string names;
  for (std::size_t i = 0; i < std::min(kMostEqual, winner.equal.size()); ++i) {
    names += (i > 0 ? "; " : "") + name_beside(profile.points[winner.equal[i]], best);
  }
  if (winner.equal.size() > kMostEqual) {
    names += "; and " + std::to_string(winner.equal.size() - kMostEqual) + " more";
  }
  return "As good in cycles, bytes of DRAM and all else that ranks them: " + names + ".";
}

// What decides between points of which the measure is equal.
std::string tie_sentence(const NetworkResult& best, const NetworkResult& next,
                         const PairNames& names) {
  for (const Criterion& criterion : kTieBreaks) {
    if (criterion.value(best) == criterion.value(next)) continue;
    return names.first + " " + criterion.better + ": " + criterion.text(best) + " against " +
           criterion.text(next) + ".";
  }
  return "";
}

// Why `best` is better than `next`, which is not equal to it.
void add_difference(Winner& winner, const NetworkResult& best, const NetworkResult& next,
                    Measure measure) {
  const double value = of(measured(best.total, measure));
  const double other = of(measured(next.total, measure));
  const PairNames names{name_beside(best, next), name_beside(next, best)};
  if (value == other) {
    winner.reasons.push_back("The same for " + names.first + " and " + names.second + ": " +
                             text_of(best, measure) + ". " + tie_sentence(best, next, names));
  } else {
    winner.reasons.push_back(
        text_of(best, measure) + ", " +
        compared_words(value, other, "", "the next best, " + names.second, measure) + " (" +
        text_of(next, measure) + ").");
  }
  winner.reasons.push_back(limit_sentence(best));
  const std::vector<std::string> words =
      difference_words(best, next, measure, names, kLayersInReasons);
  winner.reasons.insert(winner.reasons.end(), words.begin(), words.end());
}

// A winner is one of the points that were timed.
void add_memory_sentence(Winner& winner, const Profile& profile) {
  const auto lacking = std::ranges::count_if(profile.points, [&](const NetworkResult& point) {
    return point.lacks_memory && point.model == winner.model;
  });
  if (lacking == 0) return;
  winner.reasons.push_back("It is the best of those that had memory: " + std::to_string(lacking) +
                           (lacking == 1 ? " point had none, and might be better."
                                         : " points had none, and might be better."));
}

void add_reasons(Winner& winner, const Profile& profile, const std::vector<std::size_t>& order) {
  const NetworkResult& best = profile.points[winner.point];
  if (order.size() > winner.equal.size() + 1) {
    const NetworkResult& next = profile.points[order[winner.equal.size() + 1]];
    add_difference(winner, best, next, profile.measure);
  } else {
    const std::string which =
        winner.equal.empty() ? "It is the only one that ran" : "All that ran are equal";
    winner.reasons.push_back(which + ": " + text_of(best, profile.measure) + ".");
    winner.reasons.push_back(limit_sentence(best));
  }
  if (winner.equal.empty()) return;
  winner.reasons.insert(winner.reasons.begin() + 1, equal_sentence(winner, profile));
}

}  // namespace

void choose_winners(Profile& profile) {
  for (const std::string& model : models_of(profile)) {
    const std::vector<std::size_t> order = ranked(profile, model);
    if (order.empty()) continue;
    Winner winner{model, order.front(), {}, {}};
    const auto best = rank(profile.points[order.front()], profile.measure);
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (rank(profile.points[order[i]], profile.measure) != best) break;
      winner.equal.push_back(order[i]);
    }
    add_reasons(winner, profile, order);
    add_memory_sentence(winner, profile);
    profile.winners.push_back(std::move(winner));
  }
}

}  // namespace qsim::report
