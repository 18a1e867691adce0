#include "tests/golden/cuda/instance_cases.h"

#include <array>
#include <string_view>

#include "tests/golden/cuda/network_builder.h"

namespace qsim::golden_test {
namespace {

using golden::CudaChoices;
using golden::CudaPath;

constexpr std::uint64_t kSeed = 1;
constexpr std::array kInputs{DType::kUint8, DType::kInt8};

Value input_of(DType dtype, const ImageShape& shape) {
  Value input;
  input.shape = shape;
  input.dtype = dtype;
  input.scale = Scale::of(0.02F);
  return input;
}

// Gives sums a rounding that no kernel knows at compile time.
void round_down(Graph& graph) {
  for (Layer& layer : graph.layers) {
    if (auto* conv = std::get_if<Conv2d>(&layer.operation)) {
      conv->requantization.rounding = RoundingMode::kFloor;
    }
  }
}

// What a channel block of conv_wgmma is: 128 channels, or 64 with one tap or three in a stage.
struct Stage {
  std::string_view name;
  std::int64_t channels;
  Window window;  // keeps the size
};

constexpr Window kThree{3, 3, 1, 1, 1, 1, 1, 1};
constexpr Window kTwo{1, 2, 1, 1, 0, 1, 0, 0};  // two taps, for a tile divided by 2
const std::array kStages{Stage{"128", 128, kTwo}, Stage{"64", 16, kTwo}, Stage{"64x3", 16, kThree}};

struct Tile {
  int rows;
  int columns;
};
constexpr std::array kTiles{Tile{256, 128}, Tile{128, 128}, Tile{512, 64}, Tile{256, 64},
                            Tile{128, 64}};

constexpr std::array<std::string_view, 8> kFinishes{"plain",     "plain_pool",     "any",
                                                    "any_pool",  "scale",          "scale_pool",
                                                    "scale_add", "scale_add_first"};

Graph finish_graph(Random& random, DType dtype, const Stage& stage, std::string_view finish) {
  const bool scales = finish.starts_with("scale");
  const bool adds = finish.starts_with("scale_add");
  // 24 channels have no plain finish, and an addition wants as many as the input has.
  const std::int64_t out_channels = adds ? stage.channels : finish.starts_with("any") ? 24 : 16;
  NetworkBuilder builder(random, input_of(dtype, {1, 8, 8, stage.channels}),
                         scales ? Numbers::kScaled : Numbers::kPlain);
  const TensorId start = builder.tensor();
  builder.conv2d(out_channels, stage.window);
  if (finish.ends_with("pool")) builder.max_pool(square(2, 2));
  if (adds) builder.add(start, finish.ends_with("first"));
  return builder.build();
}

std::string tile_name(const Tile& tile) {
  return std::to_string(tile.rows) + "x" + std::to_string(tile.columns);
}

class Instances {
 public:
  void add(std::string name, CudaPath path, const CudaChoices& choices, Graph graph) {
    cases_.push_back({std::move(name), path, choices, std::move(graph)});
  }
  void add_portable(const std::string& name, DType dtype, int multiprocessors, Graph graph) {
    add(name + "." + std::string(dtype_name(dtype)), CudaPath::kPortable,
        {.multiprocessors = multiprocessors}, std::move(graph));
  }
  std::vector<InstanceCase> take() { return std::move(cases_); }

 private:
  std::vector<InstanceCase> cases_;
};

CudaChoices tile_choice(const Tile& tile, int split) {
  return {.tile_rows = tile.rows, .tile_columns = tile.columns, .tile_split = split};
}

void add_splits(Random& random, DType dtype, const Tile& tile, const std::string& begin,
                Instances& instances) {
  for (const Stage& stage : kStages) {
    instances.add(begin + std::string(stage.name) + "." + tile_name(tile) + ".split2",
                  CudaPath::kHopper, tile_choice(tile, 2),
                  finish_graph(random, dtype, stage, "plain"));
  }
  const Stage deep{"128", 128, kThree};
  for (const int split : {4, 8}) {
    if (split == 8 && tile.rows == 128 && tile.columns == 64) continue;  // fewer than 8 values
    instances.add(begin + "128." + tile_name(tile) + ".split" + std::to_string(split),
                  CudaPath::kHopper, tile_choice(tile, split),
                  finish_graph(random, dtype, deep, split == 4 ? "scale" : "any"));
  }
}

// What the epilogues are made for: shifts, requantizers, anything.
struct Finish {
  std::string_view name;
  Numbers numbers;
  bool general;
};
constexpr std::array kFinishKinds{Finish{"shift", Numbers::kPlain, false},
                                  Finish{"scale", Numbers::kScaled, false},
                                  Finish{"general", Numbers::kPlain, true}};
constexpr int kFew = 1;           // multiprocessors: large tiles even of small layers
constexpr int kMany = 1'000'000;  // small ones

Graph conv_graph(Random& random, const Value& input, const Finish& finish,
                 std::int64_t out_channels, const Window& window, bool depthwise = false) {
  NetworkBuilder builder(random, input, finish.numbers);
  builder.conv2d(out_channels, window, depthwise ? input.shape.channels : 1);
  if (finish.general) round_down(builder.graph());
  return builder.build();
}

void add_mma(Random& random, DType dtype, const Finish& finish, Instances& instances) {
  struct Size {
    std::string_view name;
    int multiprocessors;
    std::int64_t channels, out_channels;
  };
  for (const Size& size :
       {Size{"128x128", kFew, 16, 80}, Size{"128x64", kFew, 16, 32}, Size{"64x64", kMany, 16, 32},
        Size{"64x64.unit4", kMany, 20, 16}, Size{"64x64.unit1", kMany, 17, 16}}) {
    instances.add_portable("mma." + std::string(size.name) + "." + std::string(finish.name), dtype,
                           size.multiprocessors,
                           conv_graph(random, input_of(dtype, {1, 6, 7, size.channels}), finish,
                                      size.out_channels, kThree));
  }
}

// A window of 25 positions has no plain kernel.
void add_first(Random& random, DType dtype, const Finish& finish, Instances& instances) {
  for (const std::int64_t out_channels : {8, 32, 64}) {
    instances.add_portable(
        "first." + std::to_string(out_channels) + "." + std::string(finish.name), dtype, 0,
        conv_graph(random, input_of(dtype, {1, 9, 8, 3}), finish, out_channels, square(5, 1, 2)));
  }
}

void add_first_plain(Random& random, DType dtype, Instances& instances) {
  for (const DType written : kInputs) {
    for (const bool pools : {false, true}) {
      NetworkBuilder builder(random, input_of(dtype, {1, 8, 8, 3}), Numbers::kPlain);
      builder.conv2d(64, kThree);
      Value& ofmap = builder.graph().output_value();
      ofmap.dtype = written;
      auto& rq = std::get<Conv2d>(builder.graph().layers[0].operation).requantization;
      rq.lo = ofmap.min();
      rq.hi = ofmap.max();
      if (pools) builder.max_pool(square(2, 2));
      instances.add_portable(
          "first.plain." + std::string(dtype_name(written)) + (pools ? ".pool" : ""), dtype, 0,
          builder.build());
    }
  }
}

// Several rows a thread only where there are 1,024 threads for a multiprocessor.
void add_depthwise(Random& random, DType dtype, const Finish& finish, Instances& instances) {
  for (const std::int64_t stride : {1, 2}) {
    for (const int multiprocessors : {kFew, kMany}) {
      const std::int64_t side = multiprocessors == kFew ? 16 * stride : 6;
      const std::int64_t channels = multiprocessors == kFew ? 128 : 8;
      instances.add_portable("depthwise." + std::to_string(stride) +
                                 (multiprocessors == kFew ? ".rows." : ".row.") +
                                 std::string(finish.name),
                             dtype, multiprocessors,
                             conv_graph(random, input_of(dtype, {1, side, side, channels}), finish,
                                        channels, square(3, stride, 1), true));
    }
  }
  instances.add_portable(
      "depthwise.5x5." + std::string(finish.name), dtype, 0,
      conv_graph(random, input_of(dtype, {1, 7, 6, 8}), finish, 8, square(5, 1, 2), true));
}

void add_stream(Random& random, DType dtype, Instances& instances) {
  for (const std::int64_t batch : {8, 16, 32}) {
    for (const std::int64_t channels : {64, 65}) {
      NetworkBuilder builder(random, input_of(dtype, {batch, 1, 1, channels}), Numbers::kUsual);
      builder.fully_connected(24);
      instances.add_portable("stream." + std::to_string(batch) + "." + std::to_string(channels),
                             dtype, 0, builder.build());
    }
  }
}

// Copies of 16, 8, 4 and 1 bytes.
void add_concat(Random& random, DType dtype, Instances& instances) {
  for (const std::int64_t channels : {16, 8, 4, 3}) {
    Value value = input_of(dtype, {2, 3, 3, channels});
    NetworkBuilder builder(random, value, Numbers::kPlain);
    Graph& graph = builder.graph();
    const TensorId other = append(graph, "relu", Relu{}, {graph.input}, value);
    value.shape.channels *= 2;
    append(graph, "concat", Concat{}, {graph.input, other}, value);
    instances.add_portable("concat." + std::to_string(channels), dtype, 0, builder.build());
  }
}

}  // namespace

std::vector<InstanceCase> wgmma_instances() {
  Random random(kSeed);
  Instances instances;
  for (const DType dtype : kInputs) {
    const std::string begin = "wgmma." + std::string(dtype_name(dtype)) + ".";
    for (const Tile& tile : kTiles) {
      for (const Stage& stage : kStages) {
        if (tile.rows == 512 && stage.name != "64x3") continue;  // would not fit
        for (const std::string_view finish : kFinishes) {
          instances.add(
              begin + std::string(stage.name) + "." + tile_name(tile) + "." + std::string(finish),
              CudaPath::kHopper, tile_choice(tile, 1), finish_graph(random, dtype, stage, finish));
        }
      }
      if (tile.rows != 512) add_splits(random, dtype, tile, begin, instances);
    }
  }
  return instances.take();
}

std::vector<InstanceCase> portable_instances() {
  Random random(kSeed);
  Instances instances;
  for (const DType dtype : kInputs) {
    for (const Finish& finish : kFinishKinds) {
      add_mma(random, dtype, finish, instances);
      add_first(random, dtype, finish, instances);
      add_depthwise(random, dtype, finish, instances);
    }
    add_first_plain(random, dtype, instances);
    add_stream(random, dtype, instances);
    add_concat(random, dtype, instances);
  }
  return instances.take();
}

}  // namespace qsim::golden_test
