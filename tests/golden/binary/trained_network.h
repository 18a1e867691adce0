// ABC-Net's network as models/train/train_abc.py trained it with three bases on each side, and the
// words that models/train/abc_emulation.py computed of two pictures, layer by layer, in float.
#pragma once

#include <filesystem>
#include <vector>

#include "golden/kernels/binary/binary_conv.h"

namespace qsim::golden_test {

struct TrainedLayer {
  golden::BinaryConv conv;
  golden::BinaryStage stage;
  golden::BitTensor expected;  // what the stage makes
};

struct TrainedNetwork {
  golden::BitTensor input;  // of the first binary layer
  std::vector<TrainedLayer> layers;
};

inline constexpr const char* kTrainedNetwork = "models/abc-cifar10";

// How many bases the networks there have, on each side.
inline constexpr int kTrainedBases[] = {1, 3};

// One of the networks in this folder. Throws Error for files that cannot be read.
TrainedNetwork trained_network(int bases, const std::filesystem::path& folder = kTrainedNetwork);

}  // namespace qsim::golden_test
