#include "cli/session/run/snap_error.h"

#include <algorithm>
#include <cstdlib>

namespace qsim::cli {
namespace {

std::int32_t level_at(const Tensor& tensor, std::size_t index) {
  if (tensor.dtype == DType::kUint8) return tensor.as<std::uint8_t>()[index];
  return tensor.as<std::int8_t>()[index];
}

report::SnapDifference difference_of(const Tensor& found, const Tensor& expected,
                                     const Value& value) {
  report::SnapDifference result;
  result.values = expected.elems();
  std::int64_t largest = 0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(result.values); ++i) {
    const std::int64_t steps = std::abs(level_at(found, i) - level_at(expected, i));
    largest = std::max(largest, steps);
    sum += steps;
    result.changed += steps != 0 ? 1 : 0;
  }
  const double step = value.scale ? double{value.scale->real()} : 1.0;
  result.largest = step * static_cast<double>(largest);
  result.mean = step * static_cast<double>(sum) / static_cast<double>(result.values);
  return result;
}

// The first of the largest levels of a picture.
std::size_t best_class(const Tensor& output, std::size_t picture, std::size_t classes) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < classes; ++c) {
    const std::size_t first = picture * classes;
    if (level_at(output, first + c) > level_at(output, first + best)) best = c;
  }
  return best;
}

}  // namespace

report::SnapError snap_error(const Graph& snapped, const Graph& unsnapped, const Tensor& input,
                             GoldenSelection& golden) {
  const std::vector<bool> all(unsnapped.layers.size(), true);
  const std::vector<Tensor> expected = golden.run_once(unsnapped, input, all);
  const std::vector<Tensor> found = golden.run_once(snapped, input, all);
  report::SnapError error;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error.layers.push_back(difference_of(found[i], expected[i], unsnapped.output_of(i)));
    error.layers.back().layer = unsnapped.layers[i].name;
  }
  const ImageShape& shape = unsnapped.output_value().shape;
  error.pictures = shape.batch;
  if (shape.height * shape.width != 1 || shape.channels < 2) return error;
  const auto classes = static_cast<std::size_t>(shape.channels);
  error.top1_changed = 0;
  for (std::size_t n = 0; n < static_cast<std::size_t>(shape.batch); ++n) {
    const bool same =
        best_class(found.back(), n, classes) == best_class(expected.back(), n, classes);
    *error.top1_changed += same ? 0 : 1;
  }
  return error;
}

}  // namespace qsim::cli
