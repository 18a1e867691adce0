// Random binary convolutions: every number of bases, channels that fill no word, strides, pads and
// dilation.
#pragma once

#include "core/base/random.h"
#include "golden/kernels/binary/binary_conv.h"

namespace qsim::golden_test {

struct RandomLayer {
  golden::BitTensor input;
  golden::BinaryConv conv;
  golden::BinaryStage stage;
};

// A number in about -2..2 that is not a multiple of anything.
float random_real(Random& random);
std::vector<float> random_reals(Random& random, std::size_t count);
golden::BitTensor random_bits(Random& random, const ImageShape& shape, int bases);
// Weights of this shape with random bits (not those of any float weights) and alphas.
golden::BinaryWeights random_weights(Random& random, const golden::WeightShape& shape, int bases);
RandomLayer random_layer(Random& random);
// Four channels, two bases whose sums overflow to +infinity and -infinity where all signs agree: y
// is NaN there.
golden::BinaryConv overflowing_layer();

}  // namespace qsim::golden_test
