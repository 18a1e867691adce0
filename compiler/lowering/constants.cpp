#include "compiler/lowering/constants.h"

#include <algorithm>

#include "compiler/lowering/fold_bytes.h"
#include "compiler/lowering/loop_nest.h"
#include "core/machine/isa/parameter_block.h"

namespace qsim::compiler {
namespace {

// For each lane of the reduction (plane * array_rows + row) its index in the weights' depth, or -1
// for a lane that holds no channel. A vector is a flattened picture, whose lanes run as its bytes
// lie in DRAM: channel block, row, column, channel in the block. A pixel is a picture of one.
std::vector<std::int64_t> depth_of_lanes(const PlannedLayer& planned, const ArchConfig& arch) {
  const FusedLayer& layer = *planned.layer;
  std::vector<std::int64_t> depth(
      static_cast<std::size_t>(planned.geometry.planes * arch.array_rows), -1);
  const ImageShape picture = planned.geometry.traits().rows_are_vectors
                                 ? layer.input.shape
                                 : ImageShape{1, 1, 1, layer.depth};
  const std::int64_t block = arch.block_channels();
  for (std::size_t i = 0; i < depth.size(); ++i) {
    const auto lane = static_cast<std::int64_t>(i);
    const std::int64_t x = lane / block % picture.width;
    const std::int64_t y = lane / block / picture.width % picture.height;
    const std::int64_t c = lane / block / picture.width / picture.height * block + lane % block;
    if (c >= picture.channels) continue;
    depth[i] = layer.flatten == Flatten::Order::kChw
                   ? (c * picture.height + y) * picture.width + x
                   : (y * picture.width + x) * picture.channels + c;
  }
  return depth;
}

class WeightPacker {
 public:
  WeightPacker(const PlannedLayer& planned, const ArchConfig& arch)
      : planned_(planned),
        arch_(arch),
        nest_(planned.geometry, planned.mapping),
        reads_(planned.geometry.traits().reads),
        depth_(depth_of_lanes(planned, arch)) {
    if (planned.mapping.dataflow != Dataflow::kInputStationary) return;
    row_step_ = 1;
    column_step_ = arch.array_rows;
  }

  // A group's bytes are first written when the group is packed. By then `on_spent` has freed the
  // weights of the groups before it, so the packed bytes take their place.
  std::vector<std::byte> pack(const OnSpentWeights& on_spent) {
    bytes_.reserve(static_cast<std::size_t>(planned_.weights_bytes));
    for (std::int64_t group = 0; group < nest_.groups(); ++group) {
      const std::int64_t first = group * planned_.mapping.blocks;
      const Range blocks = {first, first + nest_.blocks_of_group(group)};
      pack_blocks(blocks, nest_.reduction_of_group(group));
      if (reads_ != ChannelReads::kItself) on_spent(weights_of(blocks));
    }
    QSIM_CHECK(static_cast<std::int64_t>(bytes_.size()) == planned_.weights_bytes,
               planned_.layer->name + ": packed " + std::to_string(bytes_.size()) + " bytes");
    return std::move(bytes_);
  }

 private:
  SpentWeights weights_of(const Range& blocks) const {
    const FusedLayer& layer = *planned_.layer;
    const std::int64_t channels = layer.output.shape.channels;
    const std::size_t bytes = layer.weights.size_bytes() + layer.wide_weights.size_bytes();
    const auto each = static_cast<std::int64_t>(bytes) / channels;
    const std::int64_t end = std::min(blocks.end * arch_.array_cols, channels);
    return {layer, static_cast<std::size_t>(blocks.begin * arch_.array_cols * each),
            static_cast<std::size_t>(end * each)};
  }

  // Whether the array's weights are the layer's bytes, moved.
  bool moves_bytes() const {
    return reads_ == ChannelReads::kAllChannels && !planned_.layer->weights.empty();
  }

  std::int64_t fold_bytes() const { return arch_.array_rows * arch_.array_cols; }

  void pack_blocks(const Range& blocks, const Reduction& reduction) {
    const std::size_t before = bytes_.size();
    bytes_.resize(before +
                  static_cast<std::size_t>(reduction.folds * blocks.size() * fold_bytes()));
    next_ = reinterpret_cast<std::int8_t*>(bytes_.data() + before);
    std::int64_t packed = 0;  // folds
    for (const WeightChunk& chunk : reduction.weights) {
      if (chunk.first_fold < packed) continue;  // taps before it have the same ones
      pack_chunk(blocks, chunk);
      packed += chunk.weight_folds();
    }
  }

  // The first EXECUTE's weights are those of all.
  void pack_chunk(const Range& blocks, const WeightChunk& chunk) {
    const Range rows = chunk.rows_of(0);
    const Range cols = chunk.cols_of(0);
    for (std::int64_t p = chunk.planes.begin; p < chunk.planes.end; ++p) {
      if (p + kPlanesAtOnce <= chunk.planes.end && pack_planes(blocks, p)) {
        p += kPlanesAtOnce - 1;
        continue;
      }
      for (std::int64_t ky = rows.begin; ky < rows.end; ++ky) {
        for (std::int64_t kx = cols.begin; kx < cols.end; ++kx) {
          for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
            pack_fold_of(block, {p, ky, kx, chunk.part});
            next_ += fold_bytes();
          }
        }
      }
    }
  }

  // Where in the reduction of a column block a fold is.
  struct FoldPlace {
    std::int64_t plane, ky, kx, part;
  };

  void pack_fold_of(std::int64_t block, const FoldPlace& place) {
    if (moves_bytes()) {
      return pack_bytes(fold_weights(block, place.plane, place.ky, place.kx));
    }
    return reads_ == ChannelReads::kItself ? pack_ones(block, place.plane)
                                           : pack_each(block, place);
  }

  // The weight in the fold that next_ begins.
  std::int8_t& weight(std::int64_t row, std::int64_t column) {
    return next_[row * row_step_ + column * column_step_];
  }

  // Weight by weight: of groups, whose other channels are 0 in the planes, and of wide weights.
  void pack_each(std::int64_t block, const FoldPlace& place) {
    const FusedLayer& layer = *planned_.layer;
    const std::int64_t inputs = layer.depth / layer.groups;  // channels of a group
    const std::int64_t outputs = layer.output.shape.channels / layer.groups;
    const std::int64_t first_lane =
        (planned_.geometry.planes_of(block).begin + place.plane) * arch_.array_rows;
    for (std::int64_t c = 0; c < columns_of(block); ++c) {
      const std::int64_t channel = block * arch_.array_cols + c;
      const std::int64_t first_input = channel / outputs * inputs;
      for (std::int64_t r = 0; r < arch_.array_rows; ++r) {
        const std::int64_t input = depth_[static_cast<std::size_t>(first_lane + r)];
        if (input < first_input || input >= first_input + inputs) continue;
        weight(r, c) = part_of(weight_at(channel, place, input - first_input), place.part);
      }
    }
  }

  std::int64_t weight_at(std::int64_t channel, const FoldPlace& place, std::int64_t input) const {
    const FusedLayer& layer = *planned_.layer;
    const Window& w = layer.window;
    const auto index = static_cast<std::size_t>(
        ((channel * w.kernel_h + place.ky) * w.kernel_w + place.kx) * (layer.depth / layer.groups) +
        input);
    return layer.weights.empty() ? layer.wide_weights[index] : layer.weights[index];
  }

  // The parts of a weight add up to it; each takes as much as int8 holds.
  static std::int8_t part_of(std::int64_t weight, std::int64_t part) {
    std::int64_t taken = 0;
    for (std::int64_t i = 0; i <= part; ++i) {
      weight -= taken;
      taken = std::clamp<std::int64_t>(weight, -128, 127);
    }
    return static_cast<std::int8_t>(taken);
  }

  std::int64_t columns_of(std::int64_t block) const {
    return std::min(arch_.array_cols,
                    planned_.layer->output.shape.channels - block * arch_.array_cols);
  }

  FoldWeights fold_weights(std::int64_t block, std::int64_t plane, std::int64_t ky,
                           std::int64_t kx) const {
    const FusedLayer& layer = *planned_.layer;
    const Window& window = layer.window;
    const std::int64_t pitch = window.kernel_h * window.kernel_w * layer.depth;
    return {layer.weights.data() + block * arch_.array_cols * pitch +
                (ky * window.kernel_w + kx) * layer.depth,
            pitch, depth_.data() + plane * arch_.array_rows, arch_.array_rows, columns_of(block)};
  }

  // Whether a fold has a weight everywhere, and its rows lie side by side.
  bool is_whole(const FoldWeights& fold) const {
    return column_step_ == 1 && fold.columns == arch_.array_cols &&
           *std::min_element(fold.depth, fold.depth + fold.rows) >= 0;
  }

  // Packs several planes and returns true where pack_neighbouring_planes() can: those of a
  // flattened picture, channels first, are its neighbouring columns.
  bool pack_planes(const Range& blocks, std::int64_t plane) {
    if (!moves_bytes() || arch_.array_cols % kPlanesAtOnce != 0) return false;
    const FoldWeights fold = fold_weights(blocks.begin, plane, 0, 0);
    if (!is_whole(fold)) return false;
    for (std::int64_t r = 0; r < fold.rows; ++r) {
      for (std::int64_t p = 1; p < kPlanesAtOnce; ++p) {
        if (fold.depth[p * fold.rows + r] != fold.depth[r] + p) return false;
      }
    }
    pack_neighbouring_planes(fold, next_);
    next_ += kPlanesAtOnce * arch_.array_rows * arch_.array_cols;
    return true;
  }

  void pack_bytes(const FoldWeights& fold) {
    if (is_whole(fold)) return pack_fold(fold, next_);
    for (std::int64_t c = 0; c < fold.columns; ++c) {
      const std::int8_t* from = fold.from + c * fold.pitch;
      for (std::int64_t r = 0; r < fold.rows; ++r) {
        if (fold.depth[r] >= 0) weight(r, c) = from[fold.depth[r]];
      }
    }
  }

  void pack_ones(std::int64_t block, std::int64_t plane_of_block) {
    const LayerGeometry& g = planned_.geometry;
    const std::int64_t plane = g.planes_of(block).begin + plane_of_block;
    for (std::int64_t c = 0; c < columns_of(block); ++c) {
      const std::int64_t r = g.row_of(block * arch_.array_cols + c, plane, arch_.array_rows);
      if (r >= 0 && r < arch_.array_rows) weight(r, c) = 1;
    }
  }

  const PlannedLayer& planned_;
  const ArchConfig& arch_;
  LoopNest nest_;
  ChannelReads reads_;
  // From a weight of a fold to that of the next row, and of the next column.
  std::int64_t row_step_ = arch_.array_cols;
  std::int64_t column_step_ = 1;
  std::vector<std::int64_t> depth_;
  std::vector<std::byte> bytes_;
  std::int8_t* next_ = nullptr;
};

}  // namespace

DramSegment pack_weights(const PlannedLayer& planned, const ArchConfig& arch,
                         const OnSpentWeights& on_spent) {
  return {planned.layer->name + ".weights", planned.weights_address,
          WeightPacker(planned, arch).pack(on_spent)};
}

DramSegment pack_params(const PlannedLayer& planned, const ArchConfig& arch) {
  const FusedLayer& layer = *planned.layer;
  DramSegment segment{layer.name + ".params", planned.params_address, {}};
  const LayerGeometry& g = planned.geometry;
  const std::int64_t number_bytes = planned.param_stride * g.column_blocks;
  segment.bytes.resize(static_cast<std::size_t>(number_bytes * g.param_blocks()));
  const auto block_bytes = static_cast<std::size_t>(arch.param_block_bytes());
  for (std::int64_t block = 0; layer.adder && block < g.column_blocks; ++block) {
    const auto begin = static_cast<std::size_t>(block * planned.param_stride);
    write_adder(std::span(segment.bytes).subspan(begin, block_bytes), *layer.adder);
  }
  if (layer.adder) return segment;
  for (std::size_t i = 0; i < layer.requantizers.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i / layer.bias.size());
    const auto channel = static_cast<std::int64_t>(i % layer.bias.size());
    const std::int64_t begin =
        number * number_bytes + channel / arch.array_cols * planned.param_stride;
    const std::span block =
        std::span(segment.bytes).subspan(static_cast<std::size_t>(begin), block_bytes);
    write_channel(block, arch, channel % arch.array_cols,
                  {layer.bias[i % layer.bias.size()], layer.requantizers[i]});
  }
  return segment;
}

DramSegment pack_table(const PlannedLayer& planned) {
  DramSegment segment{planned.layer->name + ".table", planned.table_address, {}};
  for (const std::int8_t entry : *planned.layer->table) {
    segment.bytes.push_back(static_cast<std::byte>(entry));
  }
  return segment;
}

}  // namespace qsim::compiler
