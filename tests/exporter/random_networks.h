// Seeded quantized networks of every kind of layer.
#pragma once

#include <cstdint>

#include "core/network/quantized_network.h"

namespace qsim {

struct RandomNetworkOptions {
  bool mixed_types = true;       // some seeds mix int8 and uint8 activations
  bool average_windows = true;   // average pools smaller than the picture
  bool requantize_alone = true;  // changes of quantization between other layers
  bool tails = true;
  bool narrow_weights = false;  // of int8, 7 bits
};

// Up to a dozen layers on pictures of up to 9 x 9, then perhaps vectors.
QuantizedNetwork random_network(std::uint64_t seed, const RandomNetworkOptions& options = {});

}  // namespace qsim
