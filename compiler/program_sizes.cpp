#include "compiler/program_sizes.h"

#include <algorithm>

#include "compiler/lowering/memory_plan.h"
#include "compiler/lowering/steps.h"
#include "compiler/passes/passes.h"
#include "core/checked_math.h"
#include "core/dram_memory.h"

namespace qsim {
namespace {

// The input and the ofmap of one layer, in memory at a time. The array works through rows of tiles:
// the ifmap goes behind it, the ofmap grows. So both together are no more than the larger one and
// what the ifmap is ahead: the rows of two rows of tiles, the window's overlap, and of each plane
// the chunk that is read.
std::int64_t live_bytes(const PlannedLayer& planned) {
  const std::int64_t ifmap = planned.ifmap.size_bytes();
  const std::int64_t ofmap = planned.ofmap.size_bytes();
  const LayerGeometry& g = planned.geometry;
  const std::int64_t rows_of_tiles =
      checked_mul(g.pictures, ceil_div(g.out_rows, planned.tiling.out_rows));
  const std::int64_t planes = checked_mul(planned.ifmap.value.shape.batch, planned.ifmap.blocks());
  const std::int64_t overlap = checked_mul(planes, g.window.kernel_h * planned.ifmap.row_bytes());
  const std::int64_t ahead = checked_add(checked_add(2 * ceil_div(ifmap, rows_of_tiles), overlap),
                                         checked_mul(planes, DramMemory::kReleaseBytes));
  return std::min(ifmap + ofmap, std::max(ifmap, ofmap) + ahead);
}

}  // namespace

ProgramSizes program_sizes(const Graph& graph, const ArchConfig& arch) {
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_first_layer_taps(layers, arch);
  const MemoryPlan plan = plan_memory(layers, arch);
  ProgramSizes sizes;
  sizes.writable_bytes = plan.writable_bytes;
  for (const PlannedLayer& planned : plan.layers) {
    const StepCounts counts = count_steps(planned, arch);
    sizes.live_bytes = std::max(sizes.live_bytes, live_bytes(planned));
    sizes.constant_bytes +=
        planned.weights_bytes + planned.geometry.column_blocks * planned.param_stride;
    sizes.largest_block_bytes = std::max(
        sizes.largest_block_bytes, ceil_div(planned.weights_bytes, planned.geometry.column_blocks));
    sizes.ofmap_elems += element_count(planned.ofmap.value.shape.nhwc());
    sizes.commands += 2 * counts.steps + counts.act_loads + 3 * counts.groups;
  }
  return sizes;
}

}  // namespace qsim
