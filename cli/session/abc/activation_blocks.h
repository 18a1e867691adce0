// Samples of activations, to which v and beta of binary bases are fitted.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/session/abc/abc_layers.h"

namespace qsim::cli {

// 64 blocks of 8x8 pixels, all channels, at random places of the input, by `seed`; they may
// overlap, and are smaller where the picture is. At most 2^20 numbers: of more channels fewer
// blocks.
std::vector<float> random_blocks(const AbcInput& input, std::uint64_t seed);

// Numbers of a normal distribution of variance 1 after ReLU, as many as 64 blocks of 64 channels
// have. Sums of twelve uniform numbers, so the same on every machine.
std::vector<float> normal_blocks(std::uint64_t seed);

}  // namespace qsim::cli
