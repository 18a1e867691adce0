#include "tests/report/sample_run.h"

#include <cmath>

namespace qsim {

using namespace report;
namespace {

// Semaphores of the sample.
constexpr std::uint16_t kSampleActReady = 1 << 0;
constexpr std::uint16_t kSampleAccReady = 1 << 1;
constexpr std::uint16_t kSampleOutReady = 1 << 2;
constexpr std::uint16_t kSampleOfmapDone = 1 << 3;

template <typename Fields>
void append(Program& program, const Fields& fields, int layer, std::uint16_t wait,
            std::uint16_t signal) {
  program.streams.append({wait, signal, fields},
                         {layer, 0, 0, 1, 0, 1, 0, layer == 0 ? 10 : 2, 0, 4});
}

void add_layer(Program& program, int layer, std::uint32_t pixels, std::uint32_t folds) {
  Load load;
  load.run_bytes = 4 * pixels;
  load.runs = 1;
  load.groups = 1;
  Execute execute;
  execute.planes = folds;
  execute.kernel_h = execute.kernel_w = 1;
  execute.out_rows = 1;
  execute.out_cols = pixels;
  execute.blocks = 1;
  Post post;
  post.out_rows = 1;
  post.out_cols = pixels;
  post.pool_h = post.pool_w = 1;
  Store store;
  store.run_bytes = 4 * pixels;
  store.runs = 1;
  store.groups = 1;
  const std::uint16_t after_previous = layer == 0 ? 0 : kSampleOfmapDone;
  append(program, load, layer, after_previous, kSampleActReady);
  append(program, execute, layer, kSampleActReady, kSampleAccReady);
  append(program, post, layer, kSampleAccReady, kSampleOutReady);
  append(program, store, layer, kSampleOutReady, kSampleOfmapDone);

  ProgramLayer row;
  row.name = layer == 0 ? "conv1" : "fc, last";
  row.operation = layer == 0 ? "conv2d+relu" : "fully_connected";
  row.mapping = "1 tile";
  row.graph_layer = layer == 0 ? 1 : 2;
  row.macs = layer == 0 ? 400 : 120;
  row.ofmap.value.shape = {1, 1, pixels, 4};
  row.ofmap.block = 4;
  program.layers.push_back(row);
}

}  // namespace

Program sample_program() {
  Program program;
  program.name = "sample";
  program.arch.name = "pe4x4";
  program.arch.array_rows = program.arch.array_cols = 4;
  program.arch.bus_bytes = 4;
  const char* names[] = {"act_ready", "acc_ready", "out_ready", "ofmap_done"};
  for (std::size_t s = 0; s < 4; ++s) program.semaphores[s].name = names[s];
  program.semaphores[3].initial = 0;
  add_layer(program, 0, 10, 3);
  add_layer(program, 1, 2, 5);
  return program;
}

RunResult sample_result() {
  RunResult result;
  // Layer 0: the load takes 10 beats + 20 latency; 3 folds of 10 cycles, done 18 cycles later.
  // Layer 1: 5 folds of max(2, 4) cycles.
  result.times[0] = {{0, 10, 30}, {100, 102, 122}};
  result.times[1] = {{30, 60, 78}, {122, 142, 160}};
  result.times[2] = {{78, 88, 94}, {160, 162, 168}};
  result.times[3] = {{94, 97, 100}, {168, 170, 190}};
  result.wall_seconds = 0.25;
  return result;
}

RunReport sample_report() {
  RunReport report;
  report.engine = "systemc";
  report.provenance = {"0.1.0",  "abc123",    {"qsim", "run"}, 7,           "pe4x4", "fnv1a64:1",
                       "sample", "fnv1a64:2", "chelsea-32x32", "fnv1a64:3", "",      ""};
  add_layers(report, sample_program(), sample_result());
  report.phases = {0.1, 0.2, 0.25, 0.05, 0.02};
  const double sum = std::exp(-3.0) + 1 + std::exp(-2.0);
  report.top = {{1, "cat", 1 / sum, 4.0}, {2, "dog", std::exp(-2.0) / sum, 2.0}};
  VerifySummary verify;
  verify.golden = "cpu";
  verify.comparison.layers = {{"conv1", 40, 0}, {"fc, last", 8, 0}};
  report.verify = verify;
  return report;
}

}  // namespace qsim
