// Which files a layer trace has: as large as its reader takes, and none of an older one.
#include <fstream>
#include <set>

#include "core/base/random.h"
#include "formats/files/files.h"
#include "formats/traces/layer_trace.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

Tensor random_tensor(DType dtype, const Shape& shape, Random& random) {
  Tensor tensor(dtype, shape);
  for (auto& byte : tensor.bytes) byte = static_cast<std::byte>(random.uniform(0, 255));
  return tensor;
}

// A chain of 1x1 convolutions over one pixel, with a shift for each channel.
LayerTrace many_layers(std::int64_t layers, std::int64_t channels, Random& random) {
  LayerTrace trace;
  const Value value{{1, 1, 1, channels}, DType::kUint8, 0, Scale::power_of_two(0)};
  trace.graph.name = "many";
  trace.graph.input_value() = value;
  trace.input = random_tensor(DType::kUint8, value.shape.nhwc(), random);
  const Requantization requantization{
      RoundingMode::kFloor, std::vector<std::uint8_t>(static_cast<std::size_t>(channels), 31), 0,
      9};
  for (std::int64_t l = 0; l < layers; ++l) {
    const Shape shape = {channels, 1, 1, channels};
    append(trace.graph, "layer" + std::to_string(l),
           Conv2d{{},
                  random_tensor(DType::kInt8, shape, random),
                  random_tensor(DType::kInt32, {channels}, random),
                  requantization},
           value);
    trace.ofmaps.push_back(random_tensor(DType::kUint8, value.shape.nhwc(), random));
  }
  return trace;
}

TEST(LayerTraceFiles, OfThousandsOfLayersIsReadAsItWasWritten) {
  Random random(4);
  const LayerTrace trace = many_layers(3000, 16, random);
  const TemporaryFolder folder;
  const FileWriter write = [](const std::filesystem::path& path, std::string_view content) {
    std::ofstream(path, std::ios::binary) << content;
  };
  write_layer_trace(folder.path(), trace.graph, trace.input, trace.ofmaps, write);
  EXPECT_GT(file_bytes(folder.path() / kLayerTraceFile), kMaxYamlBytes);
  const LayerTrace again = read_layer_trace(folder.path());
  ASSERT_EQ(again.graph.layers.size(), trace.graph.layers.size());
  EXPECT_EQ(again.ofmaps, trace.ofmaps);
  EXPECT_EQ(again.graph.layers.back().name, "layer2999");
}

// The writer and the reader have one limit.
TEST(LayerTraceFiles, WhoseTextWouldBeTooLongIsRefusedBeforeAnythingIsWritten) {
  Random random(5);
  LayerTrace trace = many_layers(3, 2, random);
  const TemporaryFolder folder;
  const auto yaml = folder.path() / "t" / kLayerTraceFile;
  write_layer_trace(folder.path() / "t", trace.graph, trace.input, trace.ofmaps);
  const std::int64_t room = kMaxTraceYamlBytes - file_bytes(yaml);
  trace.graph.name += std::string(static_cast<std::size_t>(room), 'x');
  require_layer_trace_fits(folder.path(), trace.graph);
  write_layer_trace(folder.path() / "t", trace.graph, trace.input, trace.ofmaps);
  EXPECT_EQ(file_bytes(yaml), kMaxTraceYamlBytes);
  EXPECT_EQ(read_layer_trace(folder.path() / "t").graph.name, trace.graph.name);
  trace.graph.name += "x";
  const std::string message =
      "trace.yaml: would have 4194305 bytes; allowed: 4194304; take fewer layers, with --layers";
  expect_contains(error_of([&] { require_layer_trace_fits(folder.path(), trace.graph); }), message);
  const auto write = [&] {
    write_layer_trace(folder.path() / "new", trace.graph, trace.input, trace.ofmaps);
  };
  expect_contains(error_of(write), message);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "new"));
  std::ofstream(yaml, std::ios::app) << " ";
  expect_contains(error_of([&] { read_layer_trace(folder.path() / "t"); }),
                  "is longer than the 4194304 bytes that are allowed");
}

TEST(LayerTraceFiles, LeavesNoTensorOfAnOlderTraceInItsFolder) {
  const TemporaryFolder folder;
  Random random(6);
  LayerTrace trace = many_layers(3, 2, random);
  write_layer_trace(folder.path(), trace.graph, trace.input, trace.ofmaps);
  const auto mine = folder.file("mine.npy", "");
  ASSERT_TRUE(std::filesystem::exists(folder.path() / "2_layer2.weights.npy"));
  trace.graph.layers.resize(1);
  trace.ofmaps.resize(1);
  write_layer_trace(folder.path(), trace.graph, trace.input, trace.ofmaps);
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    there.insert(entry.path().filename().string());
  }
  EXPECT_EQ(there,
            (std::set<std::string>{"trace.yaml", "input.npy", "mine.npy", "0_layer0.weights.npy",
                                   "0_layer0.bias.npy", "0_layer0.ofmap.npy"}));
}

}  // namespace
}  // namespace qsim
