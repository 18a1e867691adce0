#include "formats/workload/random_layer_shape.h"

#include <algorithm>
#include <cmath>

#include "core/base/checked_math.h"

namespace qsim::formats {
namespace {

// What the accelerator's commands can say (core/machine/isa/command_table.h).
constexpr std::int64_t kMostConvKernel = 11;
constexpr std::int64_t kMostStride = 4;
constexpr std::int64_t kMostPoolKernel = 4;
constexpr std::int64_t kMostPictures = 4;
constexpr std::int64_t kTypicalMacs = 3'000'000;
constexpr std::int64_t kMostInputElems = 400'000;
// |psum| <= depth * 128 * 255 < 2^30, which leaves as much for the bias.
constexpr std::int64_t kMostDepth = 32'768;

void choose_quantization(Value& value, ZeroPointKind& kind, Random& random) {
  value.dtype = random.chance(0.5) ? DType::kInt8 : DType::kUint8;
  kind = static_cast<ZeroPointKind>(random.uniform(0, 2));
  switch (kind) {
    case ZeroPointKind::kZero:
      value.zero_point = 0;
      break;
    case ZeroPointKind::kExtreme:
      // A uint8 zero at the lower end is kZero.
      value.zero_point = value.is_unsigned() || random.chance(0.5) ? value.max() : value.min();
      break;
    case ZeroPointKind::kRandom:
      do {
        value.zero_point =
            static_cast<std::int32_t>(random.uniform(value.min() + 1, value.max() - 1));
      } while (value.zero_point == 0);
      break;
  }
}

// After a ReLU the values lie in zero_point..max, which must leave room for 32 of them.
bool has_room_for_relu(const Value& value) { return value.max() - value.zero_point >= 64; }

// A ReLU on the input's values must leave most of them as they are.
bool is_low_zero_point(const Value& value) { return value.zero_point - value.min() <= 80; }

// Per side 0..kernel-1; half of the windows have none, some have the same all round.
void choose_pads(Window& window, Random& random) {
  const std::int64_t manner = random.uniform(0, 3);
  if (manner <= 1) return;
  if (manner == 2) {
    const std::int64_t pad = random.uniform(0, std::min(window.kernel_h, window.kernel_w) - 1);
    window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = pad;
    return;
  }
  window.pad_top = random.uniform(0, window.kernel_h - 1);
  window.pad_bottom = random.uniform(0, window.kernel_h - 1);
  window.pad_left = random.uniform(0, window.kernel_w - 1);
  window.pad_right = random.uniform(0, window.kernel_w - 1);
}

void choose_strides(Window& window, Random& random) {
  window.stride_h = random.chance(0.5) ? 1 : random.uniform(1, kMostStride);
  window.stride_w = random.chance(0.7) ? window.stride_h : random.uniform(1, kMostStride);
}

Window random_window(std::int64_t min_kernel, std::int64_t max_kernel, Random& random) {
  Window window;
  window.kernel_h = random.uniform(min_kernel, max_kernel);
  window.kernel_w = random.chance(0.6) ? window.kernel_h : random.uniform(min_kernel, max_kernel);
  choose_strides(window, random);
  choose_pads(window, random);
  return window;
}

// The input size along one axis that gives `count` window positions, plus up to stride - 1
// positions that no window reaches.
std::int64_t input_size(std::int64_t count, std::int64_t kernel, std::int64_t stride,
                        std::int64_t pads, Random& random) {
  const std::int64_t size = (count - 1) * stride + kernel - pads + random.uniform(0, stride - 1);
  return std::max<std::int64_t>(size, 1);
}

// Words of the activation scratchpad under one output position (of the pool, if there is one), in
// the planes that a channel block brings along.
std::int64_t smallest_tile_words(const RandomLayerShape& shape, const ArchConfig& arch) {
  const Window& w = shape.window;
  const Window& p = shape.pool_window;
  const std::int64_t psum_rows = shape.pool ? p.kernel_h : 1;
  const std::int64_t psum_cols = shape.pool ? p.kernel_w : 1;
  const std::int64_t rows = (psum_rows - 1) * w.stride_h + w.kernel_h;
  const std::int64_t cols = (psum_cols - 1) * w.stride_w + w.kernel_w;
  return rows * cols * (arch.block_channels() / arch.array_rows);
}

// Picks a multiple of `unit` between low and high units, plus a rest that is no multiple of it.
std::int64_t ragged(std::int64_t low, std::int64_t high, std::int64_t unit, Random& random) {
  return random.uniform(low, high) * unit + random.uniform(1, unit - 1);
}

// A picture of psums with about `pixels` of them, of a random aspect.
void choose_picture(RandomLayerShape& shape, std::int64_t pixels, Random& random) {
  const Window& w = shape.window;
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(pixels)));
  const std::int64_t rows = std::max<std::int64_t>(1, random.uniform(root / 2, 2 * root));
  const std::int64_t cols = std::max<std::int64_t>(1, ceil_div(pixels, rows));
  ImageShape& in = shape.input.shape;
  in.height = input_size(rows, w.kernel_h, w.stride_h, w.pad_top + w.pad_bottom, random);
  in.width = input_size(cols, w.kernel_w, w.stride_w, w.pad_left + w.pad_right, random);
}

void choose_channels(RandomLayerShape& shape, bool deep, const ArchConfig& arch, Random& random) {
  if (deep) {
    shape.input.shape.channels = ragged(1, 2, arch.array_rows, random);
    shape.out_channels = ragged(1, 2, arch.array_cols, random);
  } else {
    shape.input.shape.channels = random.uniform(1, 2 * arch.array_rows);
    shape.out_channels = random.uniform(1, 2 * arch.array_cols);
  }
}

// Halves the kernel until one picture with `pixels` psums stays within the budget, and its depth
// within the bound.
void fit_kernel(RandomLayerShape& shape, std::int64_t pixels) {
  Window& w = shape.window;
  const auto too_large = [&] {
    const std::int64_t depth = shape.input.shape.channels * w.kernel_h * w.kernel_w;
    return depth > kMostDepth || depth * shape.out_channels * pixels > kTypicalMacs;
  };
  while (w.kernel_h * w.kernel_w > 1 && too_large()) {
    (w.kernel_h > w.kernel_w ? w.kernel_h : w.kernel_w) /= 2;
  }
  w.pad_top = std::min(w.pad_top, w.kernel_h - 1);
  w.pad_bottom = std::min(w.pad_bottom, w.kernel_h - 1);
  w.pad_left = std::min(w.pad_left, w.kernel_w - 1);
  w.pad_right = std::min(w.pad_right, w.kernel_w - 1);
}

void choose_batch(RandomLayerShape& shape, std::int64_t macs_per_picture, Random& random) {
  const std::int64_t picture =
      shape.input.shape.height * shape.input.shape.width * shape.input.shape.channels;
  const std::int64_t most = std::min(2 * kTypicalMacs / std::max<std::int64_t>(1, macs_per_picture),
                                     kMostInputElems / std::max<std::int64_t>(1, picture));
  shape.input.shape.batch =
      random.chance(0.5) ? 1 : random.uniform(1, std::clamp<std::int64_t>(most, 1, kMostPictures));
}

// A pool that fits the picture under it and, with its convolution, the smallest tile.
void choose_pool(RandomLayerShape& shape, const ImageShape& under, const ArchConfig& arch,
                 Random& random) {
  shape.pool = true;
  shape.ceil_mode = random.chance(0.3);
  for (int attempt = 0; attempt < 20; ++attempt) {
    // A window of one subsamples: drawn now and then, and when nothing larger fits.
    const bool may_be_one = attempt >= 10 || random.chance(0.2);
    shape.pool_window = random_window(may_be_one ? 1 : 2, kMostPoolKernel, random);
    const Window& p = shape.pool_window;
    const ImageShape out = windowed(under, p, under.channels, shape.ceil_mode);
    if (out.height >= 1 && out.width >= 1 &&
        p.kernel_h * p.kernel_w <= arch.accumulator_half_words() &&
        smallest_tile_words(shape, arch) <= arch.act_slot_words()) {
      return;
    }
  }
  shape.pool = false;
}

void choose_conv2d(RandomLayerShape& shape, const ArchConfig& arch, Random& random) {
  const bool deep = random.chance(0.75);
  const std::int64_t kernel = random.chance(0.4) ? 3 : random.uniform(1, kMostConvKernel);
  shape.window = random_window(1, kernel, random);
  if (random.chance(0.6)) shape.window.kernel_h = shape.window.kernel_w = kernel;
  choose_channels(shape, deep, arch, random);
  // Most pictures need two tiles of pixels where a layer is deep; huge accumulators excepted.
  const std::int64_t needed =
      deep ? std::min<std::int64_t>(arch.accumulator_half_words() + 1, 1024) : 1;
  fit_kernel(shape, needed);
  for (int attempt = 0; smallest_tile_words(shape, arch) > arch.act_slot_words(); ++attempt) {
    if (attempt == 20) {
      shape.window = {};
      break;
    }
    shape.window = random_window(1, 3, random);
  }
  const Window& w = shape.window;
  const std::int64_t per_pixel =
      shape.input.shape.channels * shape.out_channels * w.kernel_h * w.kernel_w;
  const std::int64_t by_input =
      kMostInputElems / shape.input.shape.channels / w.stride_h / w.stride_w;
  const std::int64_t most =
      std::max(needed, std::min({kTypicalMacs / per_pixel, by_input, 4 * needed + 400}));
  choose_picture(shape, random.uniform(needed, most), random);
  const ImageShape out = windowed(shape.input.shape, w, shape.out_channels);
  choose_batch(shape, out.height * out.width * per_pixel, random);
}

void choose_fully_connected(RandomLayerShape& shape, const ArchConfig& arch, Random& random) {
  ImageShape& in = shape.input.shape;
  in.channels = ragged(0, 4, arch.array_rows, random);
  shape.flatten = random.chance(0.5);
  if (shape.flatten) {
    in.height = random.uniform(1, 6);
    in.width = random.uniform(1, 6);
  } else if (random.chance(0.3)) {
    in.channels = random.uniform(1, 2000);
  }
  shape.order = random.chance(0.5) ? Flatten::Order::kChw : Flatten::Order::kHwc;
  if (in.height * in.width * in.channels > kMostDepth) in.height = in.width = 1;
  const std::int64_t depth = in.height * in.width * in.channels;
  shape.out_channels = std::min(ragged(0, 3, arch.array_cols, random),
                                std::max<std::int64_t>(1, kTypicalMacs / depth));
  choose_batch(shape, depth * shape.out_channels, random);
}

void choose_alone(RandomLayerShape& shape, const ArchConfig& arch, Random& random) {
  ImageShape& in = shape.input.shape;
  in.height = random.uniform(3, 40);
  in.width = random.uniform(3, 40);
  in.channels = ragged(0, 3, arch.block_channels(), random);
  if (in.height * in.width * in.channels > kMostInputElems / 4) {
    in.channels = random.uniform(1, arch.block_channels());
  }
  // It runs as an identity convolution, channel block by channel block.
  choose_batch(shape, in.height * in.width * in.channels * arch.array_rows, random);
}

RandomKind random_kind(Random& random) {
  const std::int64_t draw = random.uniform(0, 99);
  if (draw < 74) return RandomKind::kConv2d;
  if (draw < 86) return RandomKind::kFullyConnected;
  if (draw < 95) return RandomKind::kMaxPool;
  return RandomKind::kRelu;
}

}  // namespace

ImageShape windowed(const ImageShape& input, const Window& window, std::int64_t channels,
                    bool ceil_mode) {
  return {input.batch,
          window_count(input.height, window.kernel_h, window.stride_h, window.pad_top,
                       window.pad_bottom, ceil_mode),
          window_count(input.width, window.kernel_w, window.stride_w, window.pad_left,
                       window.pad_right, ceil_mode),
          channels};
}

RandomLayerShape random_layer_shape(const ArchConfig& arch, Random& random) {
  RandomLayerShape shape;
  shape.kind = random_kind(random);
  do {
    choose_quantization(shape.input, shape.input_zero_point, random);
  } while (shape.kind == RandomKind::kRelu && !is_low_zero_point(shape.input));
  choose_quantization(shape.output, shape.output_zero_point, random);
  shape.rounding = static_cast<RoundingMode>(random.uniform(0, kAcceleratorRoundingModes - 1));
  shape.per_channel_shift = random.chance(0.4);
  const bool has_weights =
      shape.kind == RandomKind::kConv2d || shape.kind == RandomKind::kFullyConnected;
  shape.relu = has_weights && random.chance(0.6) && has_room_for_relu(shape.output);
  if (shape.kind == RandomKind::kConv2d) {
    choose_conv2d(shape, arch, random);
    const ImageShape psums = windowed(shape.input.shape, shape.window, shape.out_channels);
    if (random.chance(0.4)) choose_pool(shape, psums, arch, random);
  } else if (shape.kind == RandomKind::kFullyConnected) {
    choose_fully_connected(shape, arch, random);
  } else {
    choose_alone(shape, arch, random);
    if (shape.kind == RandomKind::kMaxPool) choose_pool(shape, shape.input.shape, arch, random);
    if (shape.kind == RandomKind::kMaxPool && !shape.pool) {
      shape.pool = true;  // a window of one, which always fits
      shape.pool_window = {};
    }
  }
  return shape;
}

}  // namespace qsim::formats
