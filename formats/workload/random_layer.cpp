#include "formats/workload/random_layer.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/checked_math.h"
#include "formats/workload/random_layer_shape.h"
#include "formats/workload/synthetic_tensors.h"

namespace qsim::formats {
namespace {

constexpr std::array<std::string_view, kAcceleratorRoundingModes> kRoundings = {
    "floor", "half_even", "half_up"};
constexpr std::array<std::string_view, 3> kZeroPoints = {"zero", "extreme", "random"};
constexpr std::array<std::string_view, 3> kPaddings = {"none", "symmetric", "asymmetric"};
constexpr std::array<std::string_view, 10> kOperations = {"conv2d",
                                                          "conv2d+relu",
                                                          "conv2d+max_pool",
                                                          "conv2d+relu+max_pool",
                                                          "fully_connected",
                                                          "fully_connected+relu",
                                                          "flatten+fully_connected",
                                                          "flatten+fully_connected+relu",
                                                          "max_pool",
                                                          "relu"};

std::string_view padding_of(const Window& w) {
  if (w.pad_top == 0 && w.pad_left == 0 && w.pad_bottom == 0 && w.pad_right == 0) {
    return kPaddings[0];
  }
  const bool same = w.pad_top == w.pad_bottom && w.pad_left == w.pad_right;
  return kPaddings[same ? 1 : 2];
}

// The layer with weights, and a ReLU after it.
void append_weighted(RandomLayer& made, const RandomLayerShape& shape, Random& random) {
  const Value in = made.graph.output_value();
  const bool conv = shape.kind == RandomKind::kConv2d;
  Value output = shape.output;
  output.shape = conv ? windowed(in.shape, shape.window, shape.out_channels)
                      : ImageShape{in.shape.batch, 1, 1, shape.out_channels};
  const Window& w = shape.window;
  const Shape weights = conv ? Shape{shape.out_channels, w.kernel_h, w.kernel_w, in.shape.channels}
                             : Shape{shape.out_channels, in.shape.channels};
  OfmapTarget target;
  target.output = output;
  target.relu = shape.relu;
  target.rounding = shape.rounding;
  target.per_channel_shift = shape.per_channel_shift;
  target.full_range_weights = true;
  const double inside = conv ? inside_fraction(w, in.shape, output.shape) : 1;
  LayerParameters parameters =
      synthetic_parameters(weights, {triangular(made.graph.input_value()), in.zero_point, inside},
                           target, random, Tensors::kDrawn);
  if (conv) {
    append(made.graph, "conv",
           Conv2d{w, std::move(parameters.weights), std::move(parameters.bias),
                  parameters.requantization},
           output);
  } else {
    append(made.graph, "fc",
           FullyConnected{std::move(parameters.weights), std::move(parameters.bias),
                          parameters.requantization},
           output);
  }
  if (shape.relu) append(made.graph, "relu", Relu{}, output);
}

void append_layers(RandomLayer& made, const RandomLayerShape& shape, Random& random) {
  Graph& graph = made.graph;
  if (shape.flatten) {
    Value flat = graph.input_value();
    const ImageShape& in = flat.shape;
    flat.shape = {in.batch, 1, 1, in.height * in.width * in.channels};
    append(graph, "flatten", Flatten{shape.order}, flat);
  }
  if (shape.kind == RandomKind::kConv2d || shape.kind == RandomKind::kFullyConnected) {
    append_weighted(made, shape, random);
  }
  if (shape.kind == RandomKind::kRelu) append(graph, "relu", Relu{}, graph.input_value());
  if (shape.pool) {
    Value output = graph.output_value();
    output.shape =
        windowed(output.shape, shape.pool_window, output.shape.channels, shape.ceil_mode);
    append(graph, "pool", MaxPool{shape.pool_window}, output);
  }
}

std::vector<Bucket> buckets_of(const RandomLayer& made, const RandomLayerShape& shape) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const auto text = [](std::string_view value) { return std::string(value); };
  std::string operation;
  for (const Layer& layer : made.graph.layers) {
    if (!operation.empty()) operation += '+';
    operation += operation_name(layer.operation);
  }
  std::vector<Bucket> buckets = {
      {"operation", operation},
      {"batch", number(shape.input.shape.batch)},
      {"input_dtype", text(dtype_name(shape.input.dtype))},
      {"input_zero_point", text(kZeroPoints[static_cast<std::size_t>(shape.input_zero_point)])}};
  const bool conv = shape.kind == RandomKind::kConv2d;
  if (conv) {
    const Window& w = shape.window;
    buckets.push_back({"kernel_h", number(w.kernel_h)});
    buckets.push_back({"kernel_w", number(w.kernel_w)});
    buckets.push_back({"stride_h", number(w.stride_h)});
    buckets.push_back({"stride_w", number(w.stride_w)});
    buckets.push_back({"padding", text(padding_of(w))});
  }
  if (conv || shape.kind == RandomKind::kFullyConnected) {
    buckets.push_back({"rounding", text(kRoundings[static_cast<std::size_t>(shape.rounding)])});
    buckets.push_back({"output_dtype", text(dtype_name(shape.output.dtype))});
    buckets.push_back({"output_zero_point",
                       text(kZeroPoints[static_cast<std::size_t>(shape.output_zero_point)])});
    buckets.push_back({"shift", text(shape.per_channel_shift ? "per_channel" : "per_tensor")});
  }
  if (shape.pool) {
    buckets.push_back({"pool_kernel_h", number(shape.pool_window.kernel_h)});
    buckets.push_back({"pool_stride_h", number(shape.pool_window.stride_h)});
    buckets.push_back({"pool_padding", text(padding_of(shape.pool_window))});
    buckets.push_back({"pool_ceil_mode", text(shape.ceil_mode ? "true" : "false")});
  }
  return buckets;
}

void note_tiles(RandomLayer& made, const RandomLayerShape& shape, const ArchConfig& arch) {
  if (shape.kind != RandomKind::kConv2d && shape.kind != RandomKind::kFullyConnected) return;
  const Window& w = shape.window;
  const ImageShape psums = windowed(shape.input.shape, w, shape.out_channels);
  const std::int64_t pixels = shape.kind == RandomKind::kConv2d ? psums.height * psums.width : 1;
  const std::int64_t planes = ceil_div(shape.input.shape.channels, arch.array_rows);
  const std::int64_t folds =
      planes * w.kernel_h * w.kernel_w *
      (shape.flatten ? shape.input.shape.height * shape.input.shape.width : 1);
  made.many_pixel_tiles = pixels > arch.accumulator_half_words();
  made.many_in_channel_tiles = planes > 1 && folds * arch.fold_words() > arch.weight_slot_words();
  made.many_out_channel_tiles = shape.out_channels > arch.array_cols;
}

// The smallest power of two of KiB that holds `bytes`.
std::int64_t kib_for(std::int64_t bytes) {
  std::int64_t kib = 1;
  while (kib * 1024 < bytes) kib *= 2;
  return kib;
}

}  // namespace

RandomLayer make_random_layer(std::uint64_t seed, const ArchConfig& arch) {
  Random random(seed);
  const RandomLayerShape shape = random_layer_shape(arch, random);
  RandomLayer made;
  made.graph.name = "random-" + std::to_string(seed);
  made.graph.input_value() = shape.input;
  made.input = synthetic_input(shape.input, random);
  append_layers(made, shape, random);
  validate(made.graph);
  made.buckets = buckets_of(made, shape);
  note_tiles(made, shape, arch);
  return made;
}

std::vector<Bucket> random_layer_buckets() {
  std::vector<Bucket> buckets;
  const auto numbers = [&](const char* feature, int low, int high) {
    for (int i = low; i <= high; ++i) buckets.push_back({feature, std::to_string(i)});
  };
  const auto words = [&](const char* feature, auto... values) {
    (buckets.push_back({feature, std::string(values)}), ...);
  };
  for (const std::string_view name : kOperations) {
    words("operation", name);
  }
  numbers("batch", 1, 4);
  numbers("kernel_h", 1, 11);
  numbers("kernel_w", 1, 11);
  numbers("stride_h", 1, 4);
  numbers("stride_w", 1, 4);
  words("padding", kPaddings[0], kPaddings[1], kPaddings[2]);
  words("rounding", kRoundings[0], kRoundings[1], kRoundings[2]);
  for (const char* feature : {"input_dtype", "output_dtype"}) words(feature, "int8", "uint8");
  for (const char* feature : {"input_zero_point", "output_zero_point"}) {
    words(feature, kZeroPoints[0], kZeroPoints[1], kZeroPoints[2]);
  }
  words("shift", "per_tensor", "per_channel");
  numbers("pool_kernel_h", 1, 4);
  numbers("pool_stride_h", 1, 4);
  words("pool_padding", kPaddings[0], kPaddings[1], kPaddings[2]);
  words("pool_ceil_mode", "false", "true");
  return buckets;
}

ArchConfig shrink_memories(const ArchConfig& arch, Random& random) {
  const auto power = [&](std::int64_t low, std::int64_t high) {
    return std::int64_t{1} << random.uniform(low, high);
  };
  ArchConfig small = arch;
  small.name += "+small";
  small.act_slots = power(1, 2);
  small.weight_slots = power(1, 3);
  const std::int64_t act_words = power(8, 10);    // of a slot: 256 to 1024
  const std::int64_t weight_folds = power(0, 3);  // of a slot: 1 to 8
  const std::int64_t acc_words = power(4, 6);     // of a half: 16 to 64
  const std::int64_t out_words = acc_words / power(0, 1);
  small.act_scratchpad_kib = kib_for(act_words * arch.array_rows * small.act_slots);
  small.weight_scratchpad_kib =
      kib_for(weight_folds * arch.array_rows * arch.array_cols * small.weight_slots);
  small.accumulator_kib = kib_for(acc_words * arch.array_cols * 4 * kAccumulatorHalves);
  small.output_scratchpad_kib = kib_for(out_words * arch.array_cols * kOutputHalves);
  validate(small);
  return small;
}

}  // namespace qsim::formats
