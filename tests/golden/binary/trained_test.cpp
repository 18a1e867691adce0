// A trained network through the packed kernels: every word of every layer is that of its emulation
// in float, which shares no code with them.
#include <bit>

#include <gtest/gtest.h>

#include "golden/kernels/binary/optimised_conv.h"
#include "tests/golden/binary/trained_network.h"

namespace qsim::golden {
namespace {

TEST(TrainedBinaryNetwork, EveryWordOfEveryLayerIsThatOfItsEmulationInFloatOnEveryPath) {
  for (const int bases : golden_test::kTrainedBases) {
    const golden_test::TrainedNetwork network = golden_test::trained_network(bases);
    ASSERT_EQ(network.layers.size(), 8U);
    for (const PopcountPath path : kPopcountPaths) {
      if (!is_available(path)) continue;
      BitTensor bits = network.input;
      for (std::size_t i = 0; i < network.layers.size(); ++i) {
        const golden_test::TrainedLayer& layer = network.layers[i];
        bits = OptimisedBinaryConv(layer.conv, {path, 1}).run(bits, layer.stage);
        ASSERT_EQ(bits, layer.expected)
            << bases << " bases, layer " << i + 1 << ", " << popcount_path_name(path);
      }
    }
  }
}

TEST(TrainedBinaryNetwork, ItsWordsAreNoConstants) {
  for (const int bases : golden_test::kTrainedBases) {
    for (const golden_test::TrainedLayer& layer : golden_test::trained_network(bases).layers) {
      std::int64_t ones = 0;
      for (const std::uint64_t word : layer.expected.words) ones += std::popcount(word);
      const std::int64_t bits = element_count(layer.expected.shape.nhwc()) * layer.expected.bases;
      EXPECT_GT(ones * 50, bits);
      EXPECT_LT(ones * 50, bits * 49);
    }
  }
}

}  // namespace
}  // namespace qsim::golden
