#include "golden/real/integer_factors.h"

namespace qsim::golden {
namespace {

template <typename Weights>
FactorBand whole_band(const Weights& weights, std::size_t count, std::int64_t depth) {
  FactorBand band{std::vector<float>(count), 0};
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::int64_t>(i);
    band.factors[i] = weight_factor(weights, index, index / depth);
  }
  return band;
}

// The weights with exponents from `first` on, as +-2^(exponent - first).
FactorBand exponents_from(const Log2Weights& weights, std::int32_t first) {
  FactorBand band{std::vector<float>(weights.signs.bytes.size()), first - weights.lo};
  for (std::size_t i = 0; i < band.factors.size(); ++i) {
    const int shift = weights.exponents.as<std::int8_t>()[i] - first;
    if (shift < 0 || shift >= kBandExponents) continue;
    band.factors[i] = static_cast<float>(weights.signs.as<std::int8_t>()[i]) *
                      static_cast<float>(std::int32_t{1} << shift);
  }
  return band;
}

}  // namespace

std::vector<FactorBand> factor_bands(const RealLayerWeights& weights, std::int64_t depth) {
  std::vector<FactorBand> bands;
  if (const auto* integers = std::get_if<IntegerWeights>(&weights.weights)) {
    bands.push_back(
        whole_band(*integers, static_cast<std::size_t>(integers->levels.elems()), depth));
    return bands;
  }
  const auto& powers = std::get<Log2Weights>(weights.weights);
  if (!weights.input) {
    bands.push_back(whole_band(powers, powers.signs.bytes.size(), depth));
    return bands;
  }
  for (std::int32_t first = powers.lo; first <= powers.hi; first += kBandExponents) {
    bands.push_back(exponents_from(powers, first));
  }
  return bands;
}

std::vector<float> sum_scales(const RealLayerWeights& weights, std::int64_t outputs) {
  std::vector<float> scales;
  for (std::int64_t c = 0; c < outputs; ++c) {
    scales.push_back(std::visit(
        [&](const auto& one) {
          return weights.input ? integer_scale(one, c) : of_channel(one.scales, c);
        },
        weights.weights));
  }
  return scales;
}

}  // namespace qsim::golden
