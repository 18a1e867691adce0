// EXECUTE's events (core/machine/energy_events.h) against the RTL: each operand that the unit reads
// is made another one, alone, and the registers whose values change with it are those that took it
// over.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/machine/energy_events.h"
#include "tests/rtl/energy/execute_bench.h"

namespace qsim::test {
namespace {

ArchConfig arch_of(ArrayShape shape) {
  ArchConfig arch;
  arch.array_rows = static_cast<std::int64_t>(shape.rows);
  arch.array_cols = static_cast<std::int64_t>(shape.cols);
  return arch;
}

// A command of a picture without pads: `channels` is of its reduction, in planes of R.
Execute execute_of(Dataflow dataflow, std::uint32_t out_rows, std::uint32_t out_cols,
                   std::uint32_t kernel, std::uint32_t planes, std::uint32_t blocks = 1) {
  Execute e;
  e.dataflow = static_cast<std::uint32_t>(dataflow);
  e.out_rows = out_rows;
  e.out_cols = out_cols;
  e.kernel_h = 1;
  e.kernel_w = kernel;
  e.stride_h = e.stride_w = 1;
  e.planes = planes;
  e.blocks = blocks;
  e.in_rows = out_rows;
  e.in_cols = out_cols + kernel - 1;
  e.act_row_words = e.in_cols;
  e.act_plane_words = e.in_rows * e.in_cols;
  e.pad_value = 1;
  return e;
}

// What the PEs' registers take over, as the RTL has it.
class Counted {
 public:
  Counted(ArrayShape shape, const Execute& execute)
      : shape_(shape), execute_(execute), usual_(record(shape, execute, {})) {}

  const Recorded& usual() const { return usual_; }

  std::uint64_t operand_bits(Changed::What what) const {
    const bool is_weight = what == Changed::What::kWeight;
    const std::size_t bytes = is_weight ? std::max(shape_.rows, shape_.cols) : shape_.rows;
    std::uint64_t taken = 0;
    for (std::size_t word = 0; word < reads(what); ++word) {
      for (std::size_t b = 0; b < bytes; ++b) taken += changed({what, word, b, 1}).operands;
    }
    return 8 * taken;
  }

  // What streams past the operands that stay, a whole vector of R at a time: each has a psum a
  // column.
  std::uint64_t moving_psums() const {
    const bool weights_stream = dataflow() == Dataflow::kInputStationary;
    const Changed::What what = weights_stream ? Changed::What::kWeight : Changed::What::kActivation;
    const std::size_t bytes = weights_stream ? std::max(shape_.rows, shape_.cols) : shape_.rows;
    std::uint64_t taken = 0;
    for (std::size_t word = 0; word < reads(what); ++word) {
      for (std::size_t b = 0; b < bytes; b += shape_.rows) {
        const TakenOver of_vector = changed({what, word, b, shape_.rows});
        EXPECT_EQ(of_vector.sums, 0u);
        taken += of_vector.psums;
      }
    }
    return taken;
  }

  // output_stationary: each product of a pixel updates its sum.
  std::uint64_t updated_sums() const {
    std::uint64_t taken = 0;
    for (std::size_t word = 0; word < usual_.activation_reads; ++word) {
      for (std::size_t b = 0; b < shape_.rows; ++b) {
        taken += changed({Changed::What::kActivation, word, b, 1}).sums;
      }
    }
    return taken;
  }

  // output_stationary: the finished sums leave. A pixel's depend on its first element, which is in
  // the word that its group's first fold reads.
  std::uint64_t leaving_psums() const {
    const std::size_t pixels = std::size_t{execute_.out_rows} * execute_.out_cols;
    const std::size_t folds = usual_.activation_reads / pixels;
    std::uint64_t taken = 0;
    for (std::size_t begin = 0; begin < pixels; begin += shape_.rows) {
      for (std::size_t p = 0; p < std::min(shape_.rows, pixels - begin); ++p) {
        taken += changed({Changed::What::kActivation, begin * folds + p, 0, 1}).psums;
      }
    }
    return taken;
  }

  TakenOver changed(const Changed& change) const {
    return taken_over(usual_, record(shape_, execute_, change));
  }

 private:
  Dataflow dataflow() const { return static_cast<Dataflow>(execute_.dataflow); }
  std::size_t reads(Changed::What what) const {
    return what == Changed::What::kWeight ? usual_.weight_reads : usual_.activation_reads;
  }

  ArrayShape shape_;
  Execute execute_;
  Recorded usual_;
};

void expect_ports(const EnergyEvents& events, const Recorded& recorded) {
  EXPECT_EQ(events.activation.reads, recorded.activation_reads);
  EXPECT_EQ(events.weight.reads, recorded.weight_reads);
  EXPECT_EQ(events.accumulator.reads, recorded.accumulator_reads);
  EXPECT_EQ(events.accumulator.writes, recorded.accumulator_writes);
}

void expect_events_of_rtl(ArrayShape shape, const Execute& execute) {
  SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.cols) + ", dataflow " +
               std::to_string(execute.dataflow) + ", pixels " + std::to_string(execute.out_rows) +
               " x " + std::to_string(execute.out_cols) + ", kernel " +
               std::to_string(execute.kernel_w) + ", planes " + std::to_string(execute.planes) +
               ", blocks " + std::to_string(execute.blocks));
  const EnergyEvents events = events_of(execute, arch_of(shape));
  const Counted counted(shape, execute);
  expect_ports(events, counted.usual());
  EXPECT_EQ(events.activation_hop_bits, counted.operand_bits(Changed::What::kActivation));
  EXPECT_EQ(events.weight_hop_bits, counted.operand_bits(Changed::What::kWeight));
  const auto dataflow = static_cast<Dataflow>(execute.dataflow);
  const std::uint64_t bits = psum_register_bits(shape, dataflow);
  if (dataflow == Dataflow::kOutputStationary) {
    const std::uint64_t sums = counted.updated_sums();
    EXPECT_EQ(events.pe_macs, sums);
    EXPECT_EQ(events.psum_hop_bits, bits * (sums + counted.leaving_psums()));
  } else {
    const std::uint64_t psums = counted.moving_psums();
    EXPECT_EQ(events.pe_macs, psums);
    EXPECT_EQ(events.psum_hop_bits, bits * psums);
  }
}

constexpr ArrayShape kShapes[] = {{4, 4}, {4, 8}, {8, 4}};

TEST(ExecuteEnergy, IsWhatTheRegistersOfTheRtlTakeOver) {
  constexpr std::uint64_t kSeed = 29;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  const auto draw = [&](int most) { return static_cast<std::uint32_t>(random.uniform(1, most)); };
  for (const ArrayShape shape : kShapes) {
    for (std::uint32_t d = 0; d < kDataflows; ++d) {
      const auto dataflow = static_cast<Dataflow>(d);
      const std::uint32_t blocks = dataflow == Dataflow::kInputStationary ? 2 : 1;
      // One group that is full on 4 x 4; several, whose last is partial; a single pixel; drawn
      // ones.
      expect_events_of_rtl(shape, execute_of(dataflow, 2, 2, 1, 1));
      expect_events_of_rtl(shape, execute_of(dataflow, 3, 3, 2, 1, blocks));
      expect_events_of_rtl(shape, execute_of(dataflow, 1, 1, 1, 2));
      expect_events_of_rtl(shape, execute_of(dataflow, draw(2), draw(3), draw(2), draw(2), blocks));
    }
  }
}

// By hand: 4 elements, a weight of each for 4 channels, pass 4 rows of 2 registers of 8 bits.
TEST(ExecuteEnergy, OfFourPixelsByHand) {
  Execute e = execute_of(Dataflow::kOutputStationary, 2, 2, 1, 1);
  const EnergyEvents os = events_of(e, arch_of({4, 4}));
  EXPECT_EQ(2 * os.weight_hop_bits, 2048u);  // a layer of two such commands
  EXPECT_EQ(os.activation_hop_bits, 4u * 4 * 4 * 8);
  // Each of 16 sums has 4 products; those of row r leave through 4 - r registers.
  EXPECT_EQ(os.psum_hop_bits, 32u * (16 * 4 + 4 * (4 + 3 + 2 + 1)));

  e.dataflow = static_cast<std::uint32_t>(Dataflow::kWeightStationary);
  const EnergyEvents ws = events_of(e, arch_of({4, 4}));
  EXPECT_EQ(ws.weight_hop_bits, 8u * 4 * (1 + 2 + 3 + 4 + 4));
  EXPECT_EQ(ws.psum_hop_bits, 18u * 4 * 4 * 4);

  e.dataflow = static_cast<std::uint32_t>(Dataflow::kInputStationary);
  const EnergyEvents is = events_of(e, arch_of({4, 4}));
  EXPECT_EQ(is.activation_hop_bits, ws.weight_hop_bits);
  EXPECT_EQ(is.weight_hop_bits, 4u * 4 * 4 * 8);
  EXPECT_EQ(is.psum_hop_bits, ws.psum_hop_bits);
}

TEST(ExecuteEnergy, OfACommandThatAddsReadsThePsumsOfEveryUpdate) {
  for (const ArrayShape shape : kShapes) {
    for (std::uint32_t dataflow = 0; dataflow < kDataflows; ++dataflow) {
      Execute e = execute_of(static_cast<Dataflow>(dataflow), 3, 3, 2, 2);
      e.accumulate = 1;
      const Recorded recorded = record(shape, e, {});
      expect_ports(events_of(e, arch_of(shape)), recorded);
      EXPECT_EQ(recorded.accumulator_reads, recorded.accumulator_writes);
    }
  }
}

// Each line begins with a pad, so no pad follows another one: its way can be told from theirs.
TEST(ExecuteEnergy, OfPadsIsTheirWayThroughTheArrayWithoutARead) {
  for (const ArrayShape shape : kShapes) {
    Execute e = execute_of(Dataflow::kWeightStationary, 4, 2, 1, 1);
    e.origin_col = -1;
    e.stride_w = 2;
    const EnergyEvents events = events_of(e, arch_of(shape));
    const Counted counted(shape, e);
    expect_ports(events, counted.usual());
    EXPECT_EQ(counted.usual().activation_reads, 4u);
    EXPECT_EQ(events.activation_hop_bits,
              counted.operand_bits(Changed::What::kActivation) +
                  8 * counted.changed({Changed::What::kPad, 0, 0, 1}).operands);
  }
}

}  // namespace
}  // namespace qsim::test
