// Graph::validate refuses each kind of broken graph with a message that names the layer, and
// window_count agrees with a count made by walking the windows.
#include "core/graph.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/graph_refusals.h"

namespace qsim {
namespace {

Value value_of(ImageShape shape) { return {.shape = shape, .scale = {}}; }

// conv 3x3 -> relu -> max_pool 2x2 -> flatten -> fully connected, all valid.
Graph small_network() {
  Graph graph;
  graph.name = "small";
  graph.input_value() = value_of({2, 6, 6, 3});
  Conv2d conv{.window = {3, 3, 1, 1, 1, 1, 1, 1},
              .weights = Tensor(DType::kInt8, {8, 3, 3, 3}),
              .bias = Tensor(DType::kInt32, {8}),
              .requantization = {.shifts = {7}}};
  append(graph, "conv", conv, value_of({2, 6, 6, 8}));
  append(graph, "relu", Relu{}, value_of({2, 6, 6, 8}));
  append(graph, "pool", MaxPool{{2, 2, 2, 2, 0, 0, 0, 0}}, value_of({2, 3, 3, 8}));
  append(graph, "flatten", Flatten{}, value_of({2, 1, 1, 72}));
  FullyConnected fc{.weights = Tensor(DType::kInt8, {10, 72}),
                    .bias = Tensor(DType::kInt32, {10}),
                    .requantization = {.shifts = std::vector<std::uint8_t>(10, 5)}};
  append(graph, "fc", fc, value_of({2, 1, 1, 10}));
  return graph;
}

Conv2d& conv(Graph& graph) { return std::get<Conv2d>(graph.layers[0].operation); }
FullyConnected& fc(Graph& graph) { return std::get<FullyConnected>(graph.layers[4].operation); }
MaxPool& pool(Graph& graph) { return std::get<MaxPool>(graph.layers[2].operation); }

using testing::refusal;

void expect_refusals(const std::vector<testing::Breakage<Graph>>& breakages) {
  testing::expect_refusals(small_network(), breakages);
}

TEST(Graph, AcceptsAValidNetwork) { EXPECT_EQ(refusal(small_network()), ""); }

TEST(Graph, RefusesBrokenWeightsBiasesAndShifts) {
  expect_refusals({
      {"layer 'conv': weights is int8 [8, 3, 3, 4]; expected int8 [8, 3, 3, 3]",
       [](Graph& g) {
         conv(g).weights = Tensor(DType::kInt8, {8, 3, 3, 4});
       }},
      {"layer 'conv': bias is float32 [8]; expected int32 [8]",
       [](Graph& g) { conv(g).bias = Tensor(DType::kFloat32, {8}); }},
      {"layer 'fc': weights is uint8 [10, 72]; expected int8 [10, 72]",
       [](Graph& g) {
         fc(g).weights = Tensor(DType::kUint8, {10, 72});
       }},
      {"layer 'conv': 0 shifts; expected 1 or 8",
       [](Graph& g) { conv(g).requantization.shifts.clear(); }},
      {"layer 'fc': 9 shifts; expected 1 or 10",
       [](Graph& g) { fc(g).requantization.shifts.pop_back(); }},
      {"layer 'fc': shift 32 is outside 0..31",
       [](Graph& g) { fc(g).requantization.shifts[9] = 32; }},
      {"layer 'conv': clamp range 3..2 is not within -128..127",
       [](Graph& g) { conv(g).requantization.lo = 3, conv(g).requantization.hi = 2; }},
      {"layer 'fc': clamp range -128..128 is not within -128..127",
       [](Graph& g) { fc(g).requantization.hi = 128; }},
  });
}

TEST(Graph, RefusesBrokenWindowsAndShapes) {
  expect_refusals({
      {"layer 'conv': kernel is smaller than 1; allowed: 1 or more",
       [](Graph& g) { conv(g).window.kernel_w = 0; }},
      {"layer 'conv': stride is smaller than 1; allowed: 1 or more",
       [](Graph& g) { conv(g).window.stride_h = 0; }},
      {"layer 'conv': padding is negative; allowed: 0 or more",
       [](Graph& g) { conv(g).window.pad_right = -1; }},
      {"layer 'conv': output shape [2, 6, 6, 8]; expected [2, 5, 6, 8]",
       [](Graph& g) { conv(g).window.pad_bottom = 0; }},
      {"layer 'relu': output shape [2, 6, 5, 8]; expected [2, 6, 6, 8]",
       [](Graph& g) { g.output_of(1).shape.width = 5; }},
      {"layer 'pool': padding is as large as the pooling kernel; allowed: less",
       [](Graph& g) { pool(g).window.pad_left = 2; }},
      {"layer 'pool': output shape [2, 4, 3, 8]; expected [2, 3, 3, 8]",
       [](Graph& g) { g.output_of(2).shape.height = 4; }},
      {"layer 'flatten': output shape [2, 1, 1, 71]; expected [2, 1, 1, 72]",
       [](Graph& g) { g.output_of(3).shape.channels = 71; }},
      {"layer 'fc': reads a picture [2, 3, 3, 8]; flatten it first",
       [](Graph& g) {
         g.layers.erase(g.layers.begin() + 3);
         g.layers[3].inputs = {g.layers[2].output};
         g.layers[3].output = g.output = 4;
         g.tensors.erase(g.tensors.begin() + 4);
       }},
  });
}

TEST(Graph, RefusesBrokenValuesAndNames) {
  expect_refusals({
      {"graph 'small' has no layers", [](Graph& g) { g.layers.clear(); }},
      {"two layers are called 'conv'; names must be unique",
       [](Graph& g) { g.layers[4].name = "conv"; }},
      {"graph input: dtype int32; activations are int8 or uint8",
       [](Graph& g) { g.input_value().dtype = DType::kInt32; }},
      {"graph input: zero_point 128 is outside -128..127",
       [](Graph& g) { g.input_value().zero_point = 128; }},
      {"layer 'fc' output: zero_point -1 is outside 0..255",
       [](Graph& g) { g.output_of(4).dtype = DType::kUint8, g.output_of(4).zero_point = -1; }},
      {"graph input: shape [0, 6, 6, 3]", [](Graph& g) { g.input_value().shape.batch = 0; }},
      {"layer 'relu': changes dtype, zero_point or scale, which relu cannot",
       [](Graph& g) { g.output_of(1).zero_point = 1; }},
      {"layer 'pool': changes dtype, zero_point or scale, which max_pool cannot",
       [](Graph& g) { g.output_of(2).dtype = DType::kUint8; }},
      {"layer 'relu': changes dtype, zero_point or scale, which relu cannot",
       [](Graph& g) { g.output_of(1).scale = Scale::power_of_two(3); }},
      {"layer 'flatten': changes dtype, zero_point or scale, which flatten cannot",
       [](Graph& g) { g.output_of(3).scale = Scale::of(0.3F); }},
  });
}

TEST(Graph, RefusesSizesThatDoNotFit64Bits) {
  Graph graph = small_network();
  graph.input_value().shape = {1 << 20, std::int64_t{1} << 30, std::int64_t{1} << 30, 3};
  EXPECT_EQ(refusal(graph).find("graph input: size overflow: "), 0u) << refusal(graph);
  graph = small_network();
  conv(graph).window.pad_top = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal(graph).find("layer 'conv': size overflow: "), 0u) << refusal(graph);
}

TEST(Graph, CountsUsefulMacsOverTheBatch) {
  const Graph graph = small_network();
  EXPECT_EQ(layer_macs(graph, 0), 2 * 6 * 6 * 8 * 3 * 3 * 3);
  EXPECT_EQ(layer_macs(graph, 1), 0);
  EXPECT_EQ(layer_macs(graph, 2), 0);
  EXPECT_EQ(layer_macs(graph, 4), 2 * 10 * 72);
}

// Windows start at -pad_begin, one stride apart. Without ceil_mode a window must end inside the
// padded picture; with it, it must start before the trailing pad and may hang over.
std::int64_t walk_windows(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                          std::int64_t pad_begin, std::int64_t pad_end, bool ceil_mode) {
  std::int64_t count = 0;
  for (std::int64_t start = -pad_begin;; start += stride, ++count) {
    const bool fits = start + kernel <= size + pad_end;
    if (fits) {
      if (ceil_mode && start >= size) break;
      continue;
    }
    // The first window that hangs over still counts with ceil_mode when its predecessor did not
    // reach the end.
    const bool covered = start - stride + kernel >= size + pad_end;
    if (ceil_mode && !covered && start < size) ++count;
    break;
  }
  return count;
}

TEST(Graph, ErrorsCallALayerByItsSourceAndElseByItsName) {
  EXPECT_EQ(layer_place("conv1"), "layer 'conv1'");
  EXPECT_EQ(layer_place("conv1", "net.yaml:4:5: layer 'conv1'"), "net.yaml:4:5: layer 'conv1'");
}

TEST(Graph, CountsWindowsAsOnnxDoes) {
  std::int64_t with_overhang = 0;
  for (std::int64_t size = 1; size <= 12; ++size) {
    for (std::int64_t kernel = 1; kernel <= 5; ++kernel) {
      for (std::int64_t stride = 1; stride <= 5; ++stride) {
        for (std::int64_t pad_begin = 0; pad_begin < kernel; ++pad_begin) {
          for (std::int64_t pad_end = 0; pad_end < kernel; ++pad_end) {
            if (size + pad_begin + pad_end < kernel) continue;
            for (const bool ceil_mode : {false, true}) {
              const auto count = window_count(size, kernel, stride, pad_begin, pad_end, ceil_mode);
              ASSERT_EQ(count, walk_windows(size, kernel, stride, pad_begin, pad_end, ceil_mode))
                  << "size " << size << " kernel " << kernel << " stride " << stride << " pads "
                  << pad_begin << " " << pad_end << " ceil_mode " << ceil_mode;
              with_overhang += ceil_mode && count > window_count(size, kernel, stride, pad_begin,
                                                                 pad_end, false);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(with_overhang, 100);
  EXPECT_EQ(window_count(2, 3, 1, 0, 0), 0);
}

}  // namespace
}  // namespace qsim
