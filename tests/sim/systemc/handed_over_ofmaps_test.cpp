// Engines hand over the ofmaps that they would otherwise return, each once, and what the SystemC
// engine gives back of DRAM on the way is missed by nobody. Each test is a process of its own.
#include <chrono>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/interpreter/program_interpreter.h"
#include "sim/systemc/accelerator.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/compiler/graph_builder.h"
#include "tests/core/program_draft.h"
#include "tests/sim/systemc/hand_program.h"
#include "tests/sim/systemc/random_program.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace sim;
namespace {

// Unpacks what is handed over; a layer that comes twice is a failure.
class Taken {
 public:
  explicit Taken(const Program& program) : program_(program) {}

  TakeOfmap take() {
    return [this](std::size_t layer, std::span<const std::byte> dram) {
      ASSERT_LT(layer, program_.layers.size());
      const bool is_new = ofmaps_.emplace(layer, unpack(program_.layers[layer].ofmap, dram)).second;
      EXPECT_TRUE(is_new) << "layer " << layer << " is handed over twice";
    };
  }

  void expect(const std::vector<Tensor>& ofmaps) const {
    EXPECT_EQ(ofmaps_.size(), ofmaps.size());
    for (const auto& [layer, ofmap] : ofmaps_) {
      EXPECT_TRUE(ofmap == ofmaps.at(layer)) << "layer " << layer;
    }
  }

  std::size_t count() const { return ofmaps_.size(); }

 private:
  const Program& program_;
  std::map<std::size_t, Tensor> ofmaps_;
};

std::vector<Tensor> golden_ofmaps(const Graph& graph, const Tensor& input, const Program& program) {
  const std::vector<Tensor> golden = golden::run_graph(graph, input);
  std::vector<Tensor> ofmaps;
  for (const ProgramLayer& layer : program.layers) {
    ofmaps.push_back(golden[static_cast<std::size_t>(layer.graph_layer)]);
  }
  return ofmaps;
}

// On the engine as it is.
void expect_handed_over(Engine& engine, const Program& program, const Tensor& input,
                        const std::vector<Tensor>& ofmaps) {
  Taken taken(program);
  const RunResult result = engine.run(program, input, {.take_ofmap = taken.take()});
  EXPECT_TRUE(result.ofmaps.empty());
  taken.expect(ofmaps);
  const RunResult returned = engine.run(program, input, {});
  EXPECT_TRUE(returned.ofmaps == ofmaps);
  EXPECT_TRUE(returned.times == result.times);
}

// On the accelerator, with DRAM that goes page by page.
void expect_missed_by_nobody(Accelerator& accelerator, const Program& program, const Tensor& input,
                             const std::vector<Tensor>& ofmaps) {
  constexpr std::int64_t kPage = 4096;
  DramMemory dram(program, input);
  Scratchpads scratchpads(program.arch);
  Taken taken(program);
  const TakeOfmap take = taken.take();
  OfmapHandover handover(program, dram, take, kPage);
  accelerator.run(program, &scratchpads, &dram, &handover);
  taken.expect(ofmaps);
}

std::unique_ptr<Accelerator> make_accelerator() {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return std::make_unique<Accelerator>("accelerator", best_vector_path());
}

// How much of `tensor` has been given back, in parts of a thousand: counts stretches of a page's
// size that hold nothing but zeros, which no stretch of the tensor does while it is there.
std::int64_t gone_per_mille(const DramMemory& dram, const DramTensor& tensor) {
  constexpr std::int64_t kPage = 4096;
  const std::int64_t stretches = tensor.size_bytes() / kPage;
  std::int64_t gone = 0;
  for (std::int64_t i = 0; i < stretches; ++i) {
    const auto bytes = dram.read(tensor.address + i * kPage, kPage);
    gone += std::ranges::count(bytes, std::byte{0}) == kPage ? 1 : 0;
  }
  return 1000 * gone / stretches;
}

// With a second layer, whose ofmap no STORE writes: its bytes stay zero.
Program with_unwritten_layer(Program program) {
  program.layers.push_back(program.layers[0]);
  program.layers[1].ofmap.address = program.writable_bytes;
  program.writable_bytes += program.layers[1].ofmap.size_bytes();
  for (DramSegment& segment : program.segments) segment.address += program.writable_bytes;
  ProgramDraft draft(program);
  for (std::size_t i = 1; i < draft.stream(Unit::kLoad).size(); ++i) {
    draft.fields<Load>(i).dram_addr += static_cast<std::uint32_t>(program.writable_bytes);
  }
  return draft.program();
}

TEST(HandedOverOfmaps, RandomProgramsGiveTheBytesAndTimesOfARunThatReturnsThem) {
  const auto engine = make_systemc_engine();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram random = make_random_program(seed);
    expect_handed_over(*engine, random.program, random.input, random.ofmaps);
  }
}

TEST(HandedOverOfmaps, EveryEngineWithoutRtlHandsOverWhatItWouldReturn) {
  const ArchConfig arch = load_arch_config("configs/pe4x4.yaml");
  const auto systemc = make_systemc_engine();
  const auto interpreter = make_program_interpreter();
  const auto random_order = make_program_interpreter(true);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomLayer layer = make_random_layer(seed, arch);
    const Program program = compile(layer.graph, arch);
    const std::vector<Tensor> ofmaps = golden_ofmaps(layer.graph, layer.input, program);
    for (Engine* engine : {systemc.get(), interpreter.get(), random_order.get()}) {
      SCOPED_TRACE(engine->name());
      expect_handed_over(*engine, program, layer.input, ofmaps);
    }
  }
}

TEST(HandedOverOfmaps, RandomProgramsMissNoPage) {
  const auto accelerator = make_accelerator();
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram random = make_random_program(seed);
    expect_missed_by_nobody(*accelerator, random.program, random.input, random.ofmaps);
  }
}

TEST(HandedOverOfmaps, RandomLayersMissNoPage) {
  const auto accelerator = make_accelerator();
  std::int64_t pages = 0;
  for (const char* config : {"pe4x4", "pe16x16", "pe16x32"}) {
    const ArchConfig full = load_arch_config(std::string("configs/") + config + ".yaml");
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(std::string(config) + ", seed " + std::to_string(seed));
      Random random(seed);
      const ArchConfig arch = shrink_memories(full, random);
      const RandomLayer layer = make_random_layer(seed, arch);
      const Program program = compile(layer.graph, arch);
      expect_missed_by_nobody(*accelerator, program, layer.input,
                              golden_ofmaps(layer.graph, layer.input, program));
      pages += program.writable_bytes / 4096;
    }
  }
  EXPECT_GT(pages, 500);
}

TEST(HandedOverOfmaps, Vgg8OnEveryArrayIsHandedOverAndMissesNoPage) {
  const Workload workload = load_workload("models/workloads/vgg8.yaml");
  const auto accelerator = make_accelerator();
  for (const char* config : {"pe4x4", "pe8x8", "pe16x16", "pe16x32", "tpu128x128"}) {
    SCOPED_TRACE(config);
    const Program program =
        compile(workload.graph, load_arch_config(std::string("configs/") + config + ".yaml"));
    expect_missed_by_nobody(*accelerator, program, workload.input,
                            golden_ofmaps(workload.graph, workload.input, program));
  }
}

// Ofmaps of several chunks, a batch of two, halos that are read again.
TEST(HandedOverOfmaps, MostOfTheInputIsGoneWhenTheFirstOfmapIsHandedOver) {
  using testing::window;
  const Value picture = testing::picture(2, 160, 160, 20, 0, DType::kUint8);
  testing::GraphBuilder builder(7, picture);
  const Graph graph = builder.conv(40, window(3, 1, 1)).conv(20, window(3, 2, 1)).build();
  Tensor input(DType::kUint8, picture.shape.nhwc());
  Random random(8);
  for (std::byte& byte : input.bytes) byte = static_cast<std::byte>(random.uniform(1, 255));
  const auto accelerator = make_accelerator();
  for (const char* config : {"pe4x4", "pe16x16"}) {
    SCOPED_TRACE(config);
    const Program program =
        compile(graph, load_arch_config(std::string("configs/") + config + ".yaml"));
    const DramTensor& first = program.input.tensor;
    EXPECT_GT(first.size_bytes(), 3 * OfmapHandover::kChunkBytes);
    DramMemory dram(program, input);
    Scratchpads scratchpads(program.arch);
    Taken taken(program);
    std::vector<std::int64_t> input_gone;
    const TakeOfmap take = [&](std::size_t layer, std::span<const std::byte> bytes) {
      input_gone.push_back(gone_per_mille(dram, first));
      taken.take()(layer, bytes);
    };
    EXPECT_EQ(gone_per_mille(dram, first), 0);
    OfmapHandover handover(program, dram, take);
    accelerator->run(program, &scratchpads, &dram, &handover);
    taken.expect(golden_ofmaps(graph, input, program));
    ASSERT_EQ(input_gone.size(), 2u);
    EXPECT_GT(input_gone[0], 500);
    EXPECT_GE(input_gone[1], input_gone[0]);
    // The whole area, but for a page at either end.
    const std::int64_t end = program.writable_bytes - 8192;
    const auto bytes = dram.read(8192, end - 8192);
    EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; }));
  }
}

TEST(HandedOverOfmaps, ALayerThatNoStoreWritesIsHandedOverToo) {
  const Tensor zeros(DType::kInt8, hand_input().shape);
  const Program program = with_unwritten_layer(hand_program());
  expect_handed_over(*make_systemc_engine(), program, hand_input(), {hand_input(), zeros});
}

TEST(HandedOverOfmaps, WithoutDataNothingIsHandedOver) {
  const Program program = hand_program();
  Taken taken(program);
  const RunOptions options{.move_data = false, .take_ofmap = taken.take()};
  make_systemc_engine()->run(program, {}, options);
  make_program_interpreter()->run(program, hand_input(), options);
  EXPECT_EQ(taken.count(), 0u);
}

// Holds on any machine: outside of `outer` nothing of the run and nothing of the taker can lie.
TEST(HandedOverOfmaps, WhatTheTakerDoesIsNotInTheEnginesTime) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kSleep(50);
  const Program program = with_unwritten_layer(hand_program());
  std::size_t calls = 0;
  const TakeOfmap take = [&](std::size_t, std::span<const std::byte>) {
    ++calls;
    std::this_thread::sleep_for(kSleep);
  };
  const auto systemc = make_systemc_engine();
  const auto interpreter = make_program_interpreter();
  for (Engine* engine : {systemc.get(), interpreter.get()}) {
    SCOPED_TRACE(engine->name());
    calls = 0;
    const Clock::time_point begin = Clock::now();
    const RunResult result = engine->run(program, hand_input(), {.take_ofmap = take});
    const double outer = std::chrono::duration<double>(Clock::now() - begin).count();
    EXPECT_EQ(calls, 2u);
    EXPECT_GT(result.wall_seconds, 0);
    const double asleep = std::chrono::duration<double>(kSleep * calls).count();
    EXPECT_LE(result.wall_seconds + asleep, outer);
  }
}

TEST(HandedOverOfmaps, WhatTheTakerThrowsComesOutOfTheRunAndTheEngineRunsOn) {
  const auto engine = make_systemc_engine();
  const Program program = hand_program();
  const std::vector<Tensor> ofmaps = {hand_input()};
  const TakeOfmap refuse = [](std::size_t, std::span<const std::byte>) {
    throw_bad_input("not wanted");
  };
  const auto interpreter = make_program_interpreter();
  for (Engine* one : {engine.get(), interpreter.get()}) {
    try {
      one->run(program, hand_input(), {.take_ofmap = refuse});
      ADD_FAILURE() << one->name() << ": the run succeeds";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "not wanted");
      EXPECT_EQ(error.code(), ExitCode::kBadInput);
    }
    expect_handed_over(*one, program, hand_input(), ofmaps);
  }
}

}  // namespace
}  // namespace qsim
