// POST's events (core/machine/energy_events.h) against the RTL: how often the post unit reads and
// writes each memory. Data change no count, so it gets none.
#include <Vpost0.h>
#include <Vpost1.h>
#include <gtest/gtest.h>
#include <verilated.h>

#include "core/base/random.h"
#include "core/machine/energy_events.h"
#include "core/machine/isa/command_codec.h"

namespace qsim::test {
namespace {

constexpr std::int64_t kCols = 4;

struct PortCounts {
  std::uint64_t accumulator_reads = 0;
  std::uint64_t parameter_reads = 0;
  std::uint64_t table_reads = 0;
  std::uint64_t output_writes = 0;
};

template <typename Model>
PortCounts counts_of(const Post& post) {
  VerilatedContext context;
  Model model(&context);
  PortCounts counts;
  const auto cycle = [&] {
    model.clk_i = 0;
    model.eval();
    counts.accumulator_reads += model.acc_read_o;
    counts.parameter_reads += model.param_read_o;
    counts.table_reads += model.table_read_o;
    counts.output_writes += model.out_write_o;
    model.clk_i = 1;
    model.eval();
  };
  const EncodedCommand bits = encode(Command{0, 0, post});
  for (std::size_t i = 0; i < bits.size(); ++i) {
    model.command_i[2 * i] = static_cast<IData>(bits[i]);
    model.command_i[2 * i + 1] = static_cast<IData>(bits[i] >> 32);
  }
  model.rst_ni = 0;
  cycle();
  model.rst_ni = 1;
  counts = {};
  model.start_i = 1;
  do {
    cycle();
    model.start_i = 0;
  } while (model.idle_o == 0);
  model.final();
  return counts;
}

Post random_post(Random& random, bool is_dyadic) {
  const auto draw = [&](int least, int most) {
    return static_cast<std::uint32_t>(random.uniform(least, most));
  };
  Post p;
  p.in_rows = draw(1, 7);
  p.in_cols = draw(1, 7);
  p.out_rows = draw(1, 5);
  p.out_cols = draw(1, 5);
  p.pool_h = draw(1, 4);
  p.pool_w = draw(1, 4);
  p.pool_stride_h = draw(1, 4);
  p.pool_stride_w = draw(1, 4);
  p.origin_row = static_cast<std::int32_t>(random.uniform(-4, 4));
  p.origin_col = static_cast<std::int32_t>(random.uniform(-4, 4));
  if (is_dyadic) {
    p.add = draw(0, 1);
    p.lookup = draw(0, 1);
  }
  return p;
}

template <typename Model>
void expect_events_of_rtl(bool is_dyadic) {
  ArchConfig arch;
  arch.array_cols = kCols;
  arch.requantizer = is_dyadic ? RequantizerKind::kDyadic : RequantizerKind::kShift;
  const auto slot = static_cast<std::uint64_t>(arch.param_block_bytes());
  const auto bus = static_cast<std::uint64_t>(arch.bus_bytes);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Post post = random_post(random, is_dyadic);
    const PortCounts counts = counts_of<Model>(post);
    const EnergyEvents events = events_of(post, arch);
    EXPECT_EQ(events.accumulator.reads, counts.accumulator_reads);
    EXPECT_EQ(events.output.writes, counts.output_writes);
    // All lanes read their tables at once, each a word of the bus.
    EXPECT_EQ(events.parameter.reads, counts.parameter_reads + kCols * counts.table_reads);
    EXPECT_EQ(events.parameter.read_bits,
              8 * (slot * counts.parameter_reads + bus * kCols * counts.table_reads));
    EXPECT_EQ(events.adds, kCols * counts.accumulator_reads);
  }
}

TEST(PostEnergy, IsWhatTheRtlReadsAndWrites) { expect_events_of_rtl<Vpost0>(false); }

TEST(PostEnergy, IsWhatTheRtlReadsAndWritesWithTablesAndAdditions) {
  expect_events_of_rtl<Vpost1>(true);
}

}  // namespace
}  // namespace qsim::test
