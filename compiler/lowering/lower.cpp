#include "compiler/lowering/lower.h"

#include "compiler/lowering/schedule.h"

namespace qsim {
namespace {

// "8x32 x4 blocks": ofmap rows and columns of a tile, and column blocks; ", 2 acts" and ", 6
// weights" where a column block's reduction needs several loads of either; ", taps" where the host
// lays the window's taps side by side.
std::string mapping_text(const PlannedLayer& planned, const ArchConfig& arch) {
  const LayerGeometry& g = planned.geometry;
  std::size_t weights = 0;
  const std::vector<ActChunk> chunks = reduction_chunks(g, planned.tiling, 0, arch);
  for (const ActChunk& chunk : chunks) weights += chunk.weights.size();
  std::string text =
      std::to_string(planned.tiling.out_rows) + "x" + std::to_string(planned.tiling.out_cols) +
      " x" + std::to_string(g.column_blocks) + (g.column_blocks == 1 ? " block" : " blocks");
  if (chunks.size() > 1) text += ", " + std::to_string(chunks.size()) + " acts";
  if (weights > 1) text += ", " + std::to_string(weights) + " weights";
  if (planned.layer->taps) text += ", taps";
  return text;
}

ProgramLayer program_layer(const PlannedLayer& planned, const ArchConfig& arch) {
  const FusedLayer& layer = *planned.layer;
  return {layer.name,        layer.operation, mapping_text(planned, arch),
          layer.graph_layer, layer.macs,      planned.ofmap};
}

// Large networks have hundreds of thousands of commands: streams that grow by doubling would take
// three times their memory while they do.
void reserve_streams(Program& program, const MemoryPlan& plan) {
  std::array<std::size_t, kUnits> sizes{};
  const auto add = [&](Unit unit, std::int64_t count) {
    sizes[static_cast<std::size_t>(unit)] += static_cast<std::size_t>(count);
  };
  for (const PlannedLayer& planned : plan.layers) {
    const StepCounts counts = count_steps(planned, program.arch);
    add(Unit::kLoad, counts.steps + counts.act_loads + counts.groups);
    add(Unit::kExecute, counts.steps);
    add(Unit::kPost, counts.groups);
    add(Unit::kStore, counts.groups);
  }
  for (std::size_t u = 0; u < kUnits; ++u) {
    program.streams.reserve(static_cast<Unit>(u), sizes[u]);
  }
}

}  // namespace

Program lower(const std::string& name, const MemoryPlan& plan, const ArchConfig& arch,
              const OnSpentWeights& on_spent) {
  Program program;
  program.name = name;
  program.arch = arch;
  program.semaphores = token_semaphores(arch);
  program.writable_bytes = plan.writable_bytes;
  program.input = plan.input;
  reserve_streams(program, plan);
  Schedule schedule(program);
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const PlannedLayer& planned = plan.layers[i];
    program.layers.push_back(program_layer(planned, arch));
    program.segments.push_back(pack_weights(planned, arch, on_spent));
    program.segments.push_back(pack_params(planned, arch));
    for_each_step(planned, static_cast<std::int32_t>(i), arch,
                  [&](const Step& step) { schedule.add(step); });
    schedule.end_layer(i + 1 == plan.layers.size());
  }
  return program;
}

}  // namespace qsim
