// report/analysis/array_time.h and report/analysis/layer_edges.h
#include "report/analysis/array_time.h"

#include <numeric>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "report/analysis/layer_edges.h"
#include "tests/core/program_draft.h"
#include "tests/report/sample_run.h"

namespace qsim {

using namespace report;
namespace {

std::uint64_t part(const std::vector<ArrayTimePart>& parts, const std::string& id) {
  for (const ArrayTimePart& entry : parts) {
    if (entry.id == id) return entry.pe_cycles;
  }
  return 0;
}

TEST(ArrayTime, EveryPartOfTheSampleIsWhatItsTimesSay) {
  const RunReport report = sample_report();
  // Layer 0, cycles 0..100: 30 of streaming with 480 streamed MACs of which 400 useful; then the
  // array waits for what the commands before and after it do.
  const auto& conv = report.layers[0].timing->array_time;
  EXPECT_EQ(part(conv, "useful"), 400u);
  EXPECT_EQ(part(conv, "edge_lanes"), 80u);
  EXPECT_EQ(part(conv, "fold_bubbles"), 0u);
  EXPECT_EQ(part(conv, "wait_activations"), 10u * 16);
  EXPECT_EQ(part(conv, "wait_dram_latency"), 23u * 16);
  EXPECT_EQ(part(conv, "wait_array_latency"), 18u * 16);
  EXPECT_EQ(part(conv, "wait_post"), 10u * 16);
  EXPECT_EQ(part(conv, "wait_post_latency"), 6u * 16);
  EXPECT_EQ(part(conv, "wait_write_bus"), 3u * 16);
  // Layer 1, cycles 100..190: 20 of streaming, half of each fold a bubble.
  const auto& fc = report.layers[1].timing->array_time;
  EXPECT_EQ(part(fc, "useful"), 120u);
  EXPECT_EQ(part(fc, "edge_lanes"), 40u);
  EXPECT_EQ(part(fc, "fold_bubbles"), 10u * 16);
  EXPECT_EQ(part(fc, "wait_dram_latency"), 40u * 16);
}

TEST(ArrayTime, PartsOfARunAreTheSumsOfItsLayers) {
  const RunReport report = sample_report();
  for (const ArrayTimePart& total : report.total.timing->array_time) {
    EXPECT_EQ(total.pe_cycles, part(report.layers[0].timing->array_time, total.id) +
                                   part(report.layers[1].timing->array_time, total.id))
        << total.id;
  }
}

TEST(ArrayTime, PartsAddUpToAllPesInAllCycles) {
  const RunReport report = sample_report();
  for (const ReportLayer* layer : {&report.layers[0], &report.layers[1], &report.total}) {
    std::uint64_t sum = 0;
    for (const ArrayTimePart& entry : layer->timing->array_time) sum += entry.pe_cycles;
    EXPECT_EQ(sum, layer->timing->cycles * 16) << layer->name;
  }
  EXPECT_EQ(report.total.timing->cycles, 190u);
}

TEST(ArrayTime, AccountThatDoesNotAddUpIsABug) {
  const Program program = sample_program();
  LayerAccount layer;
  layer.end_cycle = 10;
  layer.stream_cycles = 4;
  layer.path.waits[static_cast<std::size_t>(PathPart::kPost)] = 6;
  layer.macs = layer.streamed_macs = 64;
  EXPECT_NO_THROW(array_time(program, layer));
  layer.path.waits[static_cast<std::size_t>(PathPart::kPost)] = 5;
  EXPECT_THROW(array_time(program, layer), InternalError);
}

TEST(ArrayTime, PrintedPercentagesAddUpToExactlyOneHundred) {
  Random random(11);
  for (int i = 0; i < 500; ++i) {
    std::vector<ArrayTimePart> parts(static_cast<std::size_t>(random.uniform(1, 9)));
    for (ArrayTimePart& entry : parts) {
      entry.pe_cycles = static_cast<std::uint64_t>(random.uniform(0, 1'000'000));
    }
    parts[0].pe_cycles += 1;
    const std::vector<std::int64_t> tenths = tenths_of_percent(parts);
    EXPECT_EQ(std::accumulate(tenths.begin(), tenths.end(), std::int64_t{0}), 1000) << i;
  }
}

TEST(ArrayTime, EdgeIsChargedToTheTokenThatCameLast) {
  ProgramDraft draft(sample_program());
  draft.semaphores[5] = {"acc_free", 2};  // there from the start
  for (Instruction& execute : draft.stream(Unit::kExecute)) execute.command.wait_mask |= 1 << 5;
  const Program program = draft.program();
  const RunResult result = sample_result();
  const RunAccount run = account(program, result.times);
  const std::vector<LayerEdges> edges = layer_edges(program, result.times, run);
  EXPECT_EQ(edges[0].start[0], 30u);
  EXPECT_EQ(edges[0].drain[0], 40u);
  EXPECT_EQ(edges[1].start[0], 22u);
  EXPECT_EQ(edges[1].start[5], 0u);
}

TEST(ArrayTime, StallWithinALayerStaysAStall) {
  // A second EXECUTE of layer 0 that waits 8 cycles for its activations.
  ProgramDraft draft(sample_program());
  RunResult result = sample_result();
  for (const Unit unit : {Unit::kExecute, Unit::kLoad}) {
    const Instruction first = draft.stream(unit)[0];
    draft.stream(unit).insert(draft.stream(unit).begin() + 1, first);
  }
  draft.command(Unit::kPost, 0).wait_mask = 1 << 1;
  draft.command(Unit::kExecute, 0).signal_mask = 0;
  result.times[0] = {{0, 10, 30}, {10, 20, 68}, {126, 128, 148}};
  result.times[1] = {{30, 60, 78}, {68, 98, 104}, {148, 168, 186}};
  result.times[2] = {{104, 114, 120}, {186, 188, 194}};
  result.times[3] = {{120, 123, 126}, {194, 196, 216}};
  RunReport report;
  add_layers(report, draft.program(), result);
  const LayerTiming& conv = *report.layers[0].timing;
  ASSERT_EQ(conv.stalls.size(), 1u);
  EXPECT_EQ(conv.stalls[0].cycles, 8u);
  EXPECT_EQ(conv.start_cycles, 30u);
  EXPECT_EQ(conv.drain_cycles, 28u);
}

}  // namespace
}  // namespace qsim
