#include "compiler/program_sizes.h"

#include <algorithm>

#include "compiler/accepted_layers.h"
#include "compiler/lowering/loop_nest.h"
#include "compiler/lowering/memory_plan.h"
#include "compiler/passes/passes.h"
#include "core/base/checked_math.h"

namespace qsim::compiler {

ProgramSizes program_sizes(const Graph& graph, const ArchConfig& arch,
                           const CompileOptions& options) {
  std::vector<FusedLayer> layers = accepted_layers(graph, arch, options.remedies);
  place_concats(layers, arch);
  if (options.host_packs_taps) fold_first_layer_taps(layers, arch);
  const MemoryPlan plan = plan_memory(layers, arch, options);
  ProgramSizes sizes;
  sizes.writable_bytes = plan.writable_bytes;
  sizes.resident_bytes = plan.shares_regions ? plan.writable_bytes : plan.live_bytes;
  for (const PlannedLayer& planned : plan.layers) {
    const CommandCounts counts = LoopNest(planned.geometry, planned.mapping).counts();
    const std::int64_t blocks = planned.geometry.column_blocks;
    sizes.constant_bytes += planned.weights_bytes + blocks * planned.param_stride;
    sizes.largest_block_bytes =
        std::max(sizes.largest_block_bytes, ceil_div(planned.weights_bytes, blocks));
    sizes.ofmap_elems += element_count(planned.ofmap.value.shape.nhwc());
    sizes.commands += counts.all();
  }
  return sizes;
}

}  // namespace qsim::compiler
