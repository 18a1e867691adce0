#include "cli/session/eval/prediction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace qsim::cli {
namespace {

template <typename Score>
std::array<std::int32_t, kBestClasses> best_of(std::size_t count, const Score& score) {
  std::vector<std::int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  const std::size_t kept = std::min(count, kBestClasses);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      const auto x = score(a);
                      const auto y = score(b);
                      return x > y || (x == y && a < b);
                    });
  std::array<std::int32_t, kBestClasses> best{};
  best.fill(-1);
  std::copy_n(order.begin(), kept, best.begin());
  return best;
}

}  // namespace

bool Prediction::has_in_best(int label) const {
  return std::find(best.begin(), best.end(), label) != best.end();
}

PredictionRows PredictionRows::part(std::size_t first, std::size_t count) const {
  const std::size_t classes = predictions.empty() ? 0 : outputs.size() / predictions.size();
  return {predictions.subspan(first, count), outputs.subspan(first * classes, count * classes)};
}

PredictionTable::PredictionTable(std::int64_t pictures, std::int64_t classes)
    : predictions(static_cast<std::size_t>(pictures)),
      outputs(static_cast<std::size_t>(pictures * classes)) {}

void PredictionTable::append(const PredictionTable& other) {
  predictions.insert(predictions.end(), other.predictions.begin(), other.predictions.end());
  outputs.insert(outputs.end(), other.outputs.begin(), other.outputs.end());
}

void PredictionTable::cut(std::size_t pictures) {
  if (predictions.size() <= pictures) return;
  outputs.resize(outputs.size() / predictions.size() * pictures);
  predictions.resize(pictures);
}

Prediction prediction_of(std::span<const float> scores) {
  const auto score = [scores](std::int32_t i) {
    const float value = scores[static_cast<std::size_t>(i)];
    return std::isnan(value) ? -std::numeric_limits<float>::infinity() : value;
  };
  return {best_of(scores.size(), score), 0};
}

Prediction prediction_of(std::span<const std::byte> levels, bool is_unsigned) {
  const auto score = [levels, is_unsigned](std::int32_t i) {
    const int level = std::to_integer<int>(levels[static_cast<std::size_t>(i)]);
    return is_unsigned || level < 128 ? level : level - 256;
  };
  Prediction prediction{best_of(levels.size(), score), 0xcbf29ce484222325ull};
  for (const std::byte level : levels) {
    prediction.bytes =
        (prediction.bytes ^ std::to_integer<std::uint64_t>(level)) * 0x100000001b3ull;
  }
  return prediction;
}

}  // namespace qsim::cli
