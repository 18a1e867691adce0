#include "compiler/lowering/constants.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace qsim {
namespace {

// For each lane of the reduction (plane * array_rows + row) its index in the weights' depth, or -1
// for a lane that holds no channel. A flattened picture's lanes run as its bytes lie in DRAM:
// channel block, row, column, channel in the block.
std::vector<std::int64_t> depth_of_lanes(const PlannedLayer& planned, const ArchConfig& arch) {
  const FusedLayer& layer = *planned.layer;
  std::vector<std::int64_t> depth(
      static_cast<std::size_t>(planned.geometry.planes * arch.array_rows), -1);
  const ImageShape& picture = layer.input.shape;
  const std::int64_t block = arch.block_channels();
  for (std::size_t i = 0; i < depth.size(); ++i) {
    const auto lane = static_cast<std::int64_t>(i);
    if (!planned.geometry.is_vector) {
      if (lane < layer.depth) depth[i] = lane;
      continue;
    }
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

// The bytes at `from`, from + pitch, ... side by side.
template <typename Word>
Word gathered(const std::int8_t* from, std::int64_t pitch) {
  static_assert(std::endian::native == std::endian::little);
  Word word = 0;
#pragma GCC unroll 8
  for (unsigned i = 0; i < sizeof(Word); ++i) {
    word |= static_cast<Word>(static_cast<std::uint8_t>(from[i * pitch])) << (8 * i);
  }
  return word;
}

// A fold whose `rows` x `columns` weights are all there. Column c's lie from from[c * pitch] on,
// that of row r at depth[r]; a row of the fold is written in whole words.
template <typename Word>
void pack_whole_fold(const std::int8_t* from, std::int64_t pitch, const std::int64_t* depth,
                     std::int64_t rows, std::int64_t columns, std::int8_t* to) {
  constexpr auto kColumns = static_cast<std::int64_t>(sizeof(Word));
  for (std::int64_t first = 0; first < columns; first += kColumns) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const Word word = gathered<Word>(from + first * pitch + depth[r], pitch);
      std::memcpy(to + r * columns + first, &word, sizeof word);
    }
  }
}

class WeightPacker {
 public:
  WeightPacker(const PlannedLayer& planned, const ArchConfig& arch)
      : planned_(planned), arch_(arch), depth_(depth_of_lanes(planned, arch)) {}

  // A column block's bytes are first written when the block is packed. By then `on_spent` has
  // freed the weights of the blocks before it, so the packed bytes take their place.
  std::vector<std::byte> pack(const OnSpentWeights& on_spent) {
    bytes_.reserve(static_cast<std::size_t>(planned_.weights_bytes));
    for (std::int64_t block = 0; block < planned_.geometry.column_blocks; ++block) {
      pack_block(block);
      if (!planned_.geometry.is_identity) on_spent(weights_of(block));
    }
    QSIM_CHECK(static_cast<std::int64_t>(bytes_.size()) == planned_.weights_bytes,
               planned_.layer->name + ": packed " + std::to_string(bytes_.size()) + " bytes");
    return std::move(bytes_);
  }

 private:
  SpentWeights weights_of(std::int64_t block) const {
    const FusedLayer& layer = *planned_.layer;
    const std::int64_t channels = layer.output.shape.channels;
    const auto each = static_cast<std::int64_t>(layer.weights.size()) / channels;
    const std::int64_t first = block * arch_.array_cols;
    const std::int64_t count = std::min(arch_.array_cols, channels - first);
    return {layer, static_cast<std::size_t>(first * each),
            static_cast<std::size_t>((first + count) * each)};
  }

  void pack_block(std::int64_t block) {
    const LayerGeometry& g = planned_.geometry;
    const std::vector<ActChunk> chunks = reduction_chunks(g, planned_.tiling, block, arch_);
    std::int64_t folds = 0;
    for (const ActChunk& act : chunks) {
      for (const WeightChunk& chunk : act.weights) folds += chunk.folds();
    }
    const std::size_t before = bytes_.size();
    bytes_.resize(before + static_cast<std::size_t>(folds * arch_.array_rows * arch_.array_cols));
    next_ = reinterpret_cast<std::int8_t*>(bytes_.data() + before);
    for (const ActChunk& act : chunks) {
      for (const WeightChunk& chunk : act.weights) pack_chunk(block, chunk);
    }
  }

  void pack_chunk(std::int64_t block, const WeightChunk& chunk) {
    for (std::int64_t p = chunk.planes.begin; p < chunk.planes.end; ++p) {
      for (std::int64_t ky = chunk.kernel_rows.begin; ky < chunk.kernel_rows.end; ++ky) {
        for (std::int64_t kx = chunk.kernel_cols.begin; kx < chunk.kernel_cols.end; ++kx) {
          if (planned_.geometry.is_identity) {
            pack_identity_fold(block, p);
          } else {
            pack_fold(block, p, ky, kx);
          }
          next_ += arch_.array_rows * arch_.array_cols;
        }
      }
    }
  }

  void pack_fold(std::int64_t block, std::int64_t plane, std::int64_t ky, std::int64_t kx) {
    const FusedLayer& layer = *planned_.layer;
    const Window& window = layer.window;
    const std::int64_t first = block * arch_.array_cols;
    const std::int64_t columns = std::min(arch_.array_cols, layer.output.shape.channels - first);
    const std::int64_t rows = arch_.array_rows;
    const std::int64_t* depth = depth_.data() + plane * rows;
    const std::int64_t pitch = window.kernel_h * window.kernel_w * layer.depth;
    const std::int8_t* from =
        layer.weights.data() + first * pitch + (ky * window.kernel_w + kx) * layer.depth;
    if (columns == arch_.array_cols && *std::min_element(depth, depth + rows) >= 0) {
      const auto pack_whole =
          columns % 8 == 0 ? pack_whole_fold<std::uint64_t> : pack_whole_fold<std::uint32_t>;
      return pack_whole(from, pitch, depth, rows, columns, next_);
    }
    for (std::int64_t c = 0; c < columns; ++c, from += pitch) {
      for (std::int64_t r = 0; r < rows; ++r) {
        if (depth[r] >= 0) next_[r * arch_.array_cols + c] = from[depth[r]];
      }
    }
  }

  void pack_identity_fold(std::int64_t block, std::int64_t plane) {
    for (std::int64_t r = 0; r < arch_.array_rows; ++r) {
      const std::int64_t c = plane * arch_.array_rows + r - block * arch_.array_cols;
      if (c >= 0 && c < arch_.array_cols) next_[r * arch_.array_cols + c] = 1;
    }
  }

  const PlannedLayer& planned_;
  const ArchConfig& arch_;
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
  segment.bytes.resize(
      static_cast<std::size_t>(planned.param_stride * planned.geometry.column_blocks));
  const auto columns = static_cast<std::size_t>(arch.array_cols);
  for (std::size_t c = 0; c < layer.bias.size(); ++c) {
    std::byte* block =
        segment.bytes.data() + c / columns * static_cast<std::size_t>(planned.param_stride);
    const auto bias = static_cast<std::uint32_t>(layer.bias[c]);
    for (std::size_t i = 0; i < 4; ++i) {
      block[4 * (c % columns) + i] = static_cast<std::byte>(bias >> (8 * i));
    }
    block[4 * columns + c % columns] = static_cast<std::byte>(layer.shifts[c]);
  }
  return segment;
}

}  // namespace qsim
