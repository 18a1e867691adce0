// limits_bench [--figures] CONFIG.yaml WORKLOAD.yaml...
// What simulating a network, with data, and its golden take, beside what this machine needs for
// their least work alone: the multiplications at the rate of vpdpbusd between registers, and the
// bytes at the rate of plain passes over memory, one after the other. One thread; the parts of a
// round are measured in turn, so that a machine that slows down slows all of them. Needs AVX-512
// VNNI.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "analysis/cycle_accounting.h"
#include "bench/common/figures.h"
#include "bench/golden_cpu/multiply_peak.h"
#include "bench/limits/memory_pass.h"
#include "compiler/compile.h"
#include "compiler/workload/workload.h"
#include "files/arch_config_file.h"
#include "golden/cpu/graph_executor.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim {
namespace {

constexpr int kRounds = 9;

// Of one phase, a sample a round, in seconds.
struct Samples {
  std::vector<double> time;
  std::vector<double> limit;

  void add(double time_seconds, double limit_seconds) {
    time.push_back(time_seconds);
    limit.push_back(limit_seconds);
  }
};

struct Measured {
  std::string name;
  double macs = 0;
  std::size_t simulate_bytes = 0;
  std::size_t golden_bytes = 0;
  std::vector<double> multiply;  // seconds of all macs
  std::vector<double> copy;      // of simulate_bytes
  std::vector<double> read;      // of golden_bytes
  Samples simulate;
  Samples golden;
};

template <typename Work>
double seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::size_t parameter_bytes(const Layer& layer) {
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
    return conv->weights.bytes.size() + conv->bias.bytes.size();
  }
  if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
    return fc->weights.bytes.size() + fc->bias.bytes.size();
  }
  return 0;
}

// What golden reads once at least, beside small things: weights, biases, input, and every layer's
// output for the next.
std::size_t network_bytes(const Workload& workload, const std::vector<Tensor>& ofmaps) {
  std::size_t bytes = workload.input.bytes.size();
  for (const Layer& layer : workload.graph.layers) bytes += parameter_bytes(layer);
  for (const Tensor& ofmap : ofmaps) bytes += ofmap.bytes.size();
  return bytes;
}

double multiply_seconds(double macs) {
  const std::optional<double> peak =
      bench::multiply_peak_macs_per_second(golden::VectorPath::kAvx512Vnni);
  if (!peak) throw_bad_input("limits_bench: this processor has no AVX-512 VNNI");
  return macs / *peak;
}

Measured measure(Engine& engine, const ArchConfig& arch, const Workload& workload) {
  const Program program = compile(workload.graph, arch);
  const RunAccount run = account(program, engine.run(program, workload.input, {}).times);
  const golden::GraphExecutor executor(workload.graph, {});
  std::vector<Tensor> ofmaps = executor.run(workload.input);
  Measured found;
  found.name = "limits/" + workload.graph.name;
  found.macs = static_cast<double>(run.macs);
  // The commands say which bytes the engine has to move between DRAM and the scratchpads.
  found.simulate_bytes = run.dram_read_bytes + run.dram_write_bytes;
  found.golden_bytes = network_bytes(workload, ofmaps);
  MemoryPass moved(found.simulate_bytes);
  MemoryPass read(found.golden_bytes);
  for (int round = 0; round < kRounds; ++round) {
    found.multiply.push_back(multiply_seconds(found.macs));
    found.copy.push_back(moved.copy_seconds());
    found.read.push_back(read.read_seconds());
    found.simulate.add(engine.run(program, workload.input, {}).wall_seconds,
                       found.multiply.back() + found.copy.back());
    found.golden.add(seconds([&] { executor.run(workload.input, ofmaps); }),
                     found.multiply.back() + found.read.back());
  }
  return found;
}

std::vector<double> ratios(const Samples& samples) {
  std::vector<double> result;
  for (std::size_t i = 0; i < samples.time.size(); ++i) {
    result.push_back(samples.time[i] / samples.limit[i]);
  }
  return result;
}

struct PhaseFigures {
  bench::Figure time, limit, ratio;
};

PhaseFigures figures_of(const std::string& name, const Samples& samples) {
  return {
      bench::time_figure(name + "/time", samples.time),
      bench::time_figure(name + "/limit", samples.limit),
      bench::median_figure(name + "/time_over_limit", ratios(samples), "1", bench::Kind::kRatio)};
}

std::vector<double> scaled(std::vector<double> samples, double factor) {
  for (double& sample : samples) sample *= factor;
  return samples;
}

void print_phase(const PhaseFigures& phase, const char* what, bool figures) {
  if (figures) {
    for (const bench::Figure& figure : {phase.time, phase.limit, phase.ratio}) print_figure(figure);
    return;
  }
  std::printf("  %-8s  %8.3f ms, limit %8.3f ms, ratio %.2f\n", what, phase.time.value * 1e3,
              phase.limit.value * 1e3, phase.ratio.value);
}

void print(const Measured& found, bool figures) {
  const bench::Figure gigamac = bench::time_figure(found.name + "/multiply_gigamac",
                                                   scaled(found.multiply, 1e9 / found.macs));
  const bench::Figure copy =
      bench::time_figure(found.name + "/copy_gigabyte",
                         scaled(found.copy, 1e9 / static_cast<double>(found.simulate_bytes)));
  const bench::Figure read =
      bench::time_figure(found.name + "/read_gigabyte",
                         scaled(found.read, 1e9 / static_cast<double>(found.golden_bytes)));
  if (figures) {
    for (const bench::Figure& figure : {gigamac, copy, read}) print_figure(figure);
  } else {
    std::printf("%s: %.0f GMAC/s; %.1f MB copied at %.1f GB/s; %.1f MB read at %.1f GB/s\n",
                found.name.c_str(), 1 / gigamac.value,
                static_cast<double>(found.simulate_bytes) * 1e-6, 1 / copy.value,
                static_cast<double>(found.golden_bytes) * 1e-6, 1 / read.value);
  }
  print_phase(figures_of(found.name + "/simulate", found.simulate), "simulate", figures);
  print_phase(figures_of(found.name + "/golden", found.golden), "golden", figures);
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  const bool figures = qsim::bench::take_figures_option(argc, argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: limits_bench [--figures] CONFIG.yaml WORKLOAD.yaml...\n");
    return static_cast<int>(qsim::ExitCode::kUsage);
  }
  try {
    const auto engine = qsim::make_systemc_engine();
    const qsim::ArchConfig arch = qsim::load_arch_config(argv[1]);
    for (int i = 2; i < argc; ++i) {
      qsim::print(qsim::measure(*engine, arch, qsim::load_workload(argv[i])), figures);
    }
  } catch (const qsim::Error& error) {
    std::fprintf(stderr, "limits_bench: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
