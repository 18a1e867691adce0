// Layer traces: an exact round trip of every field, what a script may leave out, and refusals.
#include "formats/traces/layer_trace.h"

#include <bit>
#include <fstream>
#include <thread>

#include <sys/stat.h>

#include "core/base/random.h"
#include "formats/files/files.h"
#include "formats/traces/npy.h"
#include "tests/files/files_test_support.h"
#include "tests/golden/random_dag.h"

namespace qsim {

using namespace formats;
namespace {

Tensor random_tensor(DType dtype, const Shape& shape, Random& random) {
  Tensor tensor(dtype, shape);
  for (auto& byte : tensor.bytes) byte = static_cast<std::byte>(random.uniform(0, 255));
  return tensor;
}

// A graph with every operation and every field away from its default.
LayerTrace sample() {
  Random random(3);
  LayerTrace trace;
  Graph& graph = trace.graph;
  graph.name = "a \"graph\"";
  graph.input_value() = {{2, 6, 5, 3}, DType::kUint8, 130, Scale::power_of_two(-7)};
  graph.host = {HostInterface::Layout::kNchw, true, true, true};
  const Window window{3, 2, 2, 1, 1, 0, 2, 1};
  const Requantization requantization{RoundingMode::kTowardZero, {1, 2, 3, 31}, -100, 99};
  const auto scale = Scale::of(0.0123F);
  append(graph, "/conv/1:0",
         Conv2d{window, random_tensor(DType::kInt8, {4, 3, 2, 3}, random),
                random_tensor(DType::kInt32, {4}, random), requantization},
         {{2, 4, 5, 4}, DType::kInt8, -7, scale});
  append(graph, "relu", Relu{}, graph.output_of(0));
  append(graph, "pool", MaxPool{{2, 3, 3, 2, 1, 1, 0, 2}}, {{2, 2, 3, 4}, DType::kInt8, -7, scale});
  append(graph, "flat", Flatten{Flatten::Order::kHwc}, {{2, 1, 1, 24}, DType::kInt8, -7, scale});
  append(graph, "fc",
         FullyConnected{random_tensor(DType::kInt8, {5, 24}, random),
                        random_tensor(DType::kInt32, {5}, random),
                        {RoundingMode::kHalfUp, {9}, 1, 250}},
         {{2, 1, 1, 5}, DType::kUint8, 1, Scale::power_of_two(0)});
  trace.input = random_tensor(DType::kUint8, {2, 6, 5, 3}, random);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Value& output = graph.output_of(i);
    trace.ofmaps.push_back(random_tensor(output.dtype, output.shape.nhwc(), random));
  }
  return trace;
}

void expect_equal(const Requantization& a, const Requantization& b) {
  EXPECT_TRUE(a.is_dyadic() || a.rounding == b.rounding);
  EXPECT_EQ(a.shifts, b.shifts);
  EXPECT_EQ(a.lo, b.lo);
  EXPECT_EQ(a.hi, b.hi);
  EXPECT_EQ(a.requantizers, b.requantizers);
}

void expect_equal(const Operation& a, const Operation& b) {
  ASSERT_EQ(a.index(), b.index());
  if (const auto* conv = std::get_if<Conv2d>(&a)) {
    const auto& other = std::get<Conv2d>(b);
    EXPECT_EQ(conv->window, other.window);
    EXPECT_EQ(conv->groups, other.groups);
    EXPECT_EQ(conv->weights, other.weights);
    EXPECT_EQ(conv->bias, other.bias);
    expect_equal(conv->requantization, other.requantization);
  } else if (const auto* fc = std::get_if<FullyConnected>(&a)) {
    const auto& other = std::get<FullyConnected>(b);
    EXPECT_EQ(fc->weights, other.weights);
    EXPECT_EQ(fc->bias, other.bias);
    expect_equal(fc->requantization, other.requantization);
  } else if (const auto* pool = std::get_if<MaxPool>(&a)) {
    EXPECT_EQ(pool->window, std::get<MaxPool>(b).window);
  } else if (const auto* flatten = std::get_if<Flatten>(&a)) {
    EXPECT_EQ(flatten->order, std::get<Flatten>(b).order);
  } else if (const auto* average = std::get_if<AveragePool>(&a)) {
    const auto& other = std::get<AveragePool>(b);
    EXPECT_EQ(average->window, other.window);
    EXPECT_EQ(average->count_include_pad, other.count_include_pad);
    EXPECT_EQ(average->rounding, other.rounding);
    EXPECT_EQ(average->lo, other.lo);
    EXPECT_EQ(average->hi, other.hi);
  } else if (const auto* add = std::get_if<Add>(&a)) {
    const auto& other = std::get<Add>(b);
    EXPECT_EQ(add->rounding, other.rounding);
    EXPECT_EQ(add->lo, other.lo);
    EXPECT_EQ(add->hi, other.hi);
  } else if (const auto* table = std::get_if<LookupTable>(&a)) {
    const auto& other = std::get<LookupTable>(b);
    EXPECT_EQ(table->function, other.function);
    EXPECT_EQ(table->bytes, other.bytes);
  } else if (const auto* prelu = std::get_if<PRelu>(&a)) {
    EXPECT_EQ(prelu->slopes, std::get<PRelu>(b).slopes);
  }
}

TEST(LayerTrace, RoundTripIsExact) {
  const TemporaryFolder folder;
  const LayerTrace trace = sample();
  write_layer_trace(folder.path() / "t", trace.graph, trace.input, trace.ofmaps);
  const LayerTrace back = read_layer_trace(folder.path() / "t");
  EXPECT_EQ(back.graph.name, trace.graph.name);
  EXPECT_EQ(back.graph.input_value(), trace.graph.input_value());
  EXPECT_EQ(back.graph.host.layout, HostInterface::Layout::kNchw);
  EXPECT_TRUE(back.graph.host.float_input);
  EXPECT_TRUE(back.graph.host.float_output);
  EXPECT_TRUE(back.graph.host.flat_output);
  EXPECT_EQ(back.input, trace.input);
  EXPECT_EQ(back.ofmaps, trace.ofmaps);
  ASSERT_EQ(back.graph.layers.size(), trace.graph.layers.size());
  for (std::size_t i = 0; i < trace.graph.layers.size(); ++i) {
    SCOPED_TRACE(trace.graph.layers[i].name);
    EXPECT_EQ(back.graph.layers[i].name, trace.graph.layers[i].name);
    EXPECT_EQ(back.graph.output_of(i), trace.graph.output_of(i));
    expect_equal(back.graph.layers[i].operation, trace.graph.layers[i].operation);
  }
}

TEST(LayerTrace, RoundTripOfRandomGraphsWithBranchesIsExact) {
  constexpr std::uint64_t kFirstSeed = 300;
  const TemporaryFolder folder;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    LayerTrace trace;
    golden_test::DagOptions options;
    options.operations.add_tflite_roundings();
    options.operations.prelu = true;
    trace.graph = golden_test::random_dag(random, options);
    const Graph& graph = trace.graph;
    const auto filled = [&](const Value& value) {
      return random_tensor(value.dtype, value.shape.nhwc(), random);
    };
    trace.input = filled(graph.input_value());
    for (std::size_t i = 0; i < graph.layers.size(); ++i) {
      trace.ofmaps.push_back(filled(graph.output_of(i)));
    }
    write_layer_trace(folder.path() / "t", graph, trace.input, trace.ofmaps,
                      [](const std::filesystem::path& path, std::string_view bytes) {
                        std::ofstream(path, std::ios::binary) << bytes;
                      });
    const LayerTrace back = read_layer_trace(folder.path() / "t");
    ASSERT_EQ(back.graph.tensors, graph.tensors);
    ASSERT_EQ(back.ofmaps, trace.ofmaps);
    ASSERT_EQ(back.graph.layers.size(), graph.layers.size());
    for (std::size_t i = 0; i < graph.layers.size(); ++i) {
      EXPECT_EQ(back.graph.layers[i].inputs, graph.layers[i].inputs) << graph.layers[i].name;
      expect_equal(back.graph.layers[i].operation, graph.layers[i].operation);
    }
    if (HasFailure()) return;
  }
}

TEST(LayerTrace, ALayerCalledInputIsRefusedWhereBranchesAreNamed) {
  const TemporaryFolder folder;
  Graph graph;
  graph.name = "branches";
  graph.input_value() = {{1, 1, 1, 1}, DType::kInt8, 0, Scale::power_of_two(0)};
  const TensorId relu = append(graph, "input", Relu{}, graph.input_value());
  append(graph, "add", Add{}, {graph.input, relu}, graph.output_of(0));
  EXPECT_EQ(
      error_of([&] { require_layer_trace_fits(folder.path(), graph); }),
      "layer 'input': a layer trace of a network with branches has no room for a layer called "
      "'input'; rename it");
  graph.layers[0].name = "relu";
  require_layer_trace_fits(folder.path(), graph);
}

TEST(LayerTrace, FileNamesHoldNoOddCharacters) {
  const TemporaryFolder folder;
  const LayerTrace trace = sample();
  write_layer_trace(folder.path(), trace.graph, trace.input, trace.ofmaps);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "0__conv_1_0.weights.npy"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "4_fc.ofmap.npy"));
}

// What a script has to write for one convolution.
void write_minimal(const TemporaryFolder& folder, const std::string& more = "",
                   const std::string& requantization = "shifts: [4]") {
  write_npy(folder.path() / "x.npy", Tensor(DType::kInt8, {1, 4, 4, 2}));
  write_npy(folder.path() / "w.npy", Tensor(DType::kInt8, {3, 3, 3, 2}));
  write_npy(folder.path() / "b.npy", Tensor(DType::kInt32, {3}));
  write_npy(folder.path() / "y.npy", Tensor(DType::kUint8, {1, 2, 2, 3}));
  folder.file("trace.yaml",
              "schema: qsim.trace/1\ninput: {file: x.npy}\nlayers:\n"
              "- {name: c, op: conv2d, weights: w.npy, bias: b.npy, ofmap: y.npy, " +
                  requantization + more + "}\n");
}

TEST(LayerTrace, DefaultsFollowFromTheTensors) {
  const TemporaryFolder folder;
  write_minimal(folder);
  const LayerTrace trace = read_layer_trace(folder.path());
  const auto& conv = std::get<Conv2d>(trace.graph.layers[0].operation);
  EXPECT_EQ(conv.window, (Window{3, 3, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(conv.requantization.rounding, RoundingMode::kHalfEven);
  EXPECT_EQ(conv.requantization.lo, 0);
  EXPECT_EQ(conv.requantization.hi, 255);
  EXPECT_EQ(trace.graph.output_of(0).dtype, DType::kUint8);
  EXPECT_EQ(trace.graph.name, folder.path().filename().string());
  EXPECT_EQ(trace.graph.layers[0].source,
            (folder.path() / "trace.yaml").string() + ":4:3: layer 'c'");
}

TEST(LayerTrace, ScalesAreRequantizersThatRoundAsFloat32) {
  const TemporaryFolder folder;
  write_minimal(folder, ", inputs: [input], dilation: [1, 1]", "scales: [0.1, 2, 1.5e-3]");
  const LayerTrace trace = read_layer_trace(folder.path());
  const Requantization& rq = std::get<Conv2d>(trace.graph.layers[0].operation).requantization;
  ASSERT_EQ(rq.requantizers.size(), 3u);
  EXPECT_TRUE(rq.shifts.empty());
  EXPECT_EQ(rq.requantizers[0], requantizer_of(*Scale::of(0.1F), RequantizerRounding::kFloat32));
  EXPECT_EQ(real_scale(rq.requantizers[2]), 1.5e-3F);
}

TEST(LayerTrace, TensorFlowLitesScalesAreSplitAsDoubles) {
  const TemporaryFolder folder;
  write_minimal(folder, ", rounding: tflite_single", "scales: [0.1, 0, 3e-3]");
  const LayerTrace trace = read_layer_trace(folder.path());
  const Requantization& rq = std::get<Conv2d>(trace.graph.layers[0].operation).requantization;
  ASSERT_EQ(rq.requantizers.size(), 3u);
  EXPECT_EQ(rq.requantizers[0], (Requantizer{1717986918, 34, RequantizerRounding::kTfliteSingle}));
  EXPECT_EQ(rq.requantizers[1], (Requantizer{0, 31, RequantizerRounding::kTfliteSingle}));
}

TEST(LayerTrace, EveryScaleComesBackExactly) {
  constexpr std::uint64_t kSeed = 8;
  Random random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  LayerTrace trace = sample();
  std::vector<Scale> scales = {Scale::power_of_two(-149), Scale::power_of_two(127),
                               Scale::power_of_two(-126), *Scale::of(0.1F), *Scale::of(3.4e38F)};
  for (int i = 0; i < 200; ++i) {
    scales.push_back(*Scale::of(
        std::bit_cast<float>(static_cast<std::uint32_t>(random.uniform(1, 0x7F7FFFFF)))));
  }
  for (const Scale scale : scales) {
    const TemporaryFolder folder;
    trace.graph.input_value().scale = scale;
    write_layer_trace(folder.path(), trace.graph, trace.input, trace.ofmaps);
    EXPECT_EQ(read_layer_trace(folder.path()).graph.input_value().scale, scale) << scale.real();
  }
}

TEST(LayerTrace, VectorsMayHaveTwoDimensionsAndTheFileMayBeJson) {
  const TemporaryFolder folder;
  write_npy(folder.path() / "x.npy", Tensor(DType::kInt8, {2, 6}));
  write_npy(folder.path() / "w.npy", Tensor(DType::kInt8, {3, 6}));
  write_npy(folder.path() / "b.npy", Tensor(DType::kInt32, {3}));
  write_npy(folder.path() / "y.npy", Tensor(DType::kInt8, {2, 3}));
  folder.file("trace.yaml", R"({
 "schema": "qsim.trace/1",
 "input": {"file": "x.npy", "zero_point": -3},
 "layers": [
  {"name": "f", "op": "fully_connected", "weights": "w.npy", "bias": "b.npy", "shifts": [4],
   "ofmap": "y.npy"}
 ]
})");
  const LayerTrace trace = read_layer_trace(folder.path());
  EXPECT_EQ(trace.graph.input_value().shape, (ImageShape{2, 1, 1, 6}));
  EXPECT_EQ(trace.graph.input_value().zero_point, -3);
  EXPECT_EQ(trace.ofmaps[0].shape, (Shape{2, 1, 1, 3}));
}

TEST(LayerTrace, MistakesAreNamed) {
  const TemporaryFolder folder;
  const auto message = [&] { return error_of([&] { read_layer_trace(folder.path()); }); };
  expect_contains(message(), "has no trace.yaml; it is not a layer trace, or its writing was");
  write_minimal(folder, ", stide: [1, 1]");
  expect_contains(message(), "did you mean 'stride'?");
  write_minimal(folder, ", zero_point: -1");
  expect_contains(message(), "zero_point: -1 is out of range; allowed: 0 to 255");
  write_minimal(folder, ", scale: 0.5, scale_exponent: 1");
  expect_contains(message(), "scale: 'scale' beside 'scale_exponent'; give one of them");
  for (const std::string scale : {"0", "-0.5", "1e39", "1e-60"}) {
    write_minimal(folder, ", scale: " + scale);
    expect_contains(message(), "found '" + scale + "'; expected a positive float32");
  }
  write_minimal(folder, ", scales: [0.5]");
  expect_contains(message(), "scales: 'scales' beside 'shifts'; give one of them");
  write_minimal(folder, "", "scales: []");
  expect_contains(message(), "the list is empty; give one scale, or one a channel");
  write_minimal(folder, "", "scales: [0.5, -1, 2]");
  expect_contains(message(), "found '-1'; expected a positive float32");
  write_minimal(folder, ", rounding: tflite", "scales: [0.5, -1, 2]");
  expect_contains(message(), "the scale is negative; allowed: 0 or more");
  write_minimal(folder, ", inputs: [later]");
  expect_contains(message(), "found 'later'; expected 'input' or the name of a layer before this");
  write_minimal(folder, ", inputs: []");
  expect_contains(message(), "layer 'c': reads 0 tensors; conv2d reads 1");
  write_minimal(folder, ", groups: 4");
  expect_contains(message(), "4 groups do not divide 2 input channels and 3 output channels");
  write_minimal(folder, ", kernel: [5, 3]");
  expect_contains(message(), "trace.yaml:4:3: layer 'c': weights is");
  write_minimal(folder);
  write_npy(folder.path() / "y.npy", Tensor(DType::kInt8, {1, 2, 2, 4}));
  expect_contains(message(), "layer 'c': weights");
  write_npy(folder.path() / "y.npy", Tensor(DType::kInt32, {1, 2, 2, 3}));
  expect_contains(message(), "activations are int8 or uint8");
  write_npy(folder.path() / "y.npy", Tensor(DType::kInt8, {12}));
  expect_contains(message(), "expected [N, H, W, C]");
  std::filesystem::remove(folder.path() / "y.npy");
  expect_contains(message(), "y.npy: cannot be read: no such file");
}

// The reader waits for a tensor, here a pipe, while another run replaces trace.yaml.
TEST(LayerTrace, OneThatIsWrittenWhileItIsReadIsRefused) {
  const TemporaryFolder folder;
  const LayerTrace trace = sample();
  write_layer_trace(folder.path(), trace.graph, trace.input, trace.ofmaps);
  const std::string text = read_text_file(folder.path() / kLayerTraceFile);
  const auto input = folder.path() / "input.npy";
  const std::string bytes = read_text_file(input);
  std::filesystem::remove(input);
  ASSERT_EQ(::mkfifo(input.c_str(), 0600), 0);
  for (const bool replaced : {true, false}) {
    std::thread writer([&] {
      std::ofstream pipe(input, std::ios::binary);  // opens once the reader is there
      if (replaced) write_file_atomically(folder.path() / kLayerTraceFile, text);
      pipe << bytes;
    });
    if (replaced) {
      expect_contains(error_of([&] { read_layer_trace(folder.path()); }),
                      folder.path().string() + ": the layer trace was changed while it was read");
    } else {
      EXPECT_EQ(read_layer_trace(folder.path()).input.bytes, trace.input.bytes);
    }
    writer.join();
  }
}

TEST(LayerTrace, TensorsOutsideTheFolderAndOtherSchemasAreRefused) {
  const TemporaryFolder folder;
  folder.file("trace.yaml", "schema: qsim.trace/1\ninput: {file: ../x.npy}\nlayers: []\n");
  expect_contains(error_of([&] { read_layer_trace(folder.path()); }), "in the same folder");
  folder.file("trace.yaml", "schema: qsim.trace/2\ninput: {file: x.npy}\nlayers: []\n");
  expect_contains(error_of([&] { read_layer_trace(folder.path()); }),
                  "found 'qsim.trace/2'; expected qsim.trace/1");
}

}  // namespace
}  // namespace qsim
