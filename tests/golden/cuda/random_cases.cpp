#include "tests/golden/cuda/random_cases.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "tests/golden/cuda/block_cases.h"
#include "tests/golden/cuda/network_builder.h"
#include "tests/golden/cuda/tile_cases.h"
#include "tests/golden/random_dag.h"
#include "tests/golden/random_graph.h"

namespace qsim::golden_test {
namespace {

template <std::size_t size>
std::int64_t one_of(Random& random, const std::array<std::int64_t, size>& values) {
  return values[static_cast<std::size_t>(random.uniform(0, std::ssize(values) - 1))];
}

std::int64_t fast_channels(Random& random) {
  return one_of(random,
                std::array<std::int64_t, 11>{16, 32, 48, 64, 64, 96, 128, 128, 192, 256, 512});
}

NetworkBuilder start(Random& random, const ImageShape& shape) {
  const std::int64_t kind = random.uniform(0, 9);
  const Numbers numbers = kind < 4   ? Numbers::kAny
                          : kind < 6 ? Numbers::kUsual
                          : kind < 8 ? Numbers::kScaled
                                     : Numbers::kPlain;
  Value input = random_quantization(random, shape);
  if (numbers != Numbers::kAny && random.chance(0.7)) input.zero_point = 0;
  return NetworkBuilder(random, input, numbers);
}

// What follows a convolution: ReLU and 2x2 pooling, in either order.
void maybe_follow(Random& random, NetworkBuilder& builder) {
  if (random.chance(0.5)) builder.relu();
  if (random.chance(0.4) && builder.shape().height >= 2 && builder.shape().width >= 2) {
    builder.max_pool(square(2, 2), random.chance(0.2));
    if (random.chance(0.2)) builder.relu();
  }
}

// Square windows over channels in multiples of 16.
Graph fast_conv(Random& random, std::int64_t most_macs) {
  const std::int64_t kernel = one_of(random, std::array<std::int64_t, 8>{1, 3, 3, 3, 3, 3, 5, 7});
  const std::int64_t stride = random.chance(0.75) ? 1 : 2;
  const std::int64_t pad = random.chance(0.6) ? kernel / 2 : random.uniform(0, 1);
  std::int64_t height = random.uniform(7, 57);
  std::int64_t width = random.chance(0.5) ? height : random.uniform(7, 57);
  if (random.chance(0.5)) {
    height = 7 * (height / 7);  // VGG's: 7, 14, 28, 56
    width = height;
  }
  const std::int64_t channels = fast_channels(random);
  std::int64_t out_channels = random.chance(0.85) ? fast_channels(random) : random.uniform(1, 200);
  std::int64_t batch = random.uniform(1, 9);
  afford(most_macs, batch, out_channels,
         height * width / (stride * stride) * kernel * kernel * channels);
  NetworkBuilder builder = start(random, {batch, height, width, channels});
  builder.conv2d(out_channels, square(kernel, stride, pad));
  maybe_follow(random, builder);
  return builder.build();
}

// Outputs enough to fill a large device with the largest tiles, from few input channels.
Graph large_conv(Random& random, std::int64_t most_macs) {
  const std::int64_t kernel = random.chance(0.4) ? 1 : 3;
  const std::int64_t side =
      random.chance(0.5) ? 14 * random.uniform(2, 8) : random.uniform(28, 112);
  const std::int64_t channels = one_of(random, std::array<std::int64_t, 5>{16, 32, 64, 64, 128});
  const std::int64_t out_channels =
      one_of(random, std::array<std::int64_t, 5>{64, 64, 128, 192, 256});
  const std::int64_t outputs = std::min<std::int64_t>(random.uniform(2'000'000, 10'000'000),
                                                      8 * most_macs / (kernel * kernel * channels));
  const std::int64_t batch = std::max<std::int64_t>(1, outputs / (side * side * out_channels));
  NetworkBuilder builder = start(random, {batch, side, side, channels});
  builder.conv2d(out_channels, square(kernel, 1, kernel / 2));
  maybe_follow(random, builder);
  return builder.build();
}

// Few input channels, as a picture has.
Graph first_conv(Random& random, std::int64_t most_macs) {
  const std::int64_t kernel = one_of(random, std::array<std::int64_t, 6>{3, 3, 3, 5, 7, 11});
  const std::int64_t stride = one_of(random, std::array<std::int64_t, 5>{1, 1, 1, 2, 4});
  const std::int64_t height = random.uniform(kernel, 64);
  const std::int64_t width = random.chance(0.5) ? height : random.uniform(kernel, 64);
  const std::int64_t channels = random.chance(0.6) ? 3 : random.uniform(1, 4);
  std::int64_t out_channels = one_of(random, std::array<std::int64_t, 6>{16, 32, 64, 64, 96, 128});
  std::int64_t batch = random.uniform(1, 9);
  afford(most_macs, batch, out_channels,
         height * width / (stride * stride) * kernel * kernel * channels);
  NetworkBuilder builder = start(random, {batch, height, width, channels});
  builder.conv2d(out_channels, square(kernel, stride, random.chance(0.7) ? kernel / 2 : 0));
  maybe_follow(random, builder);
  return builder.build();
}

// Makes the layer miss one condition of conv_first's plain kernel.
void miss_plain(Random& random, Graph& graph) {
  auto& [window, weights, biases, rq, groups] = std::get<Conv2d>(graph.layers.back().operation);
  Value& output = graph.output_value();
  switch (random.uniform(0, 4)) {
    case 0:  // of small sums, which then do not saturate
      rq.shifts = {0};
      for (std::int8_t& weight : weights.as<std::int8_t>()) weight %= 2;
      for (std::int32_t& bias : biases.as<std::int32_t>()) bias %= 64;
      return;
    case 1:
      rq.shifts.assign(static_cast<std::size_t>(output.shape.channels), rq.shifts[0]);
      ++rq.shifts[static_cast<std::size_t>(random.uniform(1, std::ssize(rq.shifts) - 1))];
      return;
    case 2:
      output.zero_point = static_cast<std::int32_t>(random.uniform(1, output.max()));
      return;
    case 3:
      (random.chance(0.5) ? rq.lo : rq.hi) = static_cast<std::int32_t>(random.uniform(10, 60));
      return;
    default:
      rq.rounding = RoundingMode::kFloor;
  }
}

// A first layer that conv_first's plain kernel takes, or misses by one thing: few large pictures,
// or so many small ones that a block goes through several tiles (kManyTiles: of 16 x 32 pixels and
// 64 channels; for up to 140 multiprocessors of 5 blocks).
template <bool kMisses>
Graph first_plain(Random& random, std::int64_t most_macs) {
  constexpr std::int64_t kManyTiles = 5 * 140 + 100;
  constexpr Window kWindows[] = {{1, 1}, {2, 2}, {3, 3}, {3, 3}, {2, 5}, {4, 3}};
  Window w = kWindows[random.uniform(0, std::ssize(kWindows) - 1)];
  w = {w.kernel_h,           w.kernel_w,           random.uniform(1, 2), random.uniform(1, 2),
       random.uniform(0, 2), random.uniform(0, 2), random.uniform(0, 2), random.uniform(0, 2)};
  const std::int64_t channels = random.chance(0.5) ? 3 : random.uniform(1, 4);
  const std::int64_t out_channels = 64 * random.uniform(1, 2);
  const bool small = most_macs < 10'000'000 || random.chance(0.5);
  const std::int64_t out_height = random.uniform(6, small ? 36 : 96);
  const std::int64_t out_width = 2 * random.uniform(3, small ? 34 : 48);
  const std::int64_t tiles = (out_height + 15) / 16 * ((out_width + 31) / 32) * out_channels / 64;
  std::int64_t batch = small ? kManyTiles / tiles + 9 : random.uniform(1, 4);
  const std::int64_t macs = out_height * out_width * w.kernel_h * w.kernel_w * channels;
  while (batch > 1 && batch * out_channels * macs > 2 * most_macs) --batch;
  Value input = random_quantization(
      random, {batch, (out_height - 1) * w.stride_h + w.kernel_h - w.pad_top - w.pad_bottom,
               (out_width - 1) * w.stride_w + w.kernel_w - w.pad_left - w.pad_right, channels});
  input.zero_point = static_cast<std::int32_t>(random.uniform(input.min(), input.max()));
  NetworkBuilder builder(random, input, Numbers::kPlain);
  builder.conv2d(out_channels, w);
  if (kMisses) miss_plain(random, builder.graph());
  if (random.chance(0.6)) builder.max_pool(square(2, 2));
  return builder.build();
}

// Layers for one kernel function with different sizes of shared memory, growing and shrinking.
Graph same_kernel_chain(Random& random, std::int64_t most_macs) {
  const std::int64_t side = most_macs < 100'000'000 ? 4 : 16;
  const Value input =
      random_quantization(random, {random.uniform(1, 3), side, side, 64 * random.uniform(1, 2)});
  NetworkBuilder builder(random, input, random.chance(0.5) ? Numbers::kPlain : Numbers::kUsual);
  for (std::int64_t left = random.uniform(2, 4); left > 0; --left) {
    const std::int64_t kernel = one_of(random, std::array<std::int64_t, 4>{1, 3, 3, 5});
    builder.conv2d(64 * random.uniform(1, 2), square(kernel, 1, kernel / 2));
  }
  return builder.build();
}

// A small VGG: blocks of convolutions, pooling, a classifier.
Graph conv_chain(Random& random, std::int64_t most_macs) {
  const std::int64_t side = 8 * random.uniform(1, most_macs < 50'000'000 ? 1 : 4);
  std::int64_t batch = random.uniform(1, 5);
  std::int64_t widest = 16 * random.uniform(2, 8);
  afford(most_macs, batch, widest, side * side * 9 * widest);
  NetworkBuilder builder = start(random, {batch, side, side, random.chance(0.6) ? 3 : 32});
  const std::int64_t blocks = random.uniform(1, 3);
  for (std::int64_t i = 0; i < blocks; ++i) {
    builder.conv2d(random.chance(0.5)
                       ? widest
                       : 16 * random.uniform(1, std::max<std::int64_t>(1, widest / 16)),
                   square(3, 1, 1));
    maybe_follow(random, builder);
  }
  if (random.chance(0.7)) {
    builder.flatten(random.chance(0.7) ? Flatten::Order::kChw : Flatten::Order::kHwc);
    builder.fully_connected(random.chance(0.5) ? 10 : random.uniform(1, 130));
    if (random.chance(0.5)) builder.relu();
    builder.fully_connected(10);
  }
  return builder.build();
}

// Deep sums, and batches from one row of a tile to several tiles.
Graph deep_fully_connected(Random& random, std::int64_t most_macs) {
  const std::int64_t batch = random.chance(0.5) ? random.uniform(1, 16) : random.uniform(1, 300);
  const bool picture = random.chance(0.3);
  const std::int64_t depth =
      random.chance(0.7) ? 64 * random.uniform(1, 128) : random.uniform(1, 8192);
  std::int64_t out_channels =
      random.chance(0.5) ? 64 * random.uniform(1, 16) : random.uniform(1, 1024);
  out_channels = std::max<std::int64_t>(1, std::min(out_channels, most_macs / (batch * depth)));
  NetworkBuilder builder = picture
                               ? start(random, {batch, 7, 7, std::max<std::int64_t>(1, depth / 49)})
                               : start(random, {batch, 1, 1, depth});
  if (picture) builder.flatten(Flatten::Order::kChw);
  builder.fully_connected(out_channels);
  if (random.chance(0.5)) builder.relu();
  return builder.build();
}

// All operations, in any order.
Graph any_dag(Random& random, std::int64_t) {
  DagOptions options;
  options.operations.prelu = true;
  return random_dag(random, options);
}

struct Kind {
  const char* name;
  std::int64_t weight;
  Graph (*make)(Random&, std::int64_t most_macs);
};

// The makers of random_graph.h stay below a few million.
template <Graph (*make)(Random&)>
Graph small(Random& random, std::int64_t) {
  return make(random);
}

constexpr Kind kKinds[] = {
    {"conv_fast", 30, fast_conv},
    {"conv_large", 8, large_conv},
    {"conv_odd_window", 14, odd_window_graph},
    {"conv_any", 20, small<random_conv2d>},
    {"conv_first", 10, first_conv},
    {"conv_first_plain", 4, first_plain<false>},
    {"conv_first_nearly_plain", 4, first_plain<true>},
    {"conv_chain", 10, conv_chain},
    {"conv_chain_same_kernel", 4, same_kernel_chain},
    {"fully_connected_deep", 12, deep_fully_connected},
    {"fully_connected_any", 4, small<random_fully_connected>},
    {"residual_block", 16, residual_block},
    {"depthwise_block", 12, depthwise_block},
    {"dag", 24, any_dag},
    {"max_pool", 5, small<random_max_pool>},
    {"relu", 2, small<random_relu>},
    {"flatten", 3, small<random_flatten>},
    {"chain", 4, small<random_chain>},
};

const Kind& draw_kind(Random& random) {
  std::int64_t total = 0;
  for (const Kind& kind : kKinds) total += kind.weight;
  std::int64_t left = random.uniform(0, total - 1);
  for (const Kind& kind : kKinds) {
    if (left < kind.weight) return kind;
    left -= kind.weight;
  }
  throw InternalError("no kind drawn");
}

// Every 16th case goes through tile_cases() in turn, so that 400 cases in a row meet all; no tile
// whose layer would be far more than `most_macs`.
const TileCase* tile_of(std::uint64_t seed, std::int64_t most_macs) {
  constexpr std::uint64_t kEvery = 16;
  if (seed % kEvery != 0) return nullptr;
  const TileCase& tile = tile_cases()[seed / kEvery % tile_cases().size()];
  return tile.macs() <= 60 * most_macs ? &tile : nullptr;
}

std::string value_text(const Value& value) {
  return shape_text(value.shape.nhwc()) + " " + std::string(dtype_name(value.dtype)) +
         " zero_point " + std::to_string(value.zero_point);
}

std::string window_text(const Window& w) {
  return " " + std::to_string(w.kernel_h) + "x" + std::to_string(w.kernel_w) + " stride " +
         std::to_string(w.stride_h) + "x" + std::to_string(w.stride_w) + " pads " +
         std::to_string(w.pad_top) + "," + std::to_string(w.pad_left) + "," +
         std::to_string(w.pad_bottom) + "," + std::to_string(w.pad_right) + " dilation " +
         std::to_string(w.dilation_h) + "x" + std::to_string(w.dilation_w);
}

std::string requantization_text(const Requantization& rq) {
  if (rq.is_dyadic()) {
    const Requantizer& first = rq.requantizers[0];
    return " requantizer " + std::to_string(first.multiplier) + " / 2^" +
           std::to_string(first.shift) + (rq.requantizers.size() > 1 ? ".." : "") + " rounding " +
           std::to_string(static_cast<int>(first.rounding)) + " clamp " + std::to_string(rq.lo) +
           ".." + std::to_string(rq.hi);
  }
  return " rounding " + std::to_string(static_cast<int>(rq.rounding)) + " shift " +
         std::to_string(rq.shifts[0]) + (rq.shifts.size() > 1 ? ".." : "") + " clamp " +
         std::to_string(rq.lo) + ".." + std::to_string(rq.hi);
}

}  // namespace

RandomCase random_case(std::uint64_t seed, std::int64_t most_macs) {
  Random random(seed);
  if (const TileCase* tile = tile_of(seed, most_macs)) {
    RandomCase made{"conv_tile", tile_graph(random, *tile), {}};
    made.input = random_tensor(random, made.graph.input_value().dtype,
                               made.graph.input_value().shape.nhwc());
    return made;
  }
  const Kind& kind = draw_kind(random);
  RandomCase made{kind.name, kind.make(random, most_macs), {}};
  made.input =
      random_tensor(random, made.graph.input_value().dtype, made.graph.input_value().shape.nhwc());
  return made;
}

std::string graph_text(const Graph& graph) {
  std::string text = "  input " + value_text(graph.input_value()) + "\n";
  for (const Layer& layer : graph.layers) {
    text += "  " + layer.name + ": " + std::string(operation_name(layer.operation));
    if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
      text += window_text(conv->window) + " groups " + std::to_string(conv->groups) + " weights " +
              std::string(dtype_name(conv->weights.dtype)) +
              requantization_text(conv->requantization);
    } else if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
      text += requantization_text(fc->requantization);
    } else if (const auto* pool = std::get_if<MaxPool>(&layer.operation)) {
      text += window_text(pool->window);
    } else if (const auto* average = std::get_if<AveragePool>(&layer.operation)) {
      text += window_text(average->window) + " rounding " +
              std::to_string(static_cast<int>(average->rounding));
    } else if (const auto* add = std::get_if<Add>(&layer.operation)) {
      text += " rounding " + std::to_string(static_cast<int>(add->rounding)) + " clamp " +
              std::to_string(add->lo) + ".." + std::to_string(add->hi);
    } else if (const auto* flatten = std::get_if<Flatten>(&layer.operation)) {
      text += flatten->order == Flatten::Order::kChw ? " chw" : " hwc";
    }
    for (const TensorId input : layer.inputs) text += " of " + std::to_string(input);
    text += " to " + std::to_string(layer.output) + " " + value_text(graph.tensors[layer.output]) +
            "\n";
  }
  return text;
}

}  // namespace qsim::golden_test
