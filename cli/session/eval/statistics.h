// Predictions counted: how many are right, by class, and how two series of them differ.
// docs/reference/eval.md has the formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cli/session/eval/prediction.h"

namespace qsim::cli {

// A table of more classes than this would be mostly zeros.
inline constexpr std::int64_t kMostConfusionClasses = 100;

struct ClassScore {
  std::int64_t pictures = 0;
  std::int64_t right = 0;

  double share() const;
};

// How many pictures with labels a series gets right.
struct SeriesScore {
  std::int64_t pictures = 0;
  std::int64_t top1 = 0;  // right ones
  std::int64_t top5 = 0;  // the label is among the five best
  std::vector<ClassScore> classes;
  // [label][prediction], classes x classes; empty of more than kMostConfusionClasses.
  std::vector<std::int64_t> confusion;

  double top1_share() const;
  double top5_share() const;
  // sqrt(p (1 - p) / n) of the share p of right ones.
  double standard_error() const;
};

// `labels` are below `classes`, as many as predictions.
SeriesScore score_of(std::span<const Prediction> predictions, std::span<const int> labels,
                     std::int64_t classes);

// How far two series of outputs are apart: real numbers, one a picture and class. Where one of the
// two is not finite, they differ unless they are equal, and are in no sum.
struct OutputDistance {
  std::int64_t outputs = 0;
  std::int64_t differing = 0;  // unequal, whatever their distance
  double largest = 0;          // of |a - b|
  double mean = 0;             // of |a - b|
  double relative = 0;         // sqrt(sum of (a - b)^2 / sum of a^2); 0 where they are equal
};

OutputDistance output_distance(std::span<const float> first, std::span<const float> second);

// Two series of predictions of the same pictures.
struct PairScore {
  std::int64_t pictures = 0;
  std::int64_t same_top1 = 0;
  std::optional<std::int64_t> same_bytes;  // of two integer engines of one network
  OutputDistance distance;
  // These need labels.
  bool has_labels = false;
  std::int64_t both_right = 0;
  std::int64_t first_only = 0;   // right by the first alone
  std::int64_t second_only = 0;  // right by the second alone
  std::int64_t neither_right = 0;
  double p = 1;  // McNemar's exact test of first_only against second_only, two-sided
};

// What each series knows of its pictures; `labels` are empty without labels.
struct Series {
  std::span<const Prediction> predictions;
  std::span<const float> outputs;  // [predictions][classes]
  std::span<const int> labels;
};

// Compares the pictures that both series have, from the first on.
PairScore pair_score(const Series& first, const Series& second, bool compares_bytes);

// The two-sided p of the sign test of `a` against `b`: how probable a split of a + b fair coins is
// that is as uneven as this one or more; 1 where both are 0 or a = b.
double exact_mcnemar_p(std::int64_t a, std::int64_t b);

}  // namespace qsim::cli
