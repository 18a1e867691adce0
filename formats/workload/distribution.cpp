#include "formats/workload/distribution.h"

#include <algorithm>
#include <cmath>

namespace qsim::formats {
namespace {

double normal_cdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

}  // namespace

Distribution triangular(const Value& value) {
  Distribution x{value.min(), {}};
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      x.probability[static_cast<std::size_t>((a + b) / 2)] += 1.0 / 65536;
    }
  }
  return x;
}

Distribution normal(const Value& value, double mean, double sigma) {
  Distribution x{value.min(), {}};
  double below = 0;
  for (std::size_t i = 0; i < 256; ++i) {
    const double edge = value.min() + static_cast<double>(i) + 0.5;
    const double cdf = i == 255 ? 1 : normal_cdf((edge - mean) / sigma);
    x.probability[i] = cdf - below;
    below = cdf;
  }
  return x;
}

Distribution rectified(const Distribution& x, std::int32_t zero_point) {
  Distribution y{x.min, {}};
  for (std::int32_t i = 0; i < 256; ++i) {
    const std::int32_t to = std::max(i, zero_point - x.min);
    y.probability[static_cast<std::size_t>(to)] += x.probability[static_cast<std::size_t>(i)];
  }
  return y;
}

Distribution largest(const Distribution& x, std::int64_t count) {
  Distribution y{x.min, {}};
  double cdf = 0;
  double below = 0;
  for (std::size_t i = 0; i < 256; ++i) {
    cdf += x.probability[i];
    const double power = std::pow(cdf, static_cast<double>(count));
    y.probability[i] = power - below;
    below = power;
  }
  return y;
}

Distribution sum(const Distribution& a, const Distribution& b, const Adder& adder,
                 const Value& output) {
  Distribution y{output.min(), {}};
  for (std::int32_t i = 0; i < 256; ++i) {
    const double chance = a.probability[static_cast<std::size_t>(i)];
    if (chance == 0) continue;
    for (std::int32_t j = 0; j < 256; ++j) {
      const std::int32_t level =
          add_levels(a.min + i, b.min + j, adder, output.zero_point, output.min(), output.max());
      y.probability[static_cast<std::size_t>(level - y.min)] +=
          chance * b.probability[static_cast<std::size_t>(j)];
    }
  }
  return y;
}

void mix_in(Distribution& mix, const Distribution& part, double weight) {
  mix.min = part.min;
  for (std::size_t i = 0; i < 256; ++i) mix.probability[i] += weight * part.probability[i];
}

double mean(const Distribution& x) {
  double sum = 0;
  for (std::size_t i = 0; i < 256; ++i) sum += (x.min + static_cast<double>(i)) * x.probability[i];
  return sum;
}

double variance(const Distribution& x) {
  const double centre = mean(x);
  double sum = 0;
  for (std::size_t i = 0; i < 256; ++i) {
    const double distance = x.min + static_cast<double>(i) - centre;
    sum += distance * distance * x.probability[i];
  }
  return sum;
}

}  // namespace qsim::formats
