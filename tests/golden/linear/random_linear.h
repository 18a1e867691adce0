// Random linear layers for tests: sizes that are multiples of nothing, and values of every kind.
#pragma once

#include "core/base/random.h"
#include "golden/kernels/linear/linear.h"

namespace qsim::golden {

struct LinearCase {
  FloatMatrix x;
  LinearWeights weights;
  std::vector<float> bias;  // empty: none
  FloatType y_type = FloatType::kFloat32;
};

inline double macs_of(const LinearCase& one) {
  return static_cast<double>(one.x.rows * one.x.columns * one.weights.out_features);
}

// The kinds of numbers in x.
enum class Values : std::uint8_t {
  kNear,       // magnitudes within 2^-8..2^3, as activations have
  kAnyFinite,  // any bits of a finite number
  kAnything,   // any bits: now and then NaN or infinity
  kLarge,      // the largest magnitudes, of one sign with the weights
};

FloatMatrix random_floats(Random& random, FloatType type, std::int64_t rows, std::int64_t columns,
                          Values values);
LinearWeights random_weights(Random& random, std::int64_t out_features, std::int64_t in_features,
                             std::int64_t group_size, int bits);
struct OutFeatures {
  std::int64_t least = 1, most = 70;
};
// As many as two tiles of channels a block take, on a GPU of at most 140 multiprocessors.
inline constexpr OutFeatures kWideOutFeatures{17'920, 18'400};
// Everything random, sizes at most these.
LinearCase random_linear_case(Random& random, std::int64_t most_rows, std::int64_t most_features,
                              OutFeatures out_features = {});

// One of int8 weights with a scale for each channel; sometimes the scale of x is static.
struct Int8LinearCase {
  LinearCase layer;
  Int8Activations activations;
};
Int8LinearCase random_int8_case(Random& random, std::int64_t most_rows, std::int64_t most_features,
                                OutFeatures out_features = {});

}  // namespace qsim::golden
