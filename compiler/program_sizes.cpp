#include "compiler/program_sizes.h"

#include <algorithm>

#include "compiler/lowering/memory_plan.h"
#include "compiler/passes/passes.h"
#include "core/checked_math.h"

namespace qsim {
namespace {

// Each tile is a few commands, and loads of as many weight slots as its output channels need.
std::int64_t command_bound(const FusedLayer& layer, std::int64_t weight_bytes,
                           const ArchConfig& arch) {
  const ImageShape& out = layer.output.shape;
  const std::int64_t pixels = out.batch * layer.conv_height * layer.conv_width;
  const std::int64_t runs = pixels == 1 ? 1 : 2 * ceil_div(pixels, arch.accumulator_half_words());
  const std::int64_t column_blocks = ceil_div(out.channels, arch.array_cols);
  const std::int64_t slot_bytes =
      std::max<std::int64_t>(1, arch.weight_slot_words() * arch.array_cols);
  const std::int64_t loads = ceil_div(ceil_div(weight_bytes, column_blocks), slot_bytes);
  return column_blocks * runs * (2 + 2 * loads);
}

std::int64_t dram_bytes(const Value& value, const ArchConfig& arch) {
  return DramTensor{0, value, arch.block_channels()}.size_bytes();
}

}  // namespace

ProgramSizes program_sizes(const Graph& graph, const ArchConfig& arch) {
  std::vector<FusedLayer> layers = fuse_layers(graph);
  fold_first_layer_taps(layers, arch);
  ProgramSizes sizes;
  sizes.writable_bytes = dram_bytes(layers.front().input, arch);
  for (const FusedLayer& layer : layers) {
    const LayerGeometry geometry = layer_geometry(layer, arch);
    const std::int64_t weights = packed_weight_bytes(geometry, arch);
    sizes.writable_bytes = checked_add(sizes.writable_bytes, dram_bytes(layer.output, arch));
    sizes.constant_bytes = checked_add(sizes.constant_bytes,
                                       weights + geometry.column_blocks * arch.param_block_bytes());
    sizes.ofmap_elems = checked_add(sizes.ofmap_elems, element_count(layer.output.shape.nhwc()));
    sizes.commands += command_bound(layer, weights, arch);
  }
  return sizes;
}

}  // namespace qsim
