// The times of an EXECUTE of each dataflow, worked by hand from docs/reference/timing_model.md.
#include <gtest/gtest.h>

#include "core/machine/timing_model.h"

namespace qsim {
namespace {

ArchConfig array(std::int64_t rows, std::int64_t cols) {
  ArchConfig arch;
  arch.array_rows = rows;
  arch.array_cols = cols;
  return arch;
}

// 1 x `pixels` outputs under `planes` folds.
Execute execute(Dataflow dataflow, std::uint32_t pixels, std::uint32_t planes,
                std::uint32_t blocks = 1) {
  Execute e;
  e.dataflow = static_cast<std::uint32_t>(dataflow);
  e.blocks = blocks;
  e.planes = planes;
  e.kernel_h = e.kernel_w = 1;
  e.out_rows = 1;
  e.out_cols = pixels;
  return e;
}

struct Expected {
  std::uint64_t stream, useful, fill, drain;
};

void expect_terms(const Execute& e, const ArchConfig& arch, const Expected& expected) {
  const ExecuteTerms terms = execute_terms(e, arch);
  EXPECT_EQ(terms.stream(), expected.stream);
  EXPECT_EQ(terms.useful(), expected.useful);
  EXPECT_EQ(terms.bubble(), expected.stream - expected.useful);
  EXPECT_EQ(terms.fill, expected.fill);
  EXPECT_EQ(terms.drain, expected.drain);
  EXPECT_EQ(terms.duration().occupancy, expected.stream);
  EXPECT_EQ(terms.duration().latency, expected.fill + expected.stream + expected.drain);
}

TEST(ExecuteTerms, WeightStationaryStreamsAFoldForItsPixelsOrForTheNextFoldsWeights) {
  expect_terms(execute(Dataflow::kWeightStationary, 256, 36), array(16, 16),
               {9216, 9216, 16, 16 + 16 + 6});
  expect_terms(execute(Dataflow::kWeightStationary, 1, 16), array(16, 16), {256, 16, 16, 38});
  expect_terms(execute(Dataflow::kWeightStationary, 11, 3), array(8, 4), {33, 33, 8, 18});
  expect_terms(execute(Dataflow::kWeightStationary, 5, 3), array(8, 4), {24, 15, 8, 18});
}

TEST(ExecuteTerms, OutputStationaryRoundsPixelsUpToTheRows) {
  expect_terms(execute(Dataflow::kOutputStationary, 256, 36), array(16, 16),
               {9216, 9216, 0, 16 + 16 + 16 + 7});
  expect_terms(execute(Dataflow::kOutputStationary, 1, 16), array(16, 16), {256, 16, 0, 55});
  expect_terms(execute(Dataflow::kOutputStationary, 11, 3), array(8, 4), {48, 33, 0, 27});
  expect_terms(execute(Dataflow::kOutputStationary, 8, 3), array(8, 4), {24, 24, 0, 27});
  expect_terms(execute(Dataflow::kOutputStationary, 9, 3), array(4, 16), {36, 27, 0, 31});
}

TEST(ExecuteTerms, InputStationaryRoundsPixelsUpToTheColumnsAndStreamsAllBlocks) {
  expect_terms(execute(Dataflow::kInputStationary, 256, 36), array(16, 16),
               {9216, 9216, 16, 16 + 16 + 6});
  expect_terms(execute(Dataflow::kInputStationary, 256, 36, 4), array(16, 16),
               {36864, 36864, 16, 38});
  expect_terms(execute(Dataflow::kInputStationary, 1, 16, 8), array(16, 16), {2048, 128, 16, 38});
  expect_terms(execute(Dataflow::kInputStationary, 11, 3), array(8, 4), {72, 33, 8, 18});
  expect_terms(execute(Dataflow::kInputStationary, 11, 3, 2), array(8, 4), {72, 66, 8, 18});
  expect_terms(execute(Dataflow::kInputStationary, 11, 3, 3), array(8, 4), {108, 99, 8, 18});
  expect_terms(execute(Dataflow::kInputStationary, 17, 2), array(4, 16), {64, 34, 4, 26});
}

// The useful cycles of a period come first, and the last group has fewer.
TEST(ExecuteTerms, BubblesLieAtTheEndsOfPeriods) {
  const ExecuteTerms terms = execute_terms(execute(Dataflow::kInputStationary, 7, 2), array(8, 4));
  // Two groups of two periods of 8: 4 useful cycles each in the first group, 3 in the last.
  const std::uint64_t useful_in_period[] = {4, 4, 3, 3};
  std::uint64_t bubbles = 0;
  for (std::uint64_t cycle = 0; cycle < 32; ++cycle) {
    EXPECT_EQ(terms.bubble_before(cycle), bubbles) << cycle;
    bubbles += cycle % 8 >= useful_in_period[cycle / 8] ? 1 : 0;
  }
  EXPECT_EQ(terms.bubble_before(32), bubbles);
  EXPECT_EQ(terms.bubble(), bubbles);
}

TEST(ExecuteTerms, BubblesOfTheWholeStreamAreTheBubble) {
  for (const Dataflow dataflow :
       {Dataflow::kWeightStationary, Dataflow::kOutputStationary, Dataflow::kInputStationary}) {
    for (std::uint32_t pixels = 1; pixels < 40; ++pixels) {
      for (const auto& arch : {array(4, 16), array(8, 8), array(16, 4)}) {
        const ExecuteTerms terms = execute_terms(execute(dataflow, pixels, 3), arch);
        EXPECT_EQ(terms.bubble_before(terms.stream()), terms.bubble());
        EXPECT_EQ(terms.useful(), 3 * pixels);
      }
    }
  }
}

}  // namespace
}  // namespace qsim
