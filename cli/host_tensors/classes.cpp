#include "cli/host_tensors/classes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qsim::cli {

using report::OutputClass;

bool has_classes(const OutputForm& form) {
  const ImageShape& shape = form.value.shape;
  return shape.height == 1 && shape.width == 1 && shape.channels > 1;
}

std::vector<OutputClass> best_classes(const Tensor& output, const OutputForm& form,
                                      std::int64_t picture, const std::vector<std::string>& labels,
                                      std::size_t count) {
  const auto channels = static_cast<std::size_t>(form.value.shape.channels);
  const std::size_t first = static_cast<std::size_t>(picture) * channels;
  std::vector<double> scores(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    scores[c] = real_value(output, first + c, form.value);
  }
  return top_classes(scores, form.value.scale.has_value(), labels, count);
}

std::vector<OutputClass> top_classes(const std::vector<double>& scores, bool has_scale,
                                     const std::vector<std::string>& labels, std::size_t count) {
  if (scores.empty()) return {};
  const double best = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - best);
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<OutputClass> classes;
  for (std::size_t i = 0; i < std::min(count, order.size()); ++i) {
    OutputClass entry;
    entry.index = static_cast<std::int64_t>(order[i]);
    if (order[i] < labels.size()) entry.label = labels[order[i]];
    entry.score = scores[order[i]];
    if (has_scale) entry.probability = std::exp(entry.score - best) / sum;
    classes.push_back(std::move(entry));
  }
  return classes;
}

}  // namespace qsim::cli
