// Random blocks of the networks that people have: residual ones and inverted residual ones.
#pragma once

#include "core/base/random.h"
#include "core/network/graph.h"

namespace qsim::golden_test {

// The batch and number of output channels, made smaller until the layer is affordable.
void afford(std::int64_t most_macs, std::int64_t& batch, std::int64_t& out_channels,
            std::int64_t macs_per_output_channel);

// A residual block as ResNet has it: 1x1, 3x3, 1x1, the last added to the input or to a strided 1x1
// convolution of it, in either order of the operands.
Graph residual_block(Random& random, std::int64_t most_macs);

// An inverted residual block as MobileNet has it.
Graph depthwise_block(Random& random, std::int64_t most_macs);

}  // namespace qsim::golden_test
