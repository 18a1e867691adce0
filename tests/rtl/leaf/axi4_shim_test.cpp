// The AXI4 shim moves every byte and breaks no rule of AXI4, however the five channels stall.
#include <Vshim128.h>
#include <Vshim16.h>
#include <Vshim4.h>
#include <gtest/gtest.h>

#include "tests/rtl/leaf/axi4_shim_bench.h"

namespace qsim::test {
namespace {

constexpr std::size_t kMemoryBytes = 256 * 1024;
constexpr std::uint64_t kCycleLimit = 2'000'000;

// Random bursts of all sizes, under each write order and from no to heavy stalls.
template <class Top>
void run_random_traffic(std::uint32_t bus_bytes, std::uint32_t max_beats) {
  for (std::uint64_t seed = 1; seed <= 18; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AxiMemoryOptions memory{.bus_bytes = bus_bytes};
    memory.write_order = static_cast<AxiWriteOrder>(seed % 3);
    memory.stall = 0.15 * static_cast<double>(seed % 6);
    // Responses so late that more bursts are open than the shim lists.
    if (seed % 9 == 0) memory.response_stall = 0.998;
    CoreTrafficOptions core{.bus_bytes = bus_bytes, .max_beats = max_beats, .bursts = 150};
    core.pause = 0.3 * static_cast<double>(seed % 4);
    Axi4ShimBench<Top> bench(memory, core, kMemoryBytes, seed);
    ASSERT_EQ(bench.run(kCycleLimit), "");
    EXPECT_FALSE(bench.error());
    // The traffic must have been such that bursts are cut.
    EXPECT_GT(bench.memory().address_bursts(), 2u * 150u);
  }
}

TEST(Axi4Shim, RandomTrafficOnA4ByteBusKeepsBytesAndProtocol) {
  run_random_traffic<Vshim4>(4, 256);
}

TEST(Axi4Shim, RandomTrafficOnA16ByteBusKeepsBytesAndProtocol) {
  run_random_traffic<Vshim16>(16, 64);
}

TEST(Axi4Shim, RandomTrafficOnA128ByteBusKeepsBytesAndProtocol) {
  run_random_traffic<Vshim128>(128, 64);
}

TEST(Axi4Shim, FullBurstsStreamAtABeatACycleBothWays) {
  const AxiMemoryOptions memory{.bus_bytes = 16};
  const CoreTrafficOptions core{.bus_bytes = 16, .bursts = 200, .full_bursts = true};
  Axi4ShimBench<Vshim16> bench(memory, core, kMemoryBytes, 1);
  ASSERT_EQ(bench.run(kCycleLimit), "");
  EXPECT_EQ(bench.traffic().read_beats(), 200u * 64u);
  EXPECT_EQ(bench.traffic().written_beats(), 200u * 64u);
  EXPECT_EQ(bench.memory().address_bursts(), 2u * 200u);
  EXPECT_LE(bench.cycles(), 200u * 64u + 32u);
}

TEST(Axi4Shim, AnErrorResponseIsKept) {
  for (const bool read : {true, false}) {
    for (const std::uint32_t resp : {2u, 3u}) {
      AxiMemoryOptions memory{.bus_bytes = 16, .stall = 0.3, .error_at = 7};
      (read ? memory.r_resp : memory.b_resp) = resp;
      const CoreTrafficOptions core{.bus_bytes = 16, .bursts = 20};
      Axi4ShimBench<Vshim16> bench(memory, core, kMemoryBytes, 1);
      ASSERT_EQ(bench.run(kCycleLimit), "");
      EXPECT_TRUE(bench.error()) << (read ? "read" : "write") << " response " << resp;
    }
  }
}

TEST(Axi4Shim, WhatNothingAskedForIsDroppedAndReported) {
  const AxiMemoryOptions memory{.bus_bytes = 16, .stall = 0.2};
  const CoreTrafficOptions core{.bus_bytes = 16, .bursts = 50};
  Axi4ShimBench<Vshim16> bench(memory, core, kMemoryBytes, 1);
  bench.send_unasked(3);
  EXPECT_TRUE(bench.error());
  EXPECT_EQ(bench.run(kCycleLimit), "");
}

}  // namespace
}  // namespace qsim::test
