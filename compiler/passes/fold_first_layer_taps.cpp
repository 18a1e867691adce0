// Pass 5: few input channels waste the array's rows; the host can lay taps side by side instead.
#include <algorithm>

#include "compiler/passes/passes.h"
#include "compiler/passes/window_limits.h"
#include "core/base/checked_math.h"

namespace qsim::compiler {
namespace {

// Cycles a pixel costs: of the array for all column blocks, or of the bus for its bytes.
std::int64_t cycles_per_pixel(std::int64_t folds, std::int64_t input_bytes, std::int64_t channels,
                              const ArchConfig& arch) {
  const std::int64_t beat_bytes = std::min(arch.bus_bytes, arch.array_rows);
  return std::max(folds * ceil_div(channels, arch.array_cols), ceil_div(input_bytes, beat_bytes));
}

bool pays_off(const FusedLayer& layer, const ArchConfig& arch) {
  const std::int64_t taps = layer.window.kernel_h * layer.window.kernel_w;
  const std::int64_t channels = layer.output.shape.channels;
  const std::int64_t packed = taps * layer.depth;
  const std::int64_t block = arch.block_channels();
  const std::int64_t stride = layer.window.stride_h * layer.window.stride_w;
  const std::int64_t plain_cycles =
      cycles_per_pixel(layer.weight_parts * taps * ceil_div(layer.depth, arch.array_rows),
                       round_up(layer.depth, block) * stride, channels, arch);
  const std::int64_t packed_cycles =
      cycles_per_pixel(layer.weight_parts * ceil_div(packed, arch.array_rows),
                       round_up(packed, block), channels, arch);
  return packed_cycles < plain_cycles;
}

}  // namespace

void fold_first_layer_taps(std::vector<FusedLayer>& layers, const ArchConfig& arch) {
  FusedLayer& layer = layers.front();
  const auto reads_the_same = [&](const FusedLayer& other) {
    const auto is_input = [&](const FusedLayer::Operand& operand) {
      return operand.tensor == layer.input_tensor;
    };
    return other.input_tensor == layer.input_tensor ||
           std::any_of(other.more_inputs.begin(), other.more_inputs.end(), is_input);
  };
  if (std::count_if(layers.begin(), layers.end(), reads_the_same) > 1) return;
  if (layer.kind != FusedLayer::Kind::kConvolution || layer.groups > 1) return;
  if (runs_tap_by_tap(layer.window) || !pays_off(layer, arch)) return;
  layer.taps = TapPacking{layer.window, layer.input.shape};
  // [Cout][kernel_h][kernel_w][Cin] read as [Cout][1][1][kernel_h * kernel_w * Cin]: same bytes.
  layer.input.shape = layer.taps->packed_shape();
  layer.depth = layer.input.shape.channels;
  layer.window = Window{};
}

}  // namespace qsim::compiler
