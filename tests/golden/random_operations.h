// Random operations with every feature that core/network/operations.h has: groups, dilation, wide
// weights, requantizers of any scale. The layers of random_graph.h are those of chains with shifts
// alone.
#pragma once

#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/network/graph.h"

namespace qsim::golden_test {

// What random operations may have. As it is: everything.
struct OperationLimits {
  // Roundings of requantizers, average pools and additions.
  std::vector<RequantizerRounding> roundings = {
      RequantizerRounding::kFloat32, RequantizerRounding::kFloat32, RequantizerRounding::kHalfEven,
      RequantizerRounding::kHalfUp, RequantizerRounding::kFloor};
  // TensorFlow Lite's as well, which golden on the CPU alone has.
  void add_tflite_roundings() {
    roundings.insert(roundings.end(),
                     {RequantizerRounding::kTflite, RequantizerRounding::kTfliteSingle});
  }
  bool prelu = false;        // PRelu, of which the compiler takes one slope alone
  bool shifts = true;        // some layers have shifts, in any RoundingMode
  bool wide_weights = true;  // some layers have weights of nine bits
  bool wide_psums = true;    // some biases are any int32
};

RequantizerRounding random_rounding(Random& random, const OperationLimits& limits);

// Draws any dtype and zero_point, and a scale from 2^-6 to 2^-1; one in three is a power of two.
Value random_scaled_value(Random& random, const ImageShape& shape);

// Kernel, strides, pads and dilation for a picture of this size, so that one window fits.
Window random_window(Random& random, const ImageShape& picture, std::int64_t largest_kernel,
                     bool pads_below_kernel, bool may_dilate);

// The picture that `window` makes of `picture`, with `channels` channels.
ImageShape windowed(const ImageShape& picture, const Window& window, std::int64_t channels,
                    bool ceil_mode = false);

// Most outputs are not saturated.
Conv2d random_conv2d_of(Random& random, const Window& window, std::int64_t groups,
                        const Value& input, const Value& output, const OperationLimits& limits);
FullyConnected random_fully_connected_of(Random& random, const Value& input, const Value& output,
                                         const OperationLimits& limits);
AveragePool random_average_pool_of(Random& random, const Window& window, const Value& output,
                                   const OperationLimits& limits);
Add random_add_of(Random& random, const Value& output, const OperationLimits& limits);
LookupTable random_lookup_table(Random& random);
// One slope, or one a channel: some 0, some below 0, some above 1.
PRelu random_prelu_of(Random& random, std::int64_t channels);

// One layer each, with groups (often as many as channels), dilation, wide weights, requantizers.
Graph random_grouped_conv2d(Random& random);
Graph random_scaled_fully_connected(Random& random);
Graph random_dilated_max_pool(Random& random);
Graph random_average_pool(Random& random);
Graph random_add(Random& random);     // a lookup table and the addition
Graph random_concat(Random& random);  // lookup tables and the concatenation
Graph random_prelu(Random& random);

}  // namespace qsim::golden_test
