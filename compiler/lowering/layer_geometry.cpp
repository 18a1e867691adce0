#include "compiler/lowering/layer_geometry.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "core/base/checked_math.h"

namespace qsim::compiler {
namespace {

// Lanes of a flattened picture as it lies in DRAM, unused lanes of the last block included.
std::int64_t vector_lanes(const Value& picture, std::int64_t block) {
  return round_up(picture.shape.channels, block) * picture.shape.height * picture.shape.width;
}

// What each column block reads: whole channel blocks of DRAM, or all that there is, with the lanes
// that `lanes_of` gives for its output channels.
template <typename LanesOf>
std::vector<Range> own_planes(const LayerGeometry& g, const FusedLayer& layer,
                              const ArchConfig& arch, const LanesOf& lanes_of) {
  const std::int64_t granule = g.granule_planes * arch.array_rows;
  const std::int64_t channels = layer.output.shape.channels;
  std::vector<Range> blocks;
  for (std::int64_t c = 0; c < channels; c += arch.array_cols) {
    const Range lanes = lanes_of(Range{c, std::min(c + arch.array_cols, channels)});
    blocks.push_back({lanes.begin / granule * g.granule_planes,
                      std::min(g.planes, ceil_div(lanes.end, granule) * g.granule_planes)});
  }
  return blocks;
}

BlockPlanes shared(std::vector<Range> blocks) {
  return std::make_shared<const std::vector<Range>>(std::move(blocks));
}

// Gives each block as many planes as the largest needs, so that they have equal chunks: one near
// the end begins with planes that it does not need.
BlockPlanes made_equal(std::vector<Range> blocks, std::int64_t planes) {
  const std::int64_t most = std::ranges::max(blocks, {}, &Range::size).size();
  for (Range& block : blocks) {
    const std::int64_t begin = std::min(block.begin, planes - most);
    block = {begin, begin + most};
  }
  return shared(std::move(blocks));
}

void set_groups(LayerGeometry& g, const FusedLayer& layer, const ArchConfig& arch) {
  g.planes = round_up(g.planes, g.granule_planes);
  const std::int64_t inputs = layer.depth / layer.groups;  // channels of a group
  const std::int64_t outputs = layer.output.shape.channels / layer.groups;
  const auto lanes = [&](const Range& channels) -> Range {
    return {channels.begin / outputs * inputs, ceil_div(channels.end, outputs) * inputs};
  };
  g.kind = GroupedLayer{made_equal(own_planes(g, layer, arch, lanes), g.planes)};
}

void set_vectors(LayerGeometry& g, const FusedLayer& layer, const ArchConfig& arch) {
  g.kind = VectorLayer{};
  g.in_rows = g.conv_rows = g.out_rows = g.pictures;
  g.pictures = g.in_cols = g.conv_cols = g.out_cols = 1;
  g.planes = vector_lanes(layer.input, arch.block_channels()) / arch.array_rows;
}

void set_identity(LayerGeometry& g, const FusedLayer& layer, const ArchConfig& arch) {
  BlockPlanes blocks = shared(own_planes(g, layer, arch, std::identity()));
  if (g.window.kernel_h * g.window.kernel_w == 1) {
    g.kind = CopyLayer{std::move(blocks)};
    return;
  }
  AverageLayer average{std::move(blocks), nullptr};
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
  const auto lanes = [&](const Range& channels) -> Range {
    return {concat.lane_of(channels.begin, arch.array_rows),
            concat.lane_of(channels.end - 1, arch.array_rows) + 1};
  };
  concat.blocks = made_equal(own_planes(g, layer, arch, lanes), g.planes);
  g.kind = std::move(concat);
}

void set_add(LayerGeometry& g, const ArchConfig& arch) {
  g.planes = 2 * round_up(g.planes, g.granule_planes);
  std::vector<Range> blocks;
  for (std::int64_t block = 0; block < g.column_blocks; ++block) {
    const std::int64_t turn = block * arch.array_cols / arch.array_rows / g.granule_planes;
    blocks.push_back({2 * turn * g.granule_planes, 2 * (turn + 1) * g.granule_planes});
  }
  g.kind = AddLayer{shared(std::move(blocks))};
}

void set_kind(LayerGeometry& g, const FusedLayer& layer, const ArchConfig& arch) {
  switch (layer.kind) {
    case FusedLayer::Kind::kConvolution:
      if (layer.groups > 1) set_groups(g, layer, arch);
      return;
    case FusedLayer::Kind::kFullyConnected:
      return set_vectors(g, layer, arch);
    case FusedLayer::Kind::kIdentity:
      return set_identity(g, layer, arch);
    case FusedLayer::Kind::kConcat:
      return set_concat(g, layer, arch);
    case FusedLayer::Kind::kAdd:
      return set_add(g, arch);
  }
}

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
  g.planes = ceil_div(layer.depth, arch.array_rows);
  g.granule_planes = arch.block_channels() / arch.array_rows;
  g.column_blocks = ceil_div(layer.output.shape.channels, arch.array_cols);
  g.weight_parts = layer.weight_parts;
  g.tables = layer.table ? 1 : 0;
  g.window = layer.window;
  g.pool = layer.pool;
  set_kind(g, layer, arch);
  return g;
}

Range LayerGeometry::planes_of(std::int64_t block) const {
  return std::visit(
      [&](const auto& k) -> Range {
        if constexpr (requires { k.blocks; }) return (*k.blocks)[static_cast<std::size_t>(block)];
        return {0, planes};
      },
      kind);
}

OperandPlane LayerGeometry::operand_plane(std::int64_t plane) const {
  return std::visit(
      [&](const auto& k) -> OperandPlane {
        using Own = std::decay_t<decltype(k)>;
        if constexpr (Own::kTraits.has_operands) return k.operand_plane(plane, granule_planes);
        return {0, plane};
      },
      kind);
}

std::int64_t LayerGeometry::row_of(std::int64_t channel, std::int64_t plane,
                                   std::int64_t array_rows) const {
  if (const auto* concat = std::get_if<ConcatLayer>(&kind)) {
    return concat->lane_of(channel, array_rows) - plane * array_rows;
  }
  return channel - operand_plane(plane).plane * array_rows;
}

std::int64_t ConcatLayer::lane_of(std::int64_t channel, std::int64_t array_rows) const {
  auto place = operands->begin();
  while (place + 1 != operands->end() && (place + 1)->first_channel <= channel) ++place;
  return place->first_plane * array_rows + channel - place->first_channel;
}

OperandPlane ConcatLayer::operand_plane(std::int64_t plane, std::int64_t) const {
  auto place = operands->begin();
  while (place + 1 != operands->end() && (place + 1)->first_plane <= plane) ++place;
  return {static_cast<std::size_t>(place - operands->begin()), plane - place->first_plane};
}

OperandPlane AddLayer::operand_plane(std::int64_t plane, std::int64_t granule_planes) const {
  const std::int64_t turn = plane / granule_planes;
  return {static_cast<std::size_t>(turn % 2), turn / 2 * granule_planes + plane % granule_planes};
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

}  // namespace qsim::compiler
