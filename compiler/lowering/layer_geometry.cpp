#include "compiler/lowering/layer_geometry.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/checked_math.h"

namespace qsim {
namespace {

// Lanes of a flattened picture as it lies in DRAM, unused lanes of the last block included.
std::int64_t vector_lanes(const Value& picture, std::int64_t block) {
  return round_up(picture.shape.channels, block) * picture.shape.height * picture.shape.width;
}

// Output channels of a column block.
Range channels_of(const LayerGeometry& g, std::int64_t block, std::int64_t array_cols) {
  return {block * array_cols, std::min((block + 1) * array_cols, g.out_channels)};
}

// The lane (plane * array_rows + row) of all operands that is output channel `channel`.
std::int64_t lane_of(const ConcatLayer& concat, std::int64_t channel, std::int64_t array_rows) {
  auto place = concat.operands->begin();
  while (place + 1 != concat.operands->end() && (place + 1)->first_channel <= channel) ++place;
  return place->first_plane * array_rows + channel - place->first_channel;
}

// The lanes that output channels read.
Range lanes_of(const GroupedLayer& groups, const Range& channels, std::int64_t) {
  return {channels.begin / groups.outputs * groups.inputs,
          ceil_div(channels.end, groups.outputs) * groups.inputs};
}

Range lanes_of(const ConcatLayer& concat, const Range& channels, std::int64_t array_rows) {
  return {lane_of(concat, channels.begin, array_rows),
          lane_of(concat, channels.end - 1, array_rows) + 1};
}

// Whole channel blocks of DRAM, or all that there is.
Range planes_with(const LayerGeometry& g, const Range& lanes, std::int64_t array_rows) {
  const std::int64_t granule = g.granule_planes * array_rows;
  return {lanes.begin / granule * g.granule_planes,
          std::min(g.planes, ceil_div(lanes.end, granule) * g.granule_planes)};
}

// Makes `g` of this kind, whose column blocks all have as many planes as the largest needs.
template <typename Kind>
void set_equal_blocks(LayerGeometry& g, Kind kind, const ArchConfig& arch) {
  for (std::int64_t block = 0; block < g.column_blocks; ++block) {
    const Range lanes = lanes_of(kind, channels_of(g, block, arch.array_cols), arch.array_rows);
    kind.block_planes = std::max(kind.block_planes, planes_with(g, lanes, arch.array_rows).size());
  }
  g.kind = std::move(kind);
}

// The blocks have equal chunks, so one near the end begins with planes that it does not need.
template <typename Kind>
Range equal_block(const LayerGeometry& g, const Kind& kind, const Range& channels,
                  std::int64_t array_rows) {
  const Range needed = planes_with(g, lanes_of(kind, channels, array_rows), array_rows);
  const std::int64_t begin = std::min(needed.begin, g.planes - kind.block_planes);
  return {begin, begin + kind.block_planes};
}

void set_groups(LayerGeometry& g, const FusedLayer& layer, const ArchConfig& arch) {
  g.planes = round_up(g.planes, g.granule_planes);
  set_equal_blocks(g, GroupedLayer{layer.depth / layer.groups, g.out_channels / layer.groups},
                   arch);
}

void set_vectors(LayerGeometry& g, const FusedLayer& layer, const ArchConfig& arch) {
  g.kind = VectorLayer{};
  g.in_rows = g.conv_rows = g.out_rows = g.pictures;
  g.pictures = g.in_cols = g.conv_cols = g.out_cols = 1;
  g.planes = vector_lanes(layer.input, arch.block_channels()) / arch.array_rows;
}

void set_identity(LayerGeometry& g, const FusedLayer& layer) {
  g.kind = CopyLayer{};
  if (g.window.kernel_h * g.window.kernel_w == 1) return;
  AverageLayer average;
  if (layer.counts) average.counts = std::make_shared<const WindowCounts>(*layer.counts);
  g.kind = std::move(average);
}

// Each operand begins with a channel block of DRAM.
void set_concat(LayerGeometry& g, const FusedLayer& layer, const ArchConfig& arch) {
  std::vector<ConcatLayer::Place> places;
  std::int64_t channel = 0;
  g.planes = 0;
  const auto add = [&](const Value& value) {
    places.push_back({channel, g.planes});
    channel += value.shape.channels;
    g.planes += ceil_div(value.shape.channels, arch.block_channels()) * g.granule_planes;
  };
  add(layer.input);
  for (const FusedLayer::Operand& operand : layer.more_inputs) add(operand.value);
  ConcatLayer concat;
  concat.operands = std::make_shared<const std::vector<ConcatLayer::Place>>(std::move(places));
  set_equal_blocks(g, std::move(concat), arch);
}

void set_add(LayerGeometry& g) {
  g.kind = AddLayer{};
  g.planes = 2 * round_up(g.planes, g.granule_planes);
}

void set_kind(LayerGeometry& g, const FusedLayer& layer, const ArchConfig& arch) {
  switch (layer.kind) {
    case FusedLayer::Kind::kConvolution:
      if (layer.groups > 1) set_groups(g, layer, arch);
      return;
    case FusedLayer::Kind::kFullyConnected:
      return set_vectors(g, layer, arch);
    case FusedLayer::Kind::kIdentity:
      return set_identity(g, layer);
    case FusedLayer::Kind::kConcat:
      return set_concat(g, layer, arch);
    case FusedLayer::Kind::kAdd:
      return set_add(g);
  }
}

template <typename... Visitors>
struct Answers : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Answers(Visitors...) -> Answers<Visitors...>;

}  // namespace

LayerGeometry layer_geometry(const FusedLayer& layer, const ArchConfig& arch) {
  LayerGeometry g;
  g.pictures = layer.input.shape.batch;
  g.in_rows = layer.input.shape.height;
  g.in_cols = layer.input.shape.width;
  g.conv_rows = layer.conv_height;
  g.conv_cols = layer.conv_width;
  g.out_rows = layer.output.shape.height;
  g.out_cols = layer.output.shape.width;
  g.out_channels = layer.output.shape.channels;
  g.planes = ceil_div(layer.depth, arch.array_rows);
  g.granule_planes = arch.block_channels() / arch.array_rows;
  g.column_blocks = ceil_div(g.out_channels, arch.array_cols);
  g.weight_parts = layer.weight_parts;
  g.tables = layer.table ? 1 : 0;
  g.window = layer.window;
  g.pool = layer.pool;
  set_kind(g, layer, arch);
  return g;
}

Range LayerGeometry::planes_of(std::int64_t block, std::int64_t array_rows,
                               std::int64_t array_cols) const {
  const Range channels = channels_of(*this, block, array_cols);
  const Range all = {0, planes};
  const auto own = [&] { return planes_with(*this, channels, array_rows); };
  const auto equal = [&](const auto& k) { return equal_block(*this, k, channels, array_rows); };
  return std::visit(Answers{
                        [&](const ConvolutionLayer&) { return all; },
                        [&](const VectorLayer&) { return all; },
                        [&](const GroupedLayer& groups) { return equal(groups); },
                        [&](const CopyLayer&) { return own(); },
                        [&](const AverageLayer&) { return own(); },
                        [&](const ConcatLayer& concat) { return equal(concat); },
                        [&](const AddLayer&) -> Range {
                          const std::int64_t first =
                              channels.begin / array_rows / granule_planes * 2;
                          return {first * granule_planes, (first + 2) * granule_planes};
                        },
                    },
                    kind);
}

OperandPlane LayerGeometry::operand_plane(std::int64_t plane) const {
  return std::visit(
      Answers{
          [&](const ConcatLayer& concat) -> OperandPlane {
            auto place = concat.operands->begin();
            while (place + 1 != concat.operands->end() && (place + 1)->first_plane <= plane) {
              ++place;
            }
            return {static_cast<std::size_t>(place - concat.operands->begin()),
                    plane - place->first_plane};
          },
          [&](const AddLayer&) -> OperandPlane {
            const std::int64_t turn = plane / granule_planes;
            return {static_cast<std::size_t>(turn % 2),
                    turn / 2 * granule_planes + plane % granule_planes};
          },
          [&](const auto&) -> OperandPlane {
            return {0, plane};
          },
      },
      kind);
}

std::int64_t LayerGeometry::row_of(std::int64_t channel, std::int64_t plane,
                                   std::int64_t array_rows) const {
  if (const auto* concat = std::get_if<ConcatLayer>(&kind)) {
    return lane_of(*concat, channel, array_rows) - plane * array_rows;
  }
  return channel - operand_plane(plane).plane * array_rows;
}

Range conv_range(Range out, std::int64_t pool_kernel, std::int64_t pool_stride,
                 std::int64_t pool_pad, std::int64_t conv_size) {
  return {std::max<std::int64_t>(0, out.begin * pool_stride - pool_pad),
          std::min(conv_size, (out.end - 1) * pool_stride - pool_pad + pool_kernel)};
}

Range input_range(Range conv, Range kernel, std::int64_t stride, std::int64_t dilation,
                  std::int64_t pad, std::int64_t in_size) {
  const std::int64_t begin = conv.begin * stride + kernel.begin * dilation - pad;
  const std::int64_t end = (conv.end - 1) * stride + (kernel.end - 1) * dilation + 1 - pad;
  const std::int64_t first = std::clamp<std::int64_t>(begin, 0, in_size - 1);
  return {first, std::clamp<std::int64_t>(end, first + 1, in_size)};
}

}  // namespace qsim
