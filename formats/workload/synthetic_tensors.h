// Seeded inputs, weights, biases and shifts that keep the values of a network spread over their
// 8-bit range.
#pragma once

#include <optional>

#include "core/base/random.h"
#include "core/network/graph_shapes.h"
#include "formats/workload/distribution.h"

namespace qsim::formats {

// Throws Error, "COUNT WHAT; at most ... are allowed", for more than one tensor may have.
void check_synthetic_elems(std::int64_t count, const char* what);

// Bytes that synthetic_input has in memory at a time, for each element.
inline constexpr std::int64_t kSyntheticInputCopies = 2;

// The mean of two uniform values an element: all of the range occurs, its ends hardly ever.
Tensor synthetic_input(const Value& value, Random& random);

// How the ofmap of a layer with weights should look.
struct OfmapTarget {
  Value output;
  bool relu = false;  // a ReLU follows
  RoundingMode rounding = RoundingMode::kHalfEven;
  bool per_channel_shift = false;  // or scale
  // Instead of shifts: requantizers that reach the wanted spread. Each is (x_scale * w_scale) /
  // y_scale in float32 for some scale of the weights.
  std::optional<RequantizerRounding> scale_rounding;
  std::optional<int> shift;         // instead of the one chosen
  std::optional<double> bias_mean;  // mean of the ofmap above zero_point, in its steps
  // The weights of a channel add up to zero. Not those that read one channel or a few of a picture:
  // there neighbours are alike, and the sum would hide what they have in common.
  bool balanced_weights = true;
  bool full_range_weights = false;  // uniform over -128..127, whatever spread that gives
};

// What a layer with weights reads.
struct LayerInput {
  Distribution values;
  std::int32_t zero_point = 0;
  double inside = 1;                // fraction of the window positions that lie inside the picture
  std::optional<Scale> scale = {};  // needed for OfmapTarget::scale_rounding
};

struct LayerParameters {
  Tensor weights;
  Tensor bias;
  Requantization requantization;  // lo and hi: the dtype's range
  Distribution ofmap;             // as predicted
};

// Weights of `shape` [Cout, ...]. Throws Error for more than 2^31 of them, and for a bias_mean that
// no bias up to 2^30 reaches. All but the bytes of weights and bias are the same with either
// Tensors.
LayerParameters synthetic_parameters(const Shape& shape, const LayerInput& input,
                                     const OfmapTarget& target, Random& random, Tensors tensors);

// The fraction of the taps of all positions of `window` that lie inside the picture.
double inside_fraction(const Window& window, const ImageShape& input, const ImageShape& output);

}  // namespace qsim::formats
