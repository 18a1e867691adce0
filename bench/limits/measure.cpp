#include "bench/limits/measure.h"

#include <algorithm>
#include <functional>

#include "bench/common/cpu_clock.h"
#include "bench/golden_cpu/multiply_peak.h"
#include "bench/limits/memory_pass.h"
#include "compiler/compile.h"
#include "report/analysis/cycle_accounting.h"

namespace qsim::bench {

using namespace compiler;
using namespace formats;
using namespace report;
namespace {

constexpr int kRounds = 9;

std::size_t parameter_bytes(const Layer& layer) {
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
    return conv->weights.bytes.size() + conv->bias.bytes.size();
  }
  if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
    return fc->weights.bytes.size() + fc->bias.bytes.size();
  }
  return 0;
}

std::size_t network_bytes(const Workload& workload, const std::vector<Tensor>& ofmaps) {
  std::size_t bytes = workload.input.bytes.size();
  for (const Layer& layer : workload.graph.layers) bytes += parameter_bytes(layer);
  for (const Tensor& ofmap : ofmaps) bytes += ofmap.bytes.size();
  return bytes;
}

double multiply_seconds(double macs, golden::VectorPath path) {
  const std::optional<double> peak = multiply_peak_macs_per_second(path);
  if (!peak) throw_bad_input("limits_bench: no limit is known for this processor's instructions");
  return macs / *peak;
}

std::vector<double> combined(const std::vector<double>& a, const std::vector<double>& b,
                             const std::function<double(double, double)>& operation) {
  std::vector<double> result(a.size());
  std::transform(a.begin(), a.end(), b.begin(), result.begin(), operation);
  return result;
}

}  // namespace

PathMeasurement measure(Engine& engine, golden::VectorPath path, const ArchConfig& arch,
                        const Workload& workload) {
  const Program program = compile(workload.graph, arch);
  const RunAccount run = account(program, engine.run(program, workload.input, {}).times);
  const golden::GraphExecutor executor(workload.graph, {.vector_path = path});
  std::vector<Tensor> ofmaps = executor.run(workload.input);
  PathMeasurement found;
  found.network = workload.graph.name;
  found.path = path;
  found.macs = static_cast<double>(run.macs);
  found.simulate_bytes = run.dram_read_bytes + run.dram_write_bytes;
  found.golden_bytes = network_bytes(workload, ofmaps);
  MemoryPass moved(found.simulate_bytes);
  MemoryPass read(found.golden_bytes);
  for (int round = 0; round < kRounds; ++round) {
    found.multiply.push_back(multiply_seconds(found.macs, path));
    found.copy.push_back(moved.copy_seconds());
    found.read.push_back(read.read_seconds());
    found.simulate.push_back(cpu_seconds_of([&] { engine.run(program, workload.input, {}); }));
    found.golden.push_back(cpu_seconds_of([&] { executor.run(workload.input, ofmaps); }));
  }
  return found;
}

std::vector<double> sums(const std::vector<double>& a, const std::vector<double>& b) {
  return combined(a, b, std::plus<>());
}

std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b) {
  return combined(a, b, std::divides<>());
}

}  // namespace qsim::bench
