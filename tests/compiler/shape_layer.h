// A layer that is its shapes alone, planned: enough for a mapper, without tensors, so it may be as
// large as real ones.
#pragma once

#include <string>

#include "compiler/lowering/memory_plan.h"
#include "core/base/checked_math.h"
#include "core/base/random.h"

namespace qsim::testing {

struct LayerShape {
  std::int64_t pictures = 1;
  std::int64_t rows = 1;  // of the ifmap
  std::int64_t cols = 1;
  std::int64_t channels = 1;
  std::int64_t out_channels = 1;
  Window window;
  Window pool;
  bool is_vector = false;  // fully connected
  std::int64_t weight_parts = 1;

  std::string text() const {
    const auto side = [](const Window& w) {
      return std::to_string(w.kernel_h) + "x" + std::to_string(w.kernel_w) + "/" +
             std::to_string(w.stride_h) + "+" + std::to_string(w.pad_top);
    };
    return (is_vector ? "fc " : "conv ") + std::to_string(pictures) + "x" + std::to_string(rows) +
           "x" + std::to_string(cols) + "x" + std::to_string(channels) + "->" +
           std::to_string(out_channels) + " " + side(window) + " pool " + side(pool);
  }
};

class ShapeLayer {
 public:
  ShapeLayer(const LayerShape& shape, const ArchConfig& arch) {
    layer_.kind = shape.is_vector ? compiler::FusedLayer::Kind::kFullyConnected
                                  : compiler::FusedLayer::Kind::kConvolution;
    layer_.name = shape.text();
    layer_.window = shape.window;
    layer_.pool = shape.pool;
    layer_.depth = shape.channels;
    layer_.weight_parts = shape.weight_parts;
    layer_.input.shape = {shape.pictures, shape.rows, shape.cols, shape.channels};
    const Window& w = shape.window;
    layer_.conv_height = (shape.rows + w.pad_top + w.pad_bottom - w.extent_h()) / w.stride_h + 1;
    layer_.conv_width = (shape.cols + w.pad_left + w.pad_right - w.extent_w()) / w.stride_w + 1;
    const Window& p = shape.pool;
    layer_.output.shape = {shape.pictures, (layer_.conv_height - p.kernel_h) / p.stride_h + 1,
                           (layer_.conv_width - p.kernel_w) / p.stride_w + 1, shape.out_channels};
    layer_.macs = shape.pictures * layer_.conv_height * layer_.conv_width * w.kernel_h *
                  w.kernel_w * shape.channels * shape.out_channels;
    layer_.requantizers.assign(static_cast<std::size_t>(shape.out_channels), Requantizer{});
    planned_.layer = &layer_;
    planned_.geometry = compiler::layer_geometry(layer_, arch);
    planned_.ifmap = {0, layer_.input, arch.block_channels()};
    planned_.ofmap = {0, layer_.output, arch.block_channels()};
  }
  ShapeLayer(const ShapeLayer&) = delete;
  ShapeLayer& operator=(const ShapeLayer&) = delete;

  const compiler::PlannedLayer& operator*() const { return planned_; }

 private:
  compiler::FusedLayer layer_;
  compiler::PlannedLayer planned_;
};

// As networks have them: channels to 2048, pictures to 224, kernels of 1 to 7. The channels shrink
// with the picture's size, as they do in networks.
inline LayerShape realistic_shape(Random& random) {
  LayerShape shape;
  if (random.chance(0.15)) {
    shape.is_vector = true;
    shape.pictures = random.chance(0.5) ? 1 : random.uniform(2, 256);
    shape.channels = 64 << random.uniform(0, 6);
    shape.out_channels = random.uniform(10, 4096);
    return shape;
  }
  const std::int64_t sides[] = {7, 14, 28, 32, 56, 64, 100, 112, 128, 224};
  const std::int64_t side =
      random.chance(0.7) ? sides[random.uniform(0, 9)] : random.uniform(7, 224);
  const auto channels = [&] {
    const std::int64_t most = side > 112 ? 64 : side > 56 ? 256 : side > 28 ? 512 : 2048;
    const std::int64_t least = 8;
    std::int64_t n = least;
    while (n < most && random.chance(0.75)) n *= 2;
    return random.chance(0.3) ? random.uniform(n / 2, n) : n;
  };
  shape.rows = shape.cols = side;
  if (random.chance(0.1)) shape.cols = random.uniform(7, 224);
  if (random.chance(0.1)) shape.pictures = random.uniform(2, 4);
  shape.channels = channels();
  shape.out_channels = channels();
  const std::int64_t kernels[] = {1, 1, 3, 3, 3, 5, 7};
  const std::int64_t kernel = kernels[random.uniform(0, 6)];
  const std::int64_t stride = random.chance(0.2) ? 2 : 1;
  const std::int64_t pad = random.chance(0.8) ? kernel / 2 : 0;
  shape.window = {kernel, kernel, stride, stride, pad, pad, pad, pad};
  if (stride == 1 && side > 14 && random.chance(0.25)) shape.pool = {2, 2, 2, 2, 0, 0, 0, 0};
  return shape;
}

}  // namespace qsim::testing
