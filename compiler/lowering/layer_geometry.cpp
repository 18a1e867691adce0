#include "compiler/lowering/layer_geometry.h"

#include <algorithm>

#include "core/checked_math.h"

namespace qsim {
namespace {

// Lanes of a flattened picture as it lies in DRAM, unused lanes of the last block included.
std::int64_t vector_lanes(const Value& picture, std::int64_t block) {
  return round_up(picture.shape.channels, block) * picture.shape.height * picture.shape.width;
}

}  // namespace

Range LayerGeometry::planes_of(std::int64_t block, const ArchConfig& arch) const {
  if (!is_identity) return {0, planes};
  const std::int64_t first_channel = block * arch.array_cols;
  const std::int64_t begin = first_channel / arch.array_rows;
  const std::int64_t end = ceil_div(first_channel + arch.array_cols, arch.array_rows);
  return {begin, std::min(end, planes)};
}

LayerGeometry layer_geometry(const FusedLayer& layer, const ArchConfig& arch) {
  LayerGeometry g;
  g.is_vector = layer.kind == FusedLayer::Kind::kFullyConnected;
  g.is_identity = layer.kind == FusedLayer::Kind::kIdentity;
  g.column_blocks = ceil_div(layer.output.shape.channels, arch.array_cols);
  g.window = layer.window;
  g.pool = layer.pool;
  g.granule_planes = arch.block_channels() / arch.array_rows;
  if (g.is_vector) {
    const std::int64_t batch = layer.input.shape.batch;
    g.in_rows = g.conv_rows = g.out_rows = batch;
    g.planes = vector_lanes(layer.input, arch.block_channels()) / arch.array_rows;
    return g;
  }
  g.pictures = layer.input.shape.batch;
  g.in_rows = layer.input.shape.height;
  g.in_cols = layer.input.shape.width;
  g.conv_rows = layer.conv_height;
  g.conv_cols = layer.conv_width;
  g.out_rows = layer.output.shape.height;
  g.out_cols = layer.output.shape.width;
  g.planes = ceil_div(layer.depth, arch.array_rows);
  return g;
}

Range conv_range(Range out, std::int64_t pool_kernel, std::int64_t pool_stride,
                 std::int64_t pool_pad, std::int64_t conv_size) {
  return {std::max<std::int64_t>(0, out.begin * pool_stride - pool_pad),
          std::min(conv_size, (out.end - 1) * pool_stride - pool_pad + pool_kernel)};
}

Range input_range(Range conv, Range kernel, std::int64_t stride, std::int64_t pad,
                  std::int64_t in_size) {
  const std::int64_t begin = conv.begin * stride + kernel.begin - pad;
  const std::int64_t end = (conv.end - 1) * stride + kernel.end - pad;
  const std::int64_t first = std::clamp<std::int64_t>(begin, 0, in_size - 1);
  return {first, std::clamp<std::int64_t>(end, first + 1, in_size)};
}

}  // namespace qsim
