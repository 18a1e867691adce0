#include "compiler/lowering/constants.h"

#include <algorithm>
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

class WeightPacker {
 public:
  WeightPacker(const PlannedLayer& planned, const ArchConfig& arch)
      : planned_(planned), arch_(arch), depth_(depth_of_lanes(planned, arch)) {}

  std::vector<std::byte> pack() {
    bytes_.resize(static_cast<std::size_t>(planned_.weights_bytes));
    next_ = reinterpret_cast<std::int8_t*>(bytes_.data());
    const LayerGeometry& g = planned_.geometry;
    for (std::int64_t block = 0; block < g.column_blocks; ++block) {
      for (const ActChunk& act : reduction_chunks(g, planned_.tiling, block, arch_)) {
        for (const WeightChunk& chunk : act.weights) pack_chunk(block, chunk);
      }
    }
    return std::move(bytes_);
  }

 private:
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
    const std::int64_t* depth = depth_.data() + plane * arch_.array_rows;
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int8_t* from =
          layer.weights.data() +
          (((first + c) * window.kernel_h + ky) * window.kernel_w + kx) * layer.depth;
      for (std::int64_t r = 0; r < arch_.array_rows; ++r) {
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

DramSegment pack_weights(const PlannedLayer& planned, const ArchConfig& arch) {
  return {planned.layer->name + ".weights", planned.weights_address,
          WeightPacker(planned, arch).pack()};
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
