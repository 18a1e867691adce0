#include "core/base/nearest_name.h"

#include <algorithm>
#include <vector>

#include "core/base/printable.h"

namespace qsim {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> names) {
  std::string_view best;
  // A word that shares no letter with a name is not a misspelling of it.
  std::size_t best_distance = std::min(std::max<std::size_t>(2, word.size() / 3) + 1, word.size());
  for (const std::string_view name : names) {
    // At least as many letters must come or go, so that a long word costs no comparison.
    const auto [less, more] = std::minmax({word.size(), name.size()});
    if (more - less >= best_distance) continue;
    const std::size_t distance = edit_distance(word, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string nearest_names(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t kShown = 8;
  constexpr std::size_t kCompared = 1000;  // of more the rest is counted
  std::vector<std::pair<std::size_t, std::string_view>> sorted;
  for (const std::string_view name : names.first(std::min(names.size(), kCompared))) {
    sorted.emplace_back(edit_distance(word, name), name);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::size_t shown = std::min(sorted.size(), kShown);
  std::string list;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i > 0 && i + 1 == names.size();
    list += (i == 0 ? "" : is_last ? " and " : ", ") + ("'" + echoed(sorted[i].second) + "'");
  }
  if (names.size() > shown) list += " and " + std::to_string(names.size() - shown) + " more";
  return names.empty() ? "nothing" : list;
}

}  // namespace qsim
