// Whole compiled networks through qsim_accelerator_axi4 and an AXI4 memory that stalls at random on
// all five channels: every layer's bytes are golden's, and no rule of AXI4 is broken.
#include <algorithm>
#include <iostream>
#include <span>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"
#include "rtl/engine/rtl_harness.h"
#include "rtl/engine/rtl_parameters.h"
#include "tests/rtl/axi4/axi4_core.h"

namespace qsim::test {

using namespace compiler;
using namespace formats;
using namespace rtl;
namespace {

constexpr const char* kConfig = "tests/rtl/axi4/wide_bus.yaml";
constexpr std::uint64_t kCycleLimit = 30'000'000;

struct Stalls {
  std::uint64_t seed;
  double stall;
  double response_stall;
  AxiWriteOrder write_order;
};
constexpr Stalls kStalls[] = {{1, 0.2, 0, AxiWriteOrder::kAddressWaitsForData},
                              {2, 0.5, 0.9, AxiWriteOrder::kDataWaitsForAddress}};
// Takes a beat in ten cycles.
constexpr Stalls kSlowMemory[] = {{3, 0.9, 0, AxiWriteOrder::kAny},
                                  {4, 0.9, 0, AxiWriteOrder::kDataWaitsForAddress}};

// A network, compiled, with what golden makes of each program layer.
struct Network {
  Program program;
  Tensor input;
  std::vector<Tensor> ofmaps;
};

Network load_network(const std::string& name) {
  Workload workload = load_workload("models/workloads/" + name + ".yaml");
  Network network{compile(workload.graph, load_arch_config(kConfig)), workload.input, {}};
  const std::vector<Tensor> golden = golden::run_graph(workload.graph, workload.input);
  for (const ProgramLayer& layer : network.program.layers) {
    network.ofmaps.push_back(golden[static_cast<std::size_t>(layer.graph_layer)]);
  }
  return network;
}

// What a LOAD or STORE stream asks for: its beats, and its bursts as the core asks for them.
struct Demand {
  std::uint64_t beats = 0;
  std::uint64_t bursts = 0;
};

template <class Fields>
Demand demand_of(const Program& program, Unit unit) {
  const auto burst_beats = static_cast<std::uint64_t>(program.arch.burst_beats);
  Demand demand;
  for (const Instruction& instruction : program.stream(unit)) {
    const DramTransfer transfer =
        dram_transfer(std::get<Fields>(instruction.command.fields), program.arch);
    demand.beats += transfer.runs * transfer.run_beats;
    demand.bursts += transfer.runs * ((transfer.run_beats + burst_beats - 1) / burst_beats);
  }
  return demand;
}

void expect_bytes(const Network& network, const DramMemory& dram) {
  const std::vector<Tensor> ofmaps = dram.ofmaps();
  ASSERT_EQ(ofmaps.size(), network.ofmaps.size());
  for (std::size_t l = 0; l < ofmaps.size(); ++l) {
    const std::string& name = network.program.layers[l].name;
    EXPECT_TRUE(ofmaps[l].bytes == network.ofmaps[l].bytes) << "layer " << name << " differs";
    const auto& bytes = ofmaps[l].bytes;
    EXPECT_NE(std::count(bytes.begin(), bytes.end(), bytes[0]),
              static_cast<std::ptrdiff_t>(bytes.size()))
        << "layer " << name << " is all the same";
  }
}

// Exactly the program's beats, in more bursts than the core asks for: some were cut.
void expect_traffic(const Program& program, const Axi4Core& core) {
  const Axi4Traffic& traffic = core.traffic();
  const Demand loads = demand_of<Load>(program, Unit::kLoad);
  const Demand stores = demand_of<Store>(program, Unit::kStore);
  EXPECT_EQ(traffic.read_beats, loads.beats);
  EXPECT_EQ(traffic.written_beats, stores.beats);
  EXPECT_EQ(core.memory().answered_beats(), stores.beats);
  EXPECT_GT(core.memory().address_bursts(), loads.bursts + stores.bursts);
  EXPECT_GT(traffic.ar_waits, 0u);
  EXPECT_GT(traffic.r_waits, 0u);
  EXPECT_GT(traffic.aw_waits, 0u);
  EXPECT_GT(traffic.w_waits, 0u);
  EXPECT_GT(traffic.b_waits, 0u);
}

void print_run(const Stalls& stalls, std::uint64_t cycles, const Axi4Core& core) {
  const Axi4Traffic& t = core.traffic();
  std::cout << "stall seed " << stalls.seed << " (" << stalls.stall << "): " << cycles
            << " cycles, " << core.memory().address_bursts() << " bursts, " << t.read_beats
            << " beats read, " << t.written_beats << " written; cycles waited: AR " << t.ar_waits
            << ", R " << t.r_waits << ", AW " << t.aw_waits << ", W " << t.w_waits << ", B "
            << t.b_waits << std::endl;
}

void run_network(const std::string& name, std::span<const Stalls> all_stalls) {
  const Network network = load_network(name);
  for (const Stalls& stalls : all_stalls) {
    SCOPED_TRACE("stall seed " + std::to_string(stalls.seed));
    AxiMemoryOptions options;
    options.bus_bytes = static_cast<std::uint32_t>(network.program.arch.bus_bytes);
    options.stall = stalls.stall;
    options.response_stall = stalls.response_stall;
    options.write_order = stalls.write_order;
    DramMemory dram(network.program, network.input);
    Axi4Core core(network.program, dram, options, stalls.seed);
    RtlHarness harness(core, network.program, dram, {.dram_seed = {}, .cycle_limit = kCycleLimit});
    while (!harness.finished()) harness.step();
    const std::uint64_t cycles = harness.cycle();
    harness.finish();
    print_run(stalls, cycles, core);
    core.take_ofmaps(dram);
    expect_bytes(network, dram);
    expect_traffic(network.program, core);
  }
}

TEST(Axi4Network, TheVerilatedModelIsTheHardwareOfTheConfiguration) {
  const Network network = load_network("relu_alone");
  const DramMemory dram(network.program, network.input);
  const Axi4Core core(network.program, dram, {}, 1);
  EXPECT_EQ(rtl_parameter_difference(core.parameters(), rtl_parameters(network.program.arch)), "");
}

TEST(Axi4Network, AnOddConvolutionHasGoldensBytesThroughStallingAxi4) {
  run_network("conv_odd", kStalls);
}

TEST(Axi4Network, Vgg8HasGoldensBytesInEveryLayerThroughStallingAxi4) {
  run_network("vgg8", kStalls);
}

// The core cannot hold back the beats of a burst that was granted: they must find room.
TEST(Axi4Network, StoresThatComeFasterThanTheMemoryTakesThemHaveGoldensBytes) {
  run_network("relu_alone", kSlowMemory);
}

}  // namespace
}  // namespace qsim::test
