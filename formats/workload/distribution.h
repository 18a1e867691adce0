// The distribution of an activation tensor's 8-bit values, followed from layer to layer instead of
// running the network. Random weights make a convolution's psums nearly normal and nearly
// independent between positions, which is what the formulas here assume.
#pragma once

#include <array>
#include <cstdint>

#include "core/network/graph.h"
#include "core/numerics/adder.h"

namespace qsim::formats {

// probability[i] belongs to the value `min` + i.
struct Distribution {
  std::int32_t min = -128;
  std::array<double, 256> probability{};
};

// The mean of two uniform values of the dtype: what synthetic_input draws.
Distribution triangular(const Value& value);
// round(N(mean, sigma)), clamped to the dtype of `value`.
Distribution normal(const Value& value, double mean, double sigma);
// max(x, zero_point)
Distribution rectified(const Distribution& x, std::int32_t zero_point);
// The largest of `count` independent values.
Distribution largest(const Distribution& x, std::int64_t count);

// The sum of two independent values, by `adder`, in the dtype of `output`.
Distribution sum(const Distribution& a, const Distribution& b, const Adder& adder,
                 const Value& output);
// Adds `weight` of `part` to `mix`, whose values start alike.
void mix_in(Distribution& mix, const Distribution& part, double weight);

double mean(const Distribution& x);
double variance(const Distribution& x);

}  // namespace qsim::formats
