// simulate_over_golden_bench [--figures] CONFIG.yaml WORKLOAD.yaml...
// What simulating a network with data takes beside golden on the CPU, in one process in turn, one
// thread each, processor time, medians of nine rounds. Golden is measured warm (its weights are
// packed) and cold (it packs them first, as `qsim run` does). The engine hands its ofmaps over
// where they are, as `qsim run` has it, which compares them outside of this time. Beside that: the
// least time of the work that the program asks for, zeros included, and what depthwise layers have
// of it.
#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include "bench/common/cpu_clock.h"
#include "bench/common/figures.h"
#include "bench/golden_cpu/multiply_peak.h"
#include "bench/limits/memory_pass.h"
#include "bench/simulate_over_golden/program_work.h"
#include "compiler/compile.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim::bench {

using namespace compiler;
using namespace formats;
using namespace sim;
namespace {

constexpr int kRounds = 9;

std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] / b[i]);
  return result;
}

// By round.
struct Samples {
  std::vector<double> simulate;
  std::vector<double> time_only;  // the engine without data
  std::vector<double> golden;     // warm
  std::vector<double> golden_cold;
  std::vector<double> limit;  // all products of the program at the processor's rate, and a copy of
                              // all bytes that its commands move
  std::vector<double> executes;
  std::vector<double> depthwise_executes;
};

class Network {
 public:
  Network(Engine& engine, const ArchConfig& arch, const std::string& file)
      : engine_(engine),
        workload_(load_workload(file)),
        program_(compile(workload_.graph, arch)),
        golden_(workload_.graph),
        ofmaps_(golden_.run(workload_.input)) {}

  void measure() {
    const RunResult run = simulate();
    const ProgramWork all = work_of(program_, run.times, [](std::size_t) { return true; });
    const ProgramWork depthwise = work_of(program_, run.times, depthwise_layers());
    const std::size_t bytes = moved_bytes(run.dram_traffic.value());
    Samples samples;
    MemoryPass moved(bytes);
    for (int round = 0; round < kRounds; ++round) take_samples(all, moved, samples);
    print(samples, all, depthwise, bytes);
  }

 private:
  RunResult simulate() {
    return engine_.run(program_, workload_.input,
                       {.take_ofmap = [](std::size_t, std::span<const std::byte>) {}});
  }

  LayerFilter depthwise_layers() const {
    return [this](std::size_t layer) {
      const auto graph_layer = static_cast<std::size_t>(program_.layers[layer].graph_layer);
      for (std::size_t i = first_graph_layer(layer); i <= graph_layer; ++i) {
        const auto* conv = std::get_if<Conv2d>(&workload_.graph.layers[i].operation);
        if (conv != nullptr && conv->groups > 1) return true;
      }
      return false;
    };
  }

  // A program layer has the graph layers after those of the one before it.
  std::size_t first_graph_layer(std::size_t layer) const {
    return layer == 0 ? 0 : static_cast<std::size_t>(program_.layers[layer - 1].graph_layer) + 1;
  }

  static std::size_t moved_bytes(const DramTraffic& traffic) {
    std::uint64_t bytes = traffic.input_read;
    for (const auto& ofmap : traffic.ofmaps) bytes += ofmap.read + ofmap.written;
    for (const std::uint64_t read : traffic.segments_read) bytes += read;
    return static_cast<std::size_t>(bytes);
  }

  void take_samples(const ProgramWork& all, MemoryPass& moved, Samples& samples) {
    samples.simulate.push_back(cpu_seconds_of([&] { simulate(); }));
    samples.golden.push_back(cpu_seconds_of([&] { golden_.run(workload_.input, ofmaps_); }));
    samples.golden_cold.push_back(
        cpu_seconds_of([&] { golden::GraphExecutor(workload_.graph).run(workload_.input); }));
    samples.time_only.push_back(
        cpu_seconds_of([&] { engine_.run(program_, workload_.input, {.move_data = false}); }));
    const double rate = multiply_peak_macs_per_second(golden::VectorPath::kAuto).value();
    samples.limit.push_back(static_cast<double>(all.streamed_macs) / rate + moved.copy_seconds());
    samples.executes.push_back(execute_seconds(program_, [](std::size_t) { return true; }));
    samples.depthwise_executes.push_back(execute_seconds(program_, depthwise_layers()));
  }

  void print(const Samples& samples, const ProgramWork& all, const ProgramWork& depthwise,
             std::size_t bytes) const {
    const std::string name = "simulate_over_golden/" + workload_.graph.name;
    const auto time = [&](const std::string& what, const std::vector<double>& values) {
      print_figure(time_figure(name + "/" + what, values));
    };
    const auto ratio = [&](const std::string& what, const std::vector<double>& values) {
      print_figure(
          median_figure(name + "/" + what, ratios(samples.simulate, values), "1", Kind::kRatio));
    };
    time("simulate", samples.simulate);
    time("time_only", samples.time_only);
    time("golden_warm", samples.golden);
    time("golden_cold", samples.golden_cold);
    time("limit", samples.limit);
    ratio("simulate_over_golden_warm", samples.golden);
    ratio("simulate_over_golden_cold", samples.golden_cold);
    ratio("simulate_over_limit", samples.limit);
    print_figure(count_figure(name + "/dram_bytes", static_cast<double>(bytes), "bytes"));
    print_work(name + "/all", all);
    time("all/execute_kernel", samples.executes);
    if (depthwise.executes == 0) return;
    print_work(name + "/depthwise", depthwise);
    time("depthwise/execute_kernel", samples.depthwise_executes);
  }

  static void print_work(const std::string& name, const ProgramWork& work) {
    const auto count = [&](const std::string& what, std::uint64_t value, const std::string& unit) {
      print_figure(count_figure(name + "/" + what, static_cast<double>(value), unit));
    };
    count("useful_macs", work.useful_macs, "MACs");
    count("streamed_macs", work.streamed_macs, "MACs");
    count("weight_bytes_loaded", work.weight_bytes, "bytes");
    count("executes", work.executes, "commands");
    count("cycles", work.cycles, "cycles");
  }

  Engine& engine_;
  Workload workload_;
  Program program_;
  golden::GraphExecutor golden_;
  std::vector<Tensor> ofmaps_;
};

int run(int argc, char** argv) {
  take_figures_option(argc, argv);
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: simulate_over_golden_bench [--figures] CONFIG.yaml WORKLOAD.yaml...\n");
    return 2;
  }
  const auto engine = make_systemc_engine({});
  const ArchConfig arch = load_arch_config(argv[1]);
  for (int i = 2; i < argc; ++i) Network(*engine, arch, argv[i]).measure();
  return 0;
}

}  // namespace
}  // namespace qsim::bench

int main(int argc, char** argv) {
  try {
    return qsim::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulate_over_golden_bench: %s\n", error.what());
    return 1;
  }
}
