#include "compiler/lowering/lower.h"

#include "compiler/lowering/constants.h"
#include "compiler/lowering/memory_plan.h"
#include "compiler/lowering/schedule.h"
#include "core/isa/command_codec.h"

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

// Every command must fit its 256 bits; what does not is beyond the accelerator.
void check_encodable(const Program& program) {
  for (const auto& stream : program.streams) {
    for (const Instruction& instruction : stream) {
      try {
        encode(instruction.command);
      } catch (const Error& error) {
        throw_unsupported(origin_text(program, instruction.origin) + ": " + error.what());
      }
    }
  }
}

}  // namespace

Program lower(const std::string& name, const std::vector<FusedLayer>& layers,
              const ArchConfig& arch) {
  const MemoryPlan plan = plan_memory(layers, arch);
  Program program;
  program.name = name;
  program.arch = arch;
  program.semaphores = token_semaphores(arch);
  program.writable_bytes = plan.writable_bytes;
  program.input = plan.input;
  Schedule schedule(program);
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const PlannedLayer& planned = plan.layers[i];
    program.layers.push_back(program_layer(planned, arch));
    program.segments.push_back(pack_weights(planned, arch));
    program.segments.push_back(pack_params(planned, arch));
    schedule.add_layer(layer_steps(planned, static_cast<std::int32_t>(i), arch),
                       i + 1 == plan.layers.size());
  }
  check_encodable(program);
  return program;
}

}  // namespace qsim
