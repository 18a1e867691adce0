// Workload files of networks with branches: what they expand to, and refusals.
#include "formats/workload/workload.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

constexpr const char* kDyadic = "requantizer: dyadic\ninput: {shape: [2, 8, 8, 4]}\n";

Workload load(const std::string& layers, const std::string& head) {
  const TemporaryFolder folder;
  return load_workload(folder.file("w.yaml", head + "layers:\n" + layers));
}

std::string load_error(const std::string& layers, const std::string& head) {
  return error_of([&] { load(layers, head); });
}

// A residual block with a strided, grouped, dilated branch, an average and a concatenation.
constexpr const char* kBranches =
    "  - {op: conv2d, name: a, out_channels: 8, kernel: 3, pad: 1, relu: true, "
    "per_channel_shift: true}\n"
    "  - {op: conv2d, name: b, out_channels: 8, kernel: 3, pad: 2, dilation: 2, groups: 4, "
    "zero_point: 3}\n"
    "  - {op: add, name: c, inputs: [b, a_relu], relu: true, rounding: half_even}\n"
    "  - {op: average_pool, kernel: 2, stride: 1, pad: 1, count_include_pad: true, inputs: "
    "[c_relu]}\n"
    "  - {op: max_pool, kernel: 2, stride: 1, pad: 1, inputs: [b]}\n"
    "  - {op: average_pool, name: g, kernel: 9, inputs: [avgpool1]}\n"
    "  - {op: average_pool, name: h, kernel: 9, inputs: [pool1], zero_point: 5}\n"
    "  - {op: add, inputs: [g, h]}\n";

TEST(Workload, LayersReadWhatTheyName) {
  const Workload workload = load(kBranches, kDyadic);
  const Graph& graph = workload.graph;
  std::vector<std::string> names;
  for (const Layer& layer : graph.layers) names.push_back(layer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a_relu", "b", "c", "c_relu", "avgpool1", "pool1",
                                             "g", "h", "add2"}));
  EXPECT_EQ(graph.layers[2].inputs, (std::vector<TensorId>{2}));
  EXPECT_EQ(graph.layers[3].inputs, (std::vector<TensorId>{3, 2}));
  EXPECT_EQ(graph.layers[6].inputs, (std::vector<TensorId>{3}));
  const auto& b = std::get<Conv2d>(graph.layers[2].operation);
  EXPECT_EQ(b.groups, 4);
  EXPECT_EQ(b.window.dilation_h, 2);
  EXPECT_EQ(b.weights.shape, (Shape{8, 3, 3, 2}));
  EXPECT_EQ(b.requantization.requantizers.size(), 1u);
  const auto& a = std::get<Conv2d>(graph.layers[0].operation);
  EXPECT_EQ(a.requantization.requantizers.size(), 8u);
  EXPECT_EQ(a.requantization.requantizers[0].rounding, RequantizerRounding::kFloat32);
  EXPECT_NE(a.requantization.requantizers[0], a.requantization.requantizers[1]);
  EXPECT_EQ(std::get<Add>(graph.layers[3].operation).rounding, RequantizerRounding::kHalfEven);
  EXPECT_TRUE(std::get<AveragePool>(graph.layers[5].operation).count_include_pad);
  EXPECT_EQ(graph.output_of(8).zero_point, 5);
  for (const Value& value : graph.tensors) EXPECT_TRUE(value.scale.has_value());
  // The scale of a sum follows from the values; layers that keep values keep it.
  EXPECT_NE(graph.output_of(3).scale, graph.output_of(2).scale);
  EXPECT_EQ(graph.output_of(4).scale, graph.output_of(3).scale);
}

TEST(Workload, MistakesInBranchesSayWhereAndWhatIsAllowed) {
  const std::string kShift = "input: {shape: [1, 8, 8, 4]}\n";
  const auto error = [](const std::string& layers) { return load_error(layers, kDyadic); };
  expect_contains(error("  - {op: relu, inputs: [later]}\n"),
                  "found 'later'; expected 'input' or the name of a layer before this one");
  expect_contains(error("  - {op: relu, inputs: []}\n"),
                  "the list is empty; name what the layer reads");
  expect_contains(error("  - {op: add, inputs: [input]}\n"),
                  "w.yaml:4:5: layer 'add1': reads 1 tensors; add reads 2");
  expect_contains(error("  - {op: concat}\n"), "reads 1 tensors; concat reads at least 2");
  expect_contains(error("  - {op: relu, inputs: [input, input]}\n"),
                  "reads 2 tensors; relu reads 1");
  const std::string half = "  - {op: max_pool, name: half, kernel: 2}\n";
  expect_contains(error(half + "  - {op: add, inputs: [input, half]}\n"),
                  "layer 'add1': reads a tensor [2, 4, 4, 4]; expected [2, 8, 8, 4]");
  expect_contains(error(half + "  - {op: concat, inputs: [half, input]}\n"),
                  "layer 'concat1': reads a tensor [2, 8, 8, 4]; expected [2, 4, 4, 4]");
  expect_contains(error("  - {op: conv2d, out_channels: 6, kernel: 1, groups: 4}\n"),
                  "4 groups do not divide 4 input channels and 6 output channels");
  expect_contains(error("  - {op: conv2d, out_channels: 6, kernel: 1, shift: 4}\n"),
                  "a workload with 'requantizer: dyadic' has no shifts; leave it out");
  expect_contains(error("  - {op: conv2d, out_channels: 6, kernel: 1, rounding: half_away}\n"),
                  "rounding: found 'half_away'");
  expect_contains(load_error("  - {op: add, inputs: [input, input]}\n", kShift),
                  "op add needs tensors with scales; give the file 'requantizer: dyadic'");
  expect_contains(load_error("  - {op: average_pool, kernel: 2}\n", kShift),
                  "op average_pool needs tensors with scales");
  const std::string lower =
      "  - {op: conv2d, name: low, out_channels: 4, kernel: 1, zero_point: 9}\n";
  expect_contains(error(lower + "  - {op: concat, inputs: [low, input]}\n"),
                  ": layer 'concat1': operand 'input' has int8, zero_point 0, scale 0.0217, the "
                  "first operand 'low' has int8, zero_point 9, scale 0.0217; all operands of a "
                  "concat have one dtype, zero_point and scale");
}

TEST(Workload, ShapesOfBranchesAreThoseOfTheDrawnNetwork) {
  const TemporaryFolder folder;
  const auto path = folder.file("w.yaml", std::string(kDyadic) + "layers:\n" + kBranches);
  const Graph shapes = load_workload_shapes(path);
  const Graph drawn = load_workload(path).graph;
  ASSERT_EQ(shapes.layers.size(), drawn.layers.size());
  for (std::size_t i = 0; i < drawn.layers.size(); ++i) {
    EXPECT_EQ(shapes.layers[i].inputs, drawn.layers[i].inputs);
    EXPECT_EQ(shapes.output_of(i).shape, drawn.output_of(i).shape);
  }
}

}  // namespace
}  // namespace qsim
