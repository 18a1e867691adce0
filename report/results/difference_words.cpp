#include "report/results/difference_words.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/printable.h"
#include "report/energy_text.h"
#include "report/results/result_index.h"
#include "report/text_table.h"

namespace qsim::report {
namespace {

// Below this part of both, a difference of bytes explains nothing.
constexpr double kTellingShare = 0.01;

// What a part of the critical path is, by PathPart.
constexpr std::array<const char*, kPathParts> kPartWords = {"pixels in the array",
                                                            "bubbles of the array",
                                                            "loads of weights",
                                                            "loads of activations",
                                                            "loads of parameters",
                                                            "stores",
                                                            "POSTs, which requantize,",
                                                            "waits for the latency of DRAM",
                                                            "waits for the array to fill and empty",
                                                            "waits for the pipeline of POST"};

// The longest wait of a path that is mostly waits.
std::string waits_words(const PathCycles& path) {
  const auto waits = path.begin() + static_cast<std::ptrdiff_t>(PathPart::kDramLatency);
  const auto longest = std::max_element(waits, path.end());
  if (*longest == 0) return "of one command for another";
  const std::string words = kPartWords[static_cast<std::size_t>(longest - path.begin())];
  return "mostly" + words.substr(words.find(' '));
}

std::string limiter_words(const ResultLayer& layer) {
  constexpr std::pair<std::string_view, const char*> kWords[] = {
      {"array", "the array"},         {"bubbles", "bubbles of the array"},
      {"read_bus", "the read bus"},   {"weights", "loads of weights"},
      {"write_bus", "the write bus"}, {"post", "POST, which requantizes"}};
  if (layer.limited_by == "dependence") return "waits, " + waits_words(layer.critical_path);
  for (const auto& [name, words] : kWords) {
    if (layer.limited_by == name) return words;
  }
  return layer.limited_by;
}

// What limiter_busy is a share of.
std::string share_words(const ResultLayer& layer) {
  return layer.limited_by == "dependence" ? "of its critical path" : "busy";
}

// Two layers, and by how much they differ.
struct Difference {
  const ResultLayer* first = nullptr;
  const ResultLayer* second = nullptr;
  double amount = 0;  // of the measure, second - first
};

std::vector<Difference> differences(const NetworkResult& first, const NetworkResult& second,
                                    Measure measure) {
  const LayerIndex others(second.layers);
  std::vector<Difference> found;
  for (const ResultLayer& layer : first.layers) {
    const ResultLayer* other = others.find(layer.name);
    if (other == nullptr) continue;
    const std::optional<double> a = measured(layer, measure);
    const std::optional<double> b = measured(*other, measure);
    if (a && b && *a != *b) found.push_back({&layer, other, *b - *a});
  }
  std::stable_sort(found.begin(), found.end(), [](const Difference& a, const Difference& b) {
    return std::abs(a.amount) > std::abs(b.amount);
  });
  return found;
}

bool differ_tellingly(std::uint64_t a, std::uint64_t b) {
  const auto [less, more] = std::minmax({static_cast<double>(a), static_cast<double>(b)});
  return more - less > kTellingShare * more;
}

// "limited by weights (busy in 98.3% and 75.0% of the cycles)", or each with its own limit.
std::string limits_of_both(const ResultLayer& a, const ResultLayer& b, const PairNames& names) {
  if (limiter_words(a) != limiter_words(b)) {
    return names.first + " is " + limit_text(a) + ", " + names.second + " " + limit_text(b);
  }
  const std::string first = percent(a.limiter_busy);
  const std::string second = percent(b.limiter_busy);
  if (first == second) return "both are " + limit_text(a);
  return "both are limited by " + limiter_words(a) + " (" + first + " and " + second + " " +
         share_words(a) + ")";
}

// The part of the critical path that differs most in the direction of the difference.
std::string path_words(const ResultLayer& a, const ResultLayer& b, bool is_less) {
  std::size_t most = kPathParts;
  std::uint64_t largest = 0;
  for (std::size_t p = 0; p < kPathParts; ++p) {
    const auto [less, more] = std::minmax(a.critical_path[p], b.critical_path[p]);
    if ((a.critical_path[p] < b.critical_path[p]) != is_less || more - less <= largest) continue;
    most = p;
    largest = more - less;
  }
  if (most == kPathParts) return "";
  return std::string("; on its critical path ") + kPartWords[most] + " take " +
         with_thousands(a.critical_path[most]) + " cycles against " +
         with_thousands(b.critical_path[most]);
}

// Whether it is what is read or what is written.
std::string moved_words(const ResultLayer& a, const ResultLayer& b, bool is_less) {
  std::string text;
  if (a.dram_read_bytes != b.dram_read_bytes &&
      (a.dram_read_bytes < b.dram_read_bytes) == is_less) {
    text += "; it reads " + with_thousands(a.dram_read_bytes) + " bytes against " +
            with_thousands(b.dram_read_bytes);
  }
  if (a.dram_write_bytes != b.dram_write_bytes &&
      (a.dram_write_bytes < b.dram_write_bytes) == is_less) {
    text += "; it writes " + with_thousands(a.dram_write_bytes) + " bytes against " +
            with_thousands(b.dram_write_bytes);
  }
  return text;
}

// What is different of a layer besides the measure: the reason, as far as the results have it.
std::string reasons(const Difference& difference, Measure measure, const PairNames& names) {
  const ResultLayer& a = *difference.first;
  const ResultLayer& b = *difference.second;
  std::string text = limits_of_both(a, b, names);
  // Only what points the same way as the difference is a reason for it.
  const bool is_less = *measured(a, measure) < *measured(b, measure);
  bool has_reason = a.limited_by != b.limited_by;
  const auto add_cost = [&](std::uint64_t first, std::uint64_t second, const std::string& words) {
    const bool is_reason = (first < second) == is_less;
    text += (is_reason ? "; " : "; although ") + words;
    has_reason = has_reason || is_reason;
  };
  if (differ_tellingly(a.stream_cycles, b.stream_cycles) &&
      (a.stream_cycles < b.stream_cycles) == is_less) {
    add_cost(a.stream_cycles, b.stream_cycles,
             "its folds occupy the array in " + with_thousands(a.stream_cycles) +
                 " cycles against " + with_thousands(b.stream_cycles));
  }
  if (measure != Measure::kDramBytes && differ_tellingly(a.dram_bytes(), b.dram_bytes())) {
    add_cost(a.dram_bytes(), b.dram_bytes(),
             "it moves " + megabytes(a.dram_bytes()) + " MB of DRAM against " +
                 megabytes(b.dram_bytes()));
  }
  if (measure != Measure::kCycles && a.cycles != b.cycles) {
    add_cost(
        a.cycles, b.cycles,
        "it takes " + with_thousands(a.cycles) + " cycles against " + with_thousands(b.cycles));
  }
  if (measure == Measure::kDramBytes) text += moved_words(a, b, is_less);
  if (measure == Measure::kCycles && !has_reason) text += path_words(a, b, is_less);
  if (a.dataflow == b.dataflow && a.mapping != b.mapping) {
    text += "; mapping '" + echoed(a.mapping) + "' against '" + echoed(b.mapping) + "'";
  }
  return text;
}

std::string sentence(const Difference& difference, Measure measure, const PairNames& names,
                     const std::string& unit) {
  const double a = *measured(*difference.first, measure);
  const double b = *measured(*difference.second, measure);
  return echoed(difference.first->name) + ": " + names.first + " takes " +
         measure_text(a, measure, unit) + ", " + compared_words(a, b, "", names.second, measure) +
         " (" + measure_text(b, measure, unit) + "): " + reasons(difference, measure, names) + ".";
}

void add_missing(std::vector<std::string>& words, const NetworkResult& from,
                 const NetworkResult& in, const std::string& name) {
  const LayerIndex there(in.layers);
  std::string list;
  for (const ResultLayer& layer : from.layers) {
    if (there.find(layer.name) != nullptr) continue;
    list += (list.empty() ? "" : ", ") + echoed(layer.name);
  }
  if (!list.empty()) words.push_back("Only " + name + " has: " + list + ".");
}

}  // namespace

std::optional<double> measured(const ResultLayer& layer, Measure measure) {
  const auto cycles = static_cast<double>(layer.cycles);
  if (measure == Measure::kCycles) return cycles;
  if (measure == Measure::kDramBytes) return static_cast<double>(layer.dram_bytes());
  if (!layer.energy) return std::nullopt;
  return measure == Measure::kEnergy ? *layer.energy : *layer.energy * cycles;
}

std::string measure_text(double value, Measure measure, const std::string& unit) {
  if (measure == Measure::kCycles) {
    return with_thousands(static_cast<std::uint64_t>(value)) + " cycles";
  }
  if (measure == Measure::kDramBytes) {
    return megabytes(static_cast<std::uint64_t>(value)) + " MB of DRAM";
  }
  return measure == Measure::kEnergy ? energy_text(value, unit) : energy_delay_text(value, unit);
}

std::string compared_words(double value, double base, const std::string& what,
                           const std::string& other, Measure measure) {
  const bool is_counted = measure == Measure::kCycles || measure == Measure::kDramBytes;
  if (value == base) return (is_counted ? "as many" : "as much") + what + " as " + other;
  const double share = base == 0 ? 1 : value / base - 1;
  const std::string way = share > 0 ? " more" : is_counted ? " fewer" : " less";
  return share_text(std::abs(share)) + way + what + " than " + other;
}

std::string limit_text(const ResultLayer& layer) {
  return "limited by " + limiter_words(layer) + " (" + percent(layer.limiter_busy) + " " +
         share_words(layer) + ")";
}

std::vector<std::string> difference_words(const NetworkResult& first, const NetworkResult& second,
                                          Measure measure, const PairNames& names,
                                          std::size_t most) {
  std::vector<std::string> words;
  const std::vector<Difference> found = differences(first, second, measure);
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i) {
    words.push_back(sentence(found[i], measure, names, first.energy_unit));
  }
  if (found.size() > most) {
    words.push_back(std::to_string(found.size() - most) + " more layers differ, each by less.");
  }
  add_missing(words, first, second, names.first);
  add_missing(words, second, first, names.second);
  return words;
}

}  // namespace qsim::report
