// golden_cpu_bench [--runs N] [--vector auto|avx512_vnni|avx_vnni|avx2|portable] [--layers]
// [--figures]
//     WORKLOAD.yaml
// Times the golden library's forward pass on one thread. One JSON object on stdout, with --figures
// the figures of bench/README.md; with --layers a line per layer on stderr first. GMAC/s and the
// share of the peak are of CPU time, which for one thread is wall time on an idle machine.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include <sys/resource.h>

#include "bench/common/cpu_clock.h"
#include "bench/common/figures.h"
#include "bench/golden_cpu/multiply_peak.h"
#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"

namespace qsim {

using namespace formats;
namespace {

struct Options {
  int runs = 9;
  bool layers = false;
  bool figures = false;
  golden::VectorPath vector_path = golden::VectorPath::kAuto;
  std::string workload;
};

golden::VectorPath parse_vector_path(const std::string& name) {
  using golden::VectorPath;
  if (name == golden::vector_path_name(VectorPath::kAuto)) return VectorPath::kAuto;
  for (const VectorPath path : golden::kVectorPaths) {
    if (golden::vector_path_name(path) == name) return path;
  }
  throw_bad_input("--vector " + name + "; auto, avx512_vnni, avx_vnni, avx2 or portable");
}

Options parse(int argc, char** argv) {
  Options options;
  options.figures = bench::take_figures_option(argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--runs" && i + 1 < argc) {
      options.runs = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--vector" && i + 1 < argc) {
      options.vector_path = parse_vector_path(argv[++i]);
    } else if (argument == "--layers") {
      options.layers = true;
    } else {
      options.workload = argument;
    }
  }
  if (options.workload.empty()) throw_bad_input("which workload? give a .yaml");
  return options;
}

double milliseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - begin;
  return elapsed.count();
}

// The least and the CPU time tell what the code can do, the median what a neighbour on the machine
// leaves of it.
struct Timing {
  double least_ms;
  double median_ms;
  double cpu_ms;  // median of this process's CPU time a run
  std::vector<double> sorted_ms;
};

Timing time_runs(int runs, const std::function<void()>& work) {
  std::vector<double> times;
  std::vector<double> cpu_times;
  for (int i = 0; i < runs; ++i) {
    const double cpu_begin = bench::cpu_seconds();
    times.push_back(milliseconds(work));
    cpu_times.push_back((bench::cpu_seconds() - cpu_begin) * 1e3);
  }
  std::sort(times.begin(), times.end());
  std::sort(cpu_times.begin(), cpu_times.end());
  return {times.front(), times[times.size() / 2], cpu_times[cpu_times.size() / 2], times};
}

double giga_per_second(std::int64_t macs, double elapsed_ms) {
  return static_cast<double>(macs) / elapsed_ms / 1e6;
}

// Each layer alone, as a graph of its own; repeated, so that its weights are as warm as they get.
void print_layers(const Graph& graph, const Tensor& input, const Options& options) {
  const golden::ExecutorOptions executor_options{.vector_path = options.vector_path};
  const std::vector<Tensor> ofmaps = golden::run_graph(graph, input, executor_options);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    Graph alone;
    alone.name = graph.layers[i].name;
    const Layer& layer = graph.layers[i];
    if (layer.inputs.size() > 1) {
      std::fprintf(stderr, "%-20s reads %zu tensors: not timed alone\n", layer.name.c_str(),
                   layer.inputs.size());
      continue;
    }
    alone.input_value() = graph.input_of(i);
    append(alone, layer.name, layer.operation, graph.output_of(i));
    const golden::GraphExecutor executor(alone, executor_options);
    // Tensor 0 is the input, and layer i writes tensor i + 1 (append()).
    const Tensor& ifmap = layer.inputs[0] == 0 ? input : ofmaps[layer.inputs[0] - 1];
    std::vector<Tensor> outputs = executor.run(ifmap);
    const Timing timing = time_runs(options.runs, [&] { executor.run(ifmap, outputs); });
    std::fprintf(stderr, "%-20s least %8.3f ms, median %8.3f ms, cpu %8.3f ms\n",
                 alone.name.c_str(), timing.least_ms, timing.median_ms, timing.cpu_ms);
  }
}

void print_figures(const std::string& network, const Timing& timing, double cpu_over_peak,
                   double peak_memory_bytes) {
  const std::string name = "golden_cpu/" + network;
  std::vector<double> seconds;
  for (const double ms : timing.sorted_ms) seconds.push_back(ms * 1e-3);
  bench::print_figure(bench::time_figure(name + "/forward", seconds));
  if (cpu_over_peak > 0) {
    bench::print_figure(bench::single_figure(name + "/cpu_time_over_multiply_peak", cpu_over_peak,
                                             "1", bench::Kind::kRatio));
  }
  bench::print_figure(bench::single_figure(name + "/peak_memory", peak_memory_bytes, "bytes",
                                           bench::Kind::kMemory));
}

void run(const Options& options) {
  const Workload workload = load_workload(options.workload);
  const Graph& graph = workload.graph;
  if (options.layers) print_layers(graph, workload.input, options);
  const golden::ExecutorOptions executor_options{.vector_path = options.vector_path};
  const double pack_ms =
      milliseconds([&] { const golden::GraphExecutor executor(graph, executor_options); });
  const golden::GraphExecutor executor(graph, executor_options);
  std::vector<Tensor> outputs = executor.run(workload.input);
  const Timing timing = time_runs(options.runs, [&] { executor.run(workload.input, outputs); });

  std::int64_t macs = 0;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) macs += layer_macs(graph, i);
  const double peak = bench::multiply_peak_macs_per_second(options.vector_path).value_or(0) / 1e9;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  if (options.figures) {
    const double achieved = giga_per_second(macs, timing.cpu_ms);
    return print_figures(graph.name, timing, peak / achieved,
                         static_cast<double>(usage.ru_maxrss) * 1024);
  }
  const std::string vector_path(vector_path_name(golden::resolve(options.vector_path)));
  std::printf(
      "{\"network\": \"%s\", \"vector_path\": \"%s\", \"runs\": %d, \"gmacs\": %.3f, "
      "\"pack_ms\": %.2f, \"least_ms\": %.3f, \"median_ms\": %.3f, \"cpu_ms\": %.3f, "
      "\"gmacs_per_second\": %.1f, \"limit\": \"%s\", "
      "\"peak_gmacs_per_second\": %.1f, \"share_of_peak\": %.3f, "
      "\"peak_rss_mib\": %ld}\n",
      graph.name.c_str(), vector_path.c_str(), options.runs, static_cast<double>(macs) / 1e9,
      pack_ms, timing.least_ms, timing.median_ms, timing.cpu_ms,
      giga_per_second(macs, timing.cpu_ms),
      std::string(bench::multiply_instructions(options.vector_path)).c_str(), peak,
      peak > 0 ? giga_per_second(macs, timing.cpu_ms) / peak : 0.0, usage.ru_maxrss / 1024);
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  try {
    qsim::run(qsim::parse(argc, argv));
  } catch (const qsim::Error& error) {
    std::fprintf(stderr, "golden_cpu_bench: %s\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
