// report/analysis/dram_bytes.h and compiler/useful_macs.h: the second counts agree with the first
// on compiled programs, and a command or a layer that is counted in the wrong place is found.
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/useful_macs.h"
#include "core/base/error.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "formats/workload/workload.h"
#include "report/analysis/dram_bytes.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/core/program_draft.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace sim;
namespace {

// What the interpreter moves in a run of `program`.
DramTraffic traffic_of(const Program& program, const Tensor& input) {
  const RunResult result = make_program_interpreter(false)->run(program, input, {});
  return result.dram_traffic.value();
}

std::string error_of(const std::function<void()>& check) {
  try {
    check();
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

struct Case {
  Workload workload = load_workload("models/workloads/vgg8.yaml");
  ArchConfig arch = load_arch_config("configs/pe8x8.yaml");
  Program program = compile(workload.graph, arch);
};

TEST(Recount, AgreesOnEveryShippedWorkloadAndConfig) {
  for (const auto& model : std::filesystem::directory_iterator("models/workloads")) {
    const Workload workload = load_workload(model.path());
    for (const auto& config : std::filesystem::directory_iterator("configs")) {
      if (!config.is_regular_file()) continue;
      SCOPED_TRACE(model.path().string() + " on " + config.path().string());
      const Program program = compile(workload.graph, load_arch_config(config.path()));
      EXPECT_EQ(error_of([&] { check_useful_macs(workload.graph, program); }), "");
    }
  }
}

TEST(Recount, AgreesOnRandomLayers) {
  const ArchConfig shipped = load_arch_config("configs/pe8x8.yaml");
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ArchConfig arch = shrink_memories(shipped, random);
    const RandomLayer layer = make_random_layer(seed, arch);
    const Program program = compile(layer.graph, arch);
    EXPECT_EQ(error_of([&] { check_useful_macs(layer.graph, program); }), "");
    if (seed % 5 != 0) continue;  // the interpreter takes its time
    const DramTraffic traffic = traffic_of(program, layer.input);
    EXPECT_EQ(error_of([&] { check_dram_bytes(program, traffic); }), "");
  }
}

TEST(Recount, FindsACommandThatIsCountedForAnotherLayer) {
  const Case c;
  const DramTraffic traffic = traffic_of(c.program, c.workload.input);
  EXPECT_EQ(error_of([&] { check_dram_bytes(c.program, traffic); }), "");
  const auto error_with_layer_1 = [&](Unit unit, std::size_t command) {
    ProgramDraft draft(c.program);
    draft.stream(unit)[command].origin.layer = 1;
    const Program program = draft.program();
    return error_of([&] { check_dram_bytes(program, traffic); });
  };
  const CommandStream loads = c.program.stream(Unit::kLoad);
  std::size_t weights = 0;
  while (loads.fields<Load>(weights).memory != 1) ++weights;
  std::size_t activations = 0;
  while (loads.fields<Load>(activations).memory != 0) ++activations;
  EXPECT_NE(error_with_layer_1(Unit::kLoad, weights).find("layer 'conv2' reads conv1.weights"),
            std::string::npos);
  EXPECT_NE(error_with_layer_1(Unit::kLoad, activations)
                .find("a command of layer 'conv1' is after one of layer 'conv2'"),
            std::string::npos);
  EXPECT_NE(error_with_layer_1(Unit::kStore, 0).find("layer 'conv2' writes another tensor"),
            std::string::npos);
}

TEST(Recount, FindsBytesThatTheEngineMovesAndNoCommandAsksFor) {
  const Case c;
  DramTraffic traffic = traffic_of(c.program, c.workload.input);
  traffic.segments_read.back() += 1;
  EXPECT_NE(
      error_of([&] { check_dram_bytes(c.program, traffic); }).find("DRAM bytes of fc3.params"),
      std::string::npos);
  traffic.segments_read.back() -= 1;
  traffic.ofmaps[2].read -= 1;
  EXPECT_NE(
      error_of([&] { check_dram_bytes(c.program, traffic); }).find("layer 'conv3's ofmap read"),
      std::string::npos);
  traffic.ofmaps[2].read += 1;
  traffic.ofmaps[3].written += 1;
  EXPECT_NE(
      error_of([&] { check_dram_bytes(c.program, traffic); }).find("layer 'conv4's ofmap written"),
      std::string::npos);
  traffic.ofmaps[3].written -= 1;
  traffic.input_read += 1;
  EXPECT_NE(error_of([&] { check_dram_bytes(c.program, traffic); }).find("of the input"),
            std::string::npos);
}

// All commands of the second layer are counted for the first, so that their order is right.
TEST(Recount, FindsALayerWhoseCommandsAreCountedForTheOneBefore) {
  const Case c;
  const DramTraffic traffic = traffic_of(c.program, c.workload.input);
  const auto with_moved = [&](Unit unit) {
    ProgramDraft draft(c.program);
    for (auto& command : draft.stream(unit)) {
      if (command.origin.layer == 1) command.origin.layer = 0;
    }
    return draft.program();
  };
  EXPECT_NE(error_of([&] {
              check_dram_bytes(with_moved(Unit::kLoad), traffic);
            }).find("a command of layer 'conv1' reads conv2."),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              check_dram_bytes(with_moved(Unit::kStore), traffic);
            }).find("a command of layer 'conv1' writes another tensor"),
            std::string::npos);
}

// The sum stays what it was.
TEST(Recount, FindsUsefulMacsThatAreCountedForAnotherLayer) {
  Case c;
  c.program.layers[1].macs -= 1000;
  c.program.layers[2].macs += 1000;
  EXPECT_NE(error_of([&] {
              check_useful_macs(c.workload.graph, c.program);
            }).find("layer 'conv2' has 28310552 useful MACs; its STOREs' origins come to 28311552"),
            std::string::npos);
}

TEST(Recount, FindsAnOriginOfOtherCoordinates) {
  const Case c;
  ProgramDraft draft(c.program);
  Origin& origin = draft.stream(Unit::kStore)[0].origin;
  const std::int32_t rows = origin.y1 - origin.y0;
  origin.y0 += rows;
  origin.y1 += rows;
  const Program moved = draft.program();
  EXPECT_NE(error_of([&] { check_useful_macs(c.workload.graph, moved); }).find("layer 'conv1'"),
            std::string::npos);
  origin.y1 = 10000;
  const Program outside = draft.program();
  EXPECT_NE(error_of([&] {
              check_useful_macs(c.workload.graph, outside);
            }).find("is outside its layer's ofmap"),
            std::string::npos);
}

}  // namespace
}  // namespace qsim
