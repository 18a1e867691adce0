// compiler/lowering/tensor_lifetimes.h: tensors that are needed together never share bytes, and
// sharing takes no fewer bytes than what is needed at once.
#include "compiler/lowering/tensor_lifetimes.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace qsim {

using namespace compiler;
namespace {

using Lifetimes = std::vector<TensorLifetime>;

constexpr std::int64_t kPage = 4096;

std::int64_t rounded(std::int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Each layer writes one tensor, which later layers read.
Lifetimes random_lifetimes(Random& random, std::size_t layers, std::size_t reach) {
  Lifetimes tensors = {{random.uniform(1, 50'000), 0, 0}};
  for (std::size_t i = 0; i < layers; ++i) {
    const auto more = static_cast<std::size_t>(random.uniform(0, static_cast<int>(reach)));
    tensors.push_back({random.uniform(1, 50'000), i, std::min(layers - 1, i + more)});
  }
  return tensors;
}

void expect_apart_while_needed(const Lifetimes& tensors, const DramPlaces& places) {
  ASSERT_EQ(places.addresses.size(), tensors.size());
  for (std::size_t a = 0; a < tensors.size(); ++a) {
    EXPECT_EQ(places.addresses[a] % kPage, 0);
    EXPECT_GE(places.addresses[a], 0);
    EXPECT_LE(places.addresses[a] + tensors[a].bytes, places.bytes);
    for (std::size_t b = 0; b < a; ++b) {
      if (tensors[a].first > tensors[b].last || tensors[b].first > tensors[a].last) continue;
      EXPECT_TRUE(places.addresses[a] + tensors[a].bytes <= places.addresses[b] ||
                  places.addresses[b] + tensors[b].bytes <= places.addresses[a])
          << "tensors " << a << " and " << b;
    }
  }
}

TEST(TensorLifetimes, TensorsThatAreNeededTogetherNeverShareBytes) {
  std::int64_t worst_per_mille = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto layers = static_cast<std::size_t>(random.uniform(1, 40));
    const Lifetimes tensors =
        random_lifetimes(random, layers, static_cast<std::size_t>(random.uniform(1, 8)));
    const DramPlaces places = place_by_lifetime(tensors);
    expect_apart_while_needed(tensors, places);
    const std::int64_t least = most_live_bytes(tensors);
    EXPECT_GE(places.bytes, least);
    EXPECT_LE(places.bytes, place_apart(tensors).bytes);
    EXPECT_EQ(places.addresses, place_by_lifetime(tensors).addresses);
    worst_per_mille = std::max(worst_per_mille, 1000 * places.bytes / least);
    if (::testing::Test::HasFailure()) break;
  }
  RecordProperty("worst_per_mille", static_cast<int>(worst_per_mille));
  EXPECT_LE(worst_per_mille, 1400);
}

// By hand: of layers 0, 1, 2 the second needs most.
TEST(TensorLifetimes, TheLeastIsTheLargestSumThatOneLayerNeeds) {
  const Lifetimes tensors = {
      {3 * kPage, 0, 0}, {kPage, 0, 1}, {2 * kPage - 1, 1, 2}, {4 * kPage, 1, 1}, {kPage, 2, 2}};
  EXPECT_EQ(most_live_bytes(tensors), 7 * kPage);
  EXPECT_EQ(place_by_lifetime(tensors).bytes, 7 * kPage);
  EXPECT_EQ(place_apart(tensors).bytes, 11 * kPage);
  EXPECT_EQ(place_apart(tensors).addresses,
            (std::vector<std::int64_t>{0, 3 * kPage, 4 * kPage, 6 * kPage, 10 * kPage}));
}

// A chain needs two tensors at a time, and is placed from one end to the other and back.
TEST(TensorLifetimes, OfAChainTheLargestPairIsEnough) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Lifetimes tensors;
    std::int64_t pair = 0;
    std::int64_t bytes = 60'000;
    for (std::size_t i = 0; i < 12; ++i) {
      tensors.push_back({bytes, i == 0 ? 0 : i - 1, i == 11 ? 10 : i});
      const std::int64_t next = bytes - random.uniform(0, bytes / 3);
      if (i < 11) pair = std::max(pair, rounded(bytes) + rounded(next));
      bytes = next;
    }
    EXPECT_EQ(most_live_bytes(tensors), pair);
    EXPECT_EQ(place_by_lifetime(tensors).bytes, pair);
  }
}

TEST(TensorLifetimes, ATensorWithManyReadersStaysUntilTheLast) {
  Lifetimes tensors = {{kPage, 0, 0}, {5 * kPage, 0, 40}};
  for (std::size_t reader = 1; reader <= 40; ++reader) tensors.push_back({kPage, reader, reader});
  const DramPlaces places = place_by_lifetime(tensors);
  expect_apart_while_needed(tensors, places);
  EXPECT_EQ(places.bytes, 6 * kPage);
}

}  // namespace
}  // namespace qsim
