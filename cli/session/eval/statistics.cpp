#include "cli/session/eval/statistics.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace qsim::cli {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// log2 of n choose k: sums of logarithms, so that no library's lgamma is in the result.
double log2_choose(std::int64_t n, std::int64_t k) {
  double sum = 0;
  for (std::int64_t i = 1; i <= k; ++i) {
    sum += std::log2(static_cast<double>(n - k + i) / static_cast<double>(i));
  }
  return sum;
}

}  // namespace

double SeriesScore::top1_share() const { return ratio(top1, pictures); }
double SeriesScore::top5_share() const { return ratio(top5, pictures); }

double SeriesScore::standard_error() const {
  if (pictures == 0) return 0;
  return std::sqrt(top1_share() * (1 - top1_share()) / static_cast<double>(pictures));
}

double ClassScore::share() const { return ratio(right, pictures); }

SeriesScore score_of(std::span<const Prediction> predictions, std::span<const int> labels,
                     std::int64_t classes) {
  QSIM_CHECK(predictions.size() == labels.size(), "a label for each prediction");
  SeriesScore score;
  score.pictures = std::ssize(predictions);
  score.classes.resize(static_cast<std::size_t>(classes));
  const bool has_table = classes <= kMostConfusionClasses;
  if (has_table) score.confusion.assign(static_cast<std::size_t>(classes * classes), 0);
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const int label = labels[i];
    const bool is_right = predictions[i].top1() == label;
    ClassScore& of_class = score.classes[static_cast<std::size_t>(label)];
    ++of_class.pictures;
    of_class.right += is_right ? 1 : 0;
    score.top1 += is_right ? 1 : 0;
    score.top5 += predictions[i].has_in_best(label) ? 1 : 0;
    if (has_table) {
      ++score.confusion[static_cast<std::size_t>(label * classes + predictions[i].top1())];
    }
  }
  return score;
}

OutputDistance output_distance(std::span<const float> first, std::span<const float> second) {
  QSIM_CHECK(first.size() == second.size(), "as many outputs");
  OutputDistance distance;
  distance.outputs = std::ssize(first);
  double sum = 0;
  double squares = 0;
  double of_first = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double a = first[i];
    const double b = second[i];
    const bool is_same = a == b || (std::isnan(a) && std::isnan(b));
    distance.differing += is_same ? 0 : 1;
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const double between = std::abs(a - b);
    distance.largest = std::max(distance.largest, between);
    sum += between;
    squares += between * between;
    of_first += a * a;
  }
  if (!first.empty()) distance.mean = sum / static_cast<double>(first.size());
  if (squares > 0) distance.relative = std::sqrt(squares / of_first);
  return distance;
}

PairScore pair_score(const Series& first, const Series& second, bool compares_bytes) {
  const std::size_t count = std::min(first.predictions.size(), second.predictions.size());
  PairScore score;
  score.pictures = static_cast<std::int64_t>(count);
  score.has_labels = !first.labels.empty() && !second.labels.empty();
  std::int64_t same_bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Prediction& a = first.predictions[i];
    const Prediction& b = second.predictions[i];
    score.same_top1 += a.top1() == b.top1() ? 1 : 0;
    same_bytes += a.bytes == b.bytes ? 1 : 0;
    if (!score.has_labels) continue;
    const bool a_right = a.top1() == first.labels[i];
    const bool b_right = b.top1() == second.labels[i];
    score.both_right += a_right && b_right ? 1 : 0;
    score.first_only += a_right && !b_right ? 1 : 0;
    score.second_only += !a_right && b_right ? 1 : 0;
    score.neither_right += !a_right && !b_right ? 1 : 0;
  }
  if (count > 0) {
    const std::size_t outputs = count * (first.outputs.size() / first.predictions.size());
    score.distance = output_distance(first.outputs.first(outputs), second.outputs.first(outputs));
  }
  if (compares_bytes) score.same_bytes = same_bytes;
  if (score.has_labels) score.p = exact_mcnemar_p(score.first_only, score.second_only);
  return score;
}

double exact_mcnemar_p(std::int64_t a, std::int64_t b) {
  const std::int64_t n = a + b;
  const std::int64_t k = std::min(a, b);
  if (2 * k == n) return 1;
  // The terms (n choose i) / 2^n from i = k down: each is the one above it times i / (n - i + 1),
  // which is below 1, so what is left out at the end is below the last term times k.
  double term = std::exp2(log2_choose(n, k) - static_cast<double>(n));
  double sum = 0;
  for (std::int64_t i = k; i >= 0 && term > 0; --i) {
    sum += term;
    term *= static_cast<double>(i) / static_cast<double>(n - i + 1);
    if (term < sum * 1e-18) break;
  }
  return std::min(1.0, 2 * sum);
}

}  // namespace qsim::cli
