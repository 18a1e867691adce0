#include "bench/simulate_over_golden/program_work.h"

#include <utility>

#include "bench/common/cpu_clock.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/systemc/datapath/array_kernel.h"

namespace qsim::bench {

using namespace report;
using namespace sim;
namespace {

std::uint64_t weight_bytes(const Program& program, const LayerFilter& counts) {
  std::uint64_t bytes = 0;
  const CommandStream loads = program.stream(Unit::kLoad);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto load = loads.fields<Load>(i);
    if (static_cast<LoadMemory>(load.memory) != LoadMemory::kWeight) continue;
    if (!counts(static_cast<std::size_t>(loads.origin(i).layer))) continue;
    bytes += std::uint64_t{load.groups} * load.runs * load.run_bytes;
  }
  return bytes;
}

std::uint64_t executes(const Program& program, const LayerFilter& counts) {
  std::uint64_t commands = 0;
  const CommandStream stream = program.stream(Unit::kExecute);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (counts(static_cast<std::size_t>(stream.origin(i).layer))) ++commands;
  }
  return commands;
}

}  // namespace

ProgramWork work_of(const Program& program,
                    const std::array<std::vector<CommandTime>, kUnits>& times,
                    const LayerFilter& counts) {
  const RunAccount run = account(program, times);
  ProgramWork work;
  for (std::size_t layer = 0; layer < run.layers.size(); ++layer) {
    if (!counts(layer)) continue;
    work.useful_macs += run.layers[layer].macs;
    work.streamed_macs += run.layers[layer].streamed_macs;
    work.cycles += run.layers[layer].cycles();
  }
  work.weight_bytes = weight_bytes(program, counts);
  work.executes = executes(program, counts);
  return work;
}

double execute_seconds(const Program& program, const LayerFilter& counts) {
  Scratchpads scratchpads(program.arch);
  ArrayKernel kernel(best_vector_path());
  const CommandStream stream = program.stream(Unit::kExecute);
  std::pair<std::int32_t, std::int32_t> tile = {-1, -1};
  const double begin = cpu_seconds();
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const Origin& origin = stream.origin(i);
    if (!counts(static_cast<std::size_t>(origin.layer))) continue;
    if (std::pair(origin.layer, origin.tile) != tile) {
      tile = {origin.layer, origin.tile};
      scratchpads.written_activations(0, program.arch.act_words());
    }
    kernel.execute(stream.fields<Execute>(i), program.arch, scratchpads);
  }
  return cpu_seconds() - begin;
}

}  // namespace qsim::bench
