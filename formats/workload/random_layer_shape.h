// The shapes and modes of a random layer, before its tensors are made.
#pragma once

#include "core/base/random.h"
#include "core/machine/arch_config.h"
#include "core/network/graph.h"

namespace qsim::formats {

enum class RandomKind : std::uint8_t { kConv2d, kFullyConnected, kMaxPool, kRelu };
enum class ZeroPointKind : std::uint8_t { kZero, kExtreme, kRandom };

struct RandomLayerShape {
  RandomKind kind = RandomKind::kConv2d;
  Value input;
  ZeroPointKind input_zero_point = ZeroPointKind::kZero;
  // Of a convolution or fully connected layer.
  Window window;
  std::int64_t out_channels = 1;
  Value output;  // dtype and zero_point; the shape follows from the rest
  ZeroPointKind output_zero_point = ZeroPointKind::kZero;
  RoundingMode rounding = RoundingMode::kHalfEven;
  bool per_channel_shift = false;
  // Around it.
  bool flatten = false;  // before a fully connected layer
  Flatten::Order order = Flatten::Order::kChw;
  bool relu = false;
  bool pool = false;
  Window pool_window;
  bool ceil_mode = false;
};

RandomLayerShape random_layer_shape(const ArchConfig& arch, Random& random);

// The layer's output picture; ceil_mode as for pooling.
ImageShape windowed(const ImageShape& input, const Window& window, std::int64_t channels,
                    bool ceil_mode = false);

}  // namespace qsim::formats
