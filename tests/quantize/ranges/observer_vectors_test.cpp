// The observers beside PyTorch's, numpy's percentiles and a numpy program of the entropy rule, by
// the file that observer_vectors.py writes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "quantize/ranges/clipping.h"
#include "quantize/ranges/histogram_error.h"
#include "quantize/weights/channel_scale.h"
#include "quantize/weights/weight_quantizer.h"

namespace qsim::quantize {
namespace {

struct Case {
  std::string name;
  Levels levels;
  Symmetry symmetry = Symmetry::kAffine;
  double option = 0;
  std::vector<double> results;
};

struct Vectors {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;
  std::vector<Case> cases;
};

std::vector<double> numbers(std::istream& line) {
  std::vector<double> found;
  for (std::string word; line >> word;) found.push_back(std::strtod(word.c_str(), nullptr));
  return found;
}

Case parsed_case(const std::string& name, std::istringstream& line) {
  Case result;
  result.name = name;
  if (name != "integers") {
    std::string levels;
    std::string symmetry;
    line >> levels >> symmetry;
    result.levels = {.bits = levels[1] - '0', .is_unsigned = levels[0] == 'u', .reduced = false};
    result.symmetry = symmetry == "affine" ? Symmetry::kAffine : Symmetry::kSymmetric;
    std::string option;
    line >> option;
    result.option = std::strtod(option.c_str(), nullptr);
  }
  result.results = numbers(line);
  return result;
}

std::vector<Vectors> read_vectors() {
  std::ifstream file("tests/quantize/ranges/observer_vectors.txt");
  std::vector<Vectors> tensors;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string name;
    line >> name;
    if (name == "tensor") {
      Vectors& tensor = tensors.emplace_back();
      line >> tensor.rows >> tensor.columns;
      for (const double value : numbers(line)) {
        tensor.values.push_back(static_cast<float>(value / 64));
      }
    } else {
      tensors.back().cases.push_back(parsed_case(name, line));
    }
  }
  return tensors;
}

// One batch a row.
TensorStatistics statistics_of(const Vectors& tensor) {
  TensorStatistics statistics;
  const auto columns = static_cast<std::size_t>(tensor.columns);
  const std::span<const float> values = tensor.values;
  for (std::size_t at = 0; at < values.size(); at += columns) {
    add_range(values.subspan(at, columns), statistics);
  }
  add_values(values, statistics);
  return statistics;
}

template <typename Check>
int for_each_case(const std::string& name, const Check& check) {
  int count = 0;
  for (const Vectors& tensor : read_vectors()) {
    for (const Case& expected : tensor.cases) {
      if (expected.name != name) continue;
      SCOPED_TRACE(name + " " + std::to_string(count));
      check(tensor, expected);
      ++count;
    }
  }
  return count;
}

// PyTorch computes in float32: its scales are one or two units in the last place away.
constexpr double kFloat32 = 3e-7;

int compare_observer(const std::string& name, ClippingRule rule) {
  return for_each_case(name, [&](const Vectors& tensor, const Case& expected) {
    const Quantization q = activation_quantization(
        statistics_of(tensor), {.rule = rule, .moving_average = expected.option}, expected.levels,
        expected.symmetry, ScaleKind::kFloat);
    EXPECT_NEAR(q.scale, expected.results[0], kFloat32 * expected.results[0]);
    EXPECT_EQ(q.zero_point, expected.results[1]);
  });
}

TEST(ObserverVectors, MinMaxIsThatOfPyTorch) {
  EXPECT_EQ(compare_observer("min_max", ClippingRule::kMinMax), 18);
}

TEST(ObserverVectors, MovingAveragesAreThoseOfPyTorch) {
  EXPECT_EQ(compare_observer("moving_average", ClippingRule::kMovingAverage), 36);
}

TEST(ObserverVectors, WeightsOfChannelsAreThoseOfPyTorch) {
  QuantizedWeights weights;
  for (const Vectors& tensor : read_vectors()) {
    for (const Case& expected : tensor.cases) {
      if (expected.name == "channels") {
        const Tensor values = make_tensor<float>({tensor.rows, tensor.columns}, tensor.values);
        weights = quantize_weights(values,
                                   {.levels = expected.levels, .symmetry = expected.symmetry}, "");
        ASSERT_EQ(expected.results.size(), 2 * weights.scales.size());
        for (std::size_t channel = 0; channel < weights.scales.size(); ++channel) {
          const double scale = expected.results[channel];
          EXPECT_NEAR(weights.scales[channel], scale, kFloat32 * scale);
          EXPECT_EQ(weights.zero_points[channel],
                    expected.results[weights.scales.size() + channel]);
        }
      } else if (expected.name == "integers") {
        const std::span<const std::int16_t> levels = weights.levels.as<std::int16_t>();
        EXPECT_EQ(std::vector<double>(levels.begin(), levels.end()), expected.results);
      }
    }
  }
  EXPECT_EQ(weights.scales.size(), 5U);
}

TEST(ObserverVectors, PercentilesOfSortedValuesAreThoseOfNumpy) {
  EXPECT_EQ(for_each_case("percentile",
                          [](const Vectors& tensor, const Case& expected) {
                            std::vector<float> sorted = tensor.values;
                            std::sort(sorted.begin(), sorted.end());
                            const double result = expected.results[0];
                            EXPECT_NEAR(exact_percentile(sorted, expected.option), result,
                                        kFloat32 * std::fabs(result));
                          }),
            7);
}

// It searches for the least error too, but in another way.
TEST(ObserverVectors, NoErrorIsAboveThatOfPyTorchsHistogramObserver) {
  EXPECT_EQ(for_each_case("histogram",
                          [](const Vectors& tensor, const Case& expected) {
                            const TensorStatistics s = statistics_of(tensor);
                            const Quantization ours = activation_quantization(
                                s, {.rule = ClippingRule::kMse}, expected.levels, expected.symmetry,
                                ScaleKind::kFloat);
                            Quantization theirs = ours;
                            theirs.scale = static_cast<float>(expected.results[0]);
                            theirs.zero_point = static_cast<std::int32_t>(expected.results[1]);
                            EXPECT_LE(mean_squared_error(s, ours), mean_squared_error(s, theirs));
                            EXPECT_NEAR(ours.scale, theirs.scale, 0.5 * theirs.scale);
                          }),
            3);
}

TEST(ObserverVectors, DivergencesAreThoseOfNumpy) {
  EXPECT_EQ(for_each_case(
                "entropy",
                [](const Vectors& tensor, const Case& expected) {
                  const Quantization q{.scale = static_cast<float>(expected.results[0]),
                                       .zero_point = static_cast<std::int32_t>(expected.results[1]),
                                       .lo = expected.levels.lo(),
                                       .hi = expected.levels.hi()};
                  const double result = expected.results[2];
                  EXPECT_NEAR(divergence(statistics_of(tensor), q), result, 1e-9 * result);
                }),
            9);
}

}  // namespace
}  // namespace qsim::quantize
