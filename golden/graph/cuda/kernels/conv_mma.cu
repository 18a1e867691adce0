// The portable convolution on tensor cores: chooses a tile, packs the weights for it, launches.
#include <algorithm>
#include <string>
#include <vector>

#include "core/base/checked_math.h"
#include "golden/device/launch.cuh"
#include "golden/graph/cuda/kernels/conv_mma_kernel.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr std::int64_t kMost = 1 << 30;

// Pixels, coordinates, depth and blocks are 32-bit integers in the kernel, with room for a tile
// more.
bool fits(const ConvTask& task) {
  const ImageShape& in = task.input.shape;
  const ImageShape& out = task.ofmap.shape;
  const Window& w = task.window;
  return out.batch * out.height * out.width < kMost && out.channels < kMost &&
         in.height + w.pad_top + w.pad_bottom < kMost / 2 &&
         in.width + w.pad_left + w.pad_right < kMost / 2 && in.batch * in.height < kMost &&
         w.stride_h < kMost && w.stride_w < kMost && w.extent_h() < kMost / 2 &&
         w.extent_w() < kMost / 2 && task.depth() < kMost &&
         (out.batch * out.height * out.width / 64 + 1) * (out.channels / 64 + 1) < kMost;
}

// The widest unit that divides the channels of a pixel.
int unit_bytes(std::int64_t channels) {
  if (channels % 16 == 0) return 16;
  return channels % 4 == 0 ? 4 : 1;
}

template <typename Tile>
std::vector<std::int8_t> pack_weights(const ConvTask& task, int depth_steps) {
  const std::int64_t channels = task.ofmap.shape.channels;
  const std::int64_t depth = task.depth();
  const std::int64_t tiles = ceil_div(channels, Tile::kN);
  std::vector<std::int8_t> packed(
      static_cast<std::size_t>(tiles * depth_steps * Tile::kN * kMmaDepth), 0);
  for (std::int64_t column = 0; column < tiles * Tile::kN; ++column) {
    const int in_tile = static_cast<int>(column % Tile::kN);
    const std::int64_t tile = column / Tile::kN;
    const std::int64_t co = tile * Tile::kN + mma_channel_of_column(in_tile, Tile::kColumns);
    if (co >= channels) continue;
    for (std::int64_t k = 0; k < depth; k += kMmaDepth) {
      const std::int64_t at =
          ((tile * depth_steps + k / kMmaDepth) * Tile::kN + in_tile) * kMmaDepth;
      std::copy_n(task.weights + co * depth + k, std::min<std::int64_t>(kMmaDepth, depth - k),
                  packed.data() + at);
    }
  }
  return packed;
}

std::vector<std::int64_t> padded_channels(std::int64_t channels, std::int64_t multiple) {
  std::vector<std::int64_t> order(
      static_cast<std::size_t>(ceil_div(channels, multiple) * multiple));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto channel = static_cast<std::int64_t>(i);
    order[i] = channel < channels ? channel : -1;
  }
  return order;
}

using KernelFunction = void (*)(MmaConv);

template <typename Tile, FinishKind kKind, int kUnit>
KernelFunction by_dtype(const ConvTask& task) {
  return task.input.is_unsigned() ? conv_mma_kernel<Tile, true, kUnit, kKind>
                                  : conv_mma_kernel<Tile, false, kUnit, kKind>;
}

// What is known at compile time has every tile; all else runs on the smallest one.
template <typename Tile, FinishKind kKind>
KernelFunction by_unit(const ConvTask& task, int unit) {
  if constexpr (Tile::kM == MmaTile64x64::kM) {
    if (unit == 4) return by_dtype<Tile, kKind, 4>(task);
    if (unit == 1) return by_dtype<Tile, kKind, 1>(task);
  }
  return by_dtype<Tile, kKind, 16>(task);
}

template <typename Tile>
KernelFunction choose(const ConvTask& task, FinishKind kind, int unit) {
  if (kind == FinishKind::kShift) return by_unit<Tile, FinishKind::kShift>(task, unit);
  if (kind == FinishKind::kScale) return by_unit<Tile, FinishKind::kScale>(task, unit);
  if constexpr (Tile::kM == MmaTile64x64::kM) {
    return by_unit<Tile, FinishKind::kGeneral>(task, unit);
  }
  throw InternalError("a large tile of conv_mma for a general requantization");
}

template <typename Tile>
class ConvMma : public Kernel {
 public:
  explicit ConvMma(const ConvTask& task)
      : stage_(task, padded_channels(task.ofmap.shape.channels, Tile::kN)),
        fill_(upload(std::vector<std::uint8_t>(kMmaChunk,
                                               static_cast<std::uint8_t>(task.input.zero_point)))) {
    const int unit = unit_bytes(task.input.shape.channels);
    const Window& w = task.window;
    const ImageShape& out = task.ofmap.shape;
    conv_.depth_steps = static_cast<int>(ceil_div(task.depth(), kMmaDepth));
    conv_.column_tiles = static_cast<int>(ceil_div(out.channels, Tile::kN));
    weights_ = upload(pack_weights<Tile>(task, conv_.depth_steps));
    conv_.input = task.input_data;
    conv_.weights = weights_.as<std::int8_t>();
    conv_.fill = fill_.as<std::uint8_t>();
    conv_.output = task.output_data;
    conv_.params = stage_.params();
    conv_.height = static_cast<int>(task.input.shape.height);
    conv_.width = static_cast<int>(task.input.shape.width);
    conv_.units = static_cast<int>(task.input.shape.channels / unit);
    conv_.kernel_h = static_cast<int>(w.kernel_h);
    conv_.kernel_w = static_cast<int>(w.kernel_w);
    conv_.stride_h = static_cast<int>(w.stride_h);
    conv_.stride_w = static_cast<int>(w.stride_w);
    conv_.pad_top = static_cast<int>(w.pad_top);
    conv_.pad_left = static_cast<int>(w.pad_left);
    conv_.dilation_h = static_cast<int>(w.dilation_h);
    conv_.dilation_w = static_cast<int>(w.dilation_w);
    conv_.weight_parts = task.weight_parts;
    conv_.out_height = static_cast<int>(out.height);
    conv_.out_width = static_cast<int>(out.width);
    conv_.out_channels = static_cast<int>(out.channels);
    conv_.pixels = static_cast<int>(out.batch * out.height * out.width);
    conv_.pool = task.pool;
    kernel_ = choose<Tile>(task, finish_kind(conv_.params), unit);
    check(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               Tile::kSharedBytes),
          "reserving shared memory for conv_mma");
  }

  void launch(cudaStream_t stream) const override {
    launch_kernel("launching conv_mma", kernel_,
                  ceil_div(conv_.pixels, Tile::kM) * conv_.column_tiles, kMmaThreads,
                  Tile::kSharedBytes, stream, conv_);
  }

  std::string name() const override {
    return "conv_mma " + std::to_string(Tile::kM) + "x" + std::to_string(Tile::kN);
  }

 private:
  OutputStage stage_;
  DeviceBuffer fill_;
  DeviceBuffer weights_;
  MmaConv conv_{};
  KernelFunction kernel_ = nullptr;
};

}  // namespace

// A large tile reads its operands less often; a small one leaves fewer multiprocessors idle.
std::unique_ptr<Kernel> make_conv_mma(const ConvTask& task) {
  if (task.groups != 1 || task.addition || !fits(task)) return nullptr;
  const ImageShape& out = task.ofmap.shape;
  const std::int64_t rows = ceil_div(out.batch * out.height * out.width, 128);
  if (finish_kind(task) != FinishKind::kGeneral && unit_bytes(task.input.shape.channels) == 16) {
    if (out.channels > 64 && rows * ceil_div(out.channels, 128) >= task.multiprocessors) {
      return std::make_unique<ConvMma<MmaTile128x128>>(task);
    }
    if (rows * ceil_div(out.channels, 64) >= task.multiprocessors) {
      return std::make_unique<ConvMma<MmaTile128x64>>(task);
    }
  }
  return std::make_unique<ConvMma<MmaTile64x64>>(task);
}

}  // namespace qsim::golden::cuda
