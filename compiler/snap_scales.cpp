#include "compiler/snap_scales.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/base/error.h"

namespace qsim::compiler {
namespace {

// The largest level of a weight in either direction.
template <typename Weight>
constexpr double kMost = 0;
template <>
constexpr double kMost<std::int8_t> = 127;
template <>
constexpr double kMost<std::int16_t> = kMostWideWeight;

template <typename Weight>
double scaled(Weight weight, double factor) {
  // -128 stays where the factor is 1.
  const double least = std::min<double>(-kMost<Weight>, weight);
  return std::clamp(std::round(weight * factor), least, kMost<Weight>);
}

// The sum of squares of what the weights of a channel lose.
template <typename Weight>
double loss(std::span<const Weight> weights, double factor) {
  double sum = 0;
  for (const Weight weight : weights) {
    const double lost = scaled(weight, factor) / factor - weight;
    sum += lost * lost;
  }
  return sum;
}

// The shift of a channel whose scale is `real`.
template <typename Weight>
int shift_of(std::span<const Weight> weights, double real) {
  const double exact = -std::log2(real);
  const int floor = static_cast<int>(std::clamp(std::floor(exact), 0.0, double{kMaxShift}));
  const int ceil = static_cast<int>(std::clamp(std::ceil(exact), 0.0, double{kMaxShift}));
  const double floor_loss = loss(weights, std::ldexp(real, floor));
  const double ceil_loss = loss(weights, std::ldexp(real, ceil));
  if (floor_loss != ceil_loss) return floor_loss < ceil_loss ? floor : ceil;
  return exact - floor <= ceil - exact ? floor : ceil;
}

class Snap {
 public:
  Snap(const Graph& graph, RequantizerRounding rounding) : rounding_(rounding) {
    snapped_.graph = graph;
  }

  Snapped take() && {
    for (Layer& layer : snapped_.graph.layers) {
      std::visit([&](auto& operation) { change(operation); }, layer.operation);
    }
    return std::move(snapped_);
  }

 private:
  template <typename Operation>
  void change(Operation&) {}
  void change(Conv2d& conv) { change(conv.weights, conv.bias, conv.requantization); }
  void change(FullyConnected& fc) { change(fc.weights, fc.bias, fc.requantization); }
  void change(AveragePool& pool) { pool.rounding = rounding_; }

  void change(Tensor& weights, Tensor& bias, Requantization& requantization) {
    if (!requantization.is_dyadic()) return;
    if (weights.dtype == DType::kInt8) {
      change(weights.as<std::int8_t>(), bias.as<std::int32_t>(), requantization);
    } else {
      change(weights.as<std::int16_t>(), bias.as<std::int32_t>(), requantization);
    }
  }

  template <typename Weight>
  void change(std::span<Weight> weights, std::span<std::int32_t> bias,
              Requantization& requantization) {
    const std::size_t each = weights.size() / bias.size();
    std::vector<Requantizer> shifts;
    std::int64_t moved = 0;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      Requantizer own = requantization.requantizer(static_cast<std::int64_t>(c));
      own.rounding = rounding_;
      if (as_shift(own)) {
        shifts.push_back(own);
        continue;
      }
      const std::span<Weight> channel = weights.subspan(c * each, each);
      const double real = real_scale(own);
      const int shift = shift_of(std::span<const Weight>(channel), real);
      const double factor = std::ldexp(real, shift);
      for (Weight& weight : channel) weight = static_cast<Weight>(scaled(weight, factor));
      bias[c] = static_cast<std::int32_t>(
          std::clamp<double>(std::round(bias[c] * factor), std::numeric_limits<std::int32_t>::min(),
                             std::numeric_limits<std::int32_t>::max()));
      shifts.push_back(requantizer_of_shift(shift, rounding_));
      ++moved;
    }
    if (std::ranges::all_of(shifts, [&](const Requantizer& r) { return r == shifts[0]; })) {
      shifts.resize(1);
    }
    requantization.requantizers = std::move(shifts);
    snapped_.layers += moved > 0 ? 1 : 0;
    snapped_.channels += moved;
  }

  RequantizerRounding rounding_;
  Snapped snapped_;
};

}  // namespace

Snapped snap_scales(const Graph& graph, RequantizerRounding rounding) {
  QSIM_CHECK(rounding != RequantizerRounding::kFloat32, "no shift rounds as float32");
  return Snap(graph, rounding).take();
}

}  // namespace qsim::compiler
