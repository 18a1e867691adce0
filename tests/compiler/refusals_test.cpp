// What the compiler and the workload reader refuse, beside what the tests of each pass show.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/accepted_layers.h"
#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "formats/workload/workload.h"
#include "tests/compiler/graph_builder.h"
#include "tests/compiler/refusal.h"

namespace qsim {

using namespace compiler;
using namespace formats;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::refusal;
using testing::window;

// What has --snap and a dyadic configuration of the same array.
CompileOptions options_with_remedies() {
  CompileOptions options;
  options.remedies.may_snap = true;
  options.remedies.dyadic_config = [](const ArchConfig& arch) { return arch.name + "_dyadic"; };
  return options;
}

TEST(FuseLayersRefuses, AFlattenThatHasNoOtherLayerBesideIt) {
  const Graph graph = GraphBuilder(1, picture(1, 3, 3, 2)).flatten().build();
  EXPECT_EQ(refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel),
            "layer 'flatten0': a Flatten needs a layer before or after it");
}

TEST(FuseLayersRefuses, APoolOnAPictureThatAFlattenLaidOut) {
  const Graph graph = GraphBuilder(1, picture(1, 3, 3, 2)).flatten().max_pool(window(1)).build();
  const std::string message = refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel);
  EXPECT_NE(message.find("on a flattened picture; only fully_connected and conv2d of one tap "
                         "without pads and groups can follow a Flatten"),
            std::string::npos)
      << message;
}

TEST(FuseLayersRefuses, AConvolutionWithPadsOrMoreThanOneTapOnAFlattenedPicture) {
  for (const Window& refused : {window(1, 1, 1), Window{1, 2, 1, 1, 0, 0, 0, 1}}) {
    const Graph graph = GraphBuilder(1, picture(1, 3, 3, 2)).flatten().conv(4, refused).build();
    const std::string message = refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel);
    EXPECT_NE(message.find("conv2d on a flattened picture"), std::string::npos) << message;
  }
  const Graph groups =
      GraphBuilder(1, picture(1, 3, 3, 2)).flatten().conv(4, window(1), 9, 2).build();
  const std::string message = refusal([&] { fuse_layers(groups); }, ExitCode::kUnsupportedModel);
  EXPECT_NE(message.find("conv2d on a flattened picture"), std::string::npos) << message;
}

TEST(FuseLayersRefuses, ATableAndAnAdditionOnAMachineThatShifts) {
  Graph graph = GraphBuilder(1, picture(1, 3, 3, 2)).build();
  append(graph, "table", LookupTable{"sigmoid"}, graph.input_value());
  const auto message = [](const Graph& refused) {
    return refusal([&] { accepted_layers(refused, ArchConfig{.name = "pe"}); },
                   ExitCode::kUnsupportedModel);
  };
  EXPECT_EQ(message(graph),
            "layer 'table': the lookup table 'table' (sigmoid); 'pe' has requantizer: shift, which "
            "has none; take requantizer: dyadic, in a copy of the configuration");
  graph.layers.clear();
  graph.tensors.resize(1);
  graph.input_value().scale = Scale::power_of_two(0);
  append(graph, "sum", Add{}, {0, 0}, graph.input_value());
  EXPECT_EQ(message(graph),
            "layer 'sum': an addition; 'pe' has requantizer: shift, which has none; take "
            "requantizer: dyadic, in a copy of the configuration");
}

// The convolution would run with the PRelu after it: the refusal is one message, not two.
TEST(FuseLayersRefuses, APReluOfOneSlopeAChannel) {
  Graph graph = GraphBuilder(1, picture(1, 3, 3, 2)).conv(3, window(1)).build();
  for (Value& tensor : graph.tensors) tensor.scale = Scale::power_of_two(-3);
  PRelu prelu{make_tensor<float>({3}, std::vector<float>{0.5F, 0.25F, 0.5F})};
  append(graph, "prelu", prelu, graph.output_value());
  const Refusals refusals = refusals_of(graph, testing::small_arch(4, 4), options_with_remedies());
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].reason,
            "layer 'prelu': prelu with 3 slopes, one a channel; the accelerator runs one slope for "
            "all channels");
  EXPECT_EQ(refusals[0].remedy, kGoldenRunsIt);
}

TEST(FuseLayersRefuses, ADilatedKernelThatWithItsPadIsLongerThanAnOriginReaches) {
  const auto of_dilation = [](std::int64_t dilation) {
    Window w = window(3, 1, dilation);
    w.dilation_h = dilation;
    return GraphBuilder(1, picture(1, 60, 60, 2)).conv(4, w).build();
  };
  EXPECT_EQ(fuse_layers(of_dilation(20)).size(), 1u);  // 41 and 20
  EXPECT_EQ(refusal([&] { fuse_layers(of_dilation(21)); }, ExitCode::kUnsupportedModel),
            "layer 'conv0': height of window and padding is 64; the accelerator supports up "
            "to 63");
}

Requantization& requantization_of(Layer& layer) {
  return std::get<Conv2d>(layer.operation).requantization;
}

// What compile() says of a convolution with this requantizer in its second channel.
std::string requantizer_refusal(const Requantizer& requantizer) {
  GraphBuilder builder(1, picture(1, 3, 3, 2));
  builder.conv(2, window(1));
  requantization_of(builder.last_layer()).shifts.clear();
  requantization_of(builder.last_layer()).requantizers = {
      is_tflite(requantizer.rounding) ? requantizer : requantizer_of_shift(4, requantizer.rounding),
      requantizer};
  const ArchConfig arch = testing::small_arch(4, 4);
  return refusal([&] { compile(builder.build(), arch, options_with_remedies()); },
                 ExitCode::kUnsupportedModel);
}

TEST(CheckRequantizersRefuses, WhatOnlyADyadicMachineHas) {
  const std::string end =
      "; 'small' has requantizer: shift, which takes the scales 1, 2^-1 to 2^-31 with floor, "
      "half_even or half_up; take requantizer: dyadic (--config small_dyadic), or --snap";
  EXPECT_EQ(requantizer_refusal({10066330, 23, RequantizerRounding::kHalfEven}),
            "layer 'conv0': scale 1.20000005 of output channel 1" + end);
  EXPECT_EQ(requantizer_refusal({kLeastMultiplier, 22, RequantizerRounding::kFloor}),
            "layer 'conv0': scale 2 of output channel 1" + end);
  EXPECT_EQ(requantizer_refusal(requantizer_of_shift(4, RequantizerRounding::kFloat32)),
            "layer 'conv0': rounding float32" + end);
}

TEST(FuseLayersRefuses, RoundingsOfGoldenAlone) {
  const std::string end =
      ", which golden on the CPU alone has; allowed: floor, half_even, half_up, float32";
  EXPECT_EQ(requantizer_refusal(tflite_requantizer(0.1, RequantizerRounding::kTflite)),
            "layer 'conv0': rounding tflite" + end);
  EXPECT_EQ(requantizer_refusal(tflite_requantizer(0.1, RequantizerRounding::kTfliteSingle)),
            "layer 'conv0': rounding tflite_single" + end);
}

// The message names the scale that is not a power of two, whatever the rounding.
TEST(CheckRequantizersRefuses, AScaleBeforeARounding) {
  const std::string message = requantizer_refusal({10066330, 23, RequantizerRounding::kFloat32});
  EXPECT_TRUE(message.starts_with("layer 'conv0': scale 1.20000005 of output channel 1; "))
      << message;
}

// An average pool has no weights that could take what its scale loses.
TEST(CheckRequantizersRefuses, TheScaleOfAnAveragePoolWithoutASnap) {
  Graph graph = GraphBuilder(1, picture(1, 3, 3, 2)).build();
  graph.input_value().scale = Scale::power_of_two(-3);
  Value output = graph.input_value();
  output.shape = {1, 1, 1, 2};
  append(graph, "pool", AveragePool{window(3)}, output);
  EXPECT_EQ(refusal([&] { accepted_layers(graph, ArchConfig{.name = "pe"}); },
                    ExitCode::kUnsupportedModel),
            "layer 'pool': scale 0.111111112 of output channel 0; 'pe' has requantizer: shift, "
            "which takes the scales 1, 2^-1 to 2^-31 with floor, half_even or half_up; take "
            "requantizer: dyadic, in a copy of the configuration");
}

// --snap is recommended where it makes the network run: not for a network of a kind that has no
// --snap, nor beside a layer that it does not change.
TEST(CheckRequantizersRefuses, WithoutASnapThatDoesNotHelp) {
  GraphBuilder builder(1, picture(1, 6, 6, 3));
  builder.conv(2, window(1));
  requantization_of(builder.last_layer()).shifts.clear();
  requantization_of(builder.last_layer()).requantizers = {
      {10066330, 24, RequantizerRounding::kHalfEven}};
  Graph graph = builder.build();
  const ArchConfig arch = testing::small_arch(4, 4);
  const auto remedies = [&](const CompileOptions& options) {
    std::vector<std::string> found;
    for (const Refusal& each : refusals_of(graph, arch, options)) found.push_back(each.remedy);
    return found;
  };
  const std::string dyadic = "take requantizer: dyadic (--config small_dyadic)";
  EXPECT_EQ(remedies(options_with_remedies()), std::vector{dyadic + ", or --snap"});
  CompileOptions options = options_with_remedies();
  options.remedies.may_snap = false;
  EXPECT_EQ(remedies(options), std::vector{dyadic});
  EXPECT_EQ(remedies({}),
            std::vector{std::string("take requantizer: dyadic, in a copy of the configuration")});
  append(graph, "table", LookupTable{"sigmoid"}, graph.output_value());
  EXPECT_EQ(remedies(options_with_remedies()), (std::vector{dyadic, dyadic}));
}

TEST(Refusals, NameEveryLayerThatTheAcceleratorCannotRun) {
  GraphBuilder builder(1, picture(1, 40, 40, 3));
  builder.conv(2, window(1)).conv(4, window(1, 8)).max_pool(window(5, 1)).conv(3, window(1));
  requantization_of(builder.last_layer()).shifts.clear();
  requantization_of(builder.last_layer()).requantizers = {
      {10066330, 24, RequantizerRounding::kHalfEven}};
  const Graph graph = builder.build();
  const ArchConfig arch = testing::small_arch(4, 4);
  const Refusals refusals = refusals_of(graph, arch, options_with_remedies());
  ASSERT_EQ(refusals.size(), 3u);
  EXPECT_EQ(refusals[0].reason,
            "layer 'conv1': vertical stride is 8; the accelerator supports up to 7");
  EXPECT_EQ(refusals[0].remedy, kGoldenRunsIt);
  EXPECT_EQ(refusals[1].reason,
            "layer 'pool2': pooling kernel height is 5; the accelerator supports up to 4");
  EXPECT_TRUE(refusals[2].reason.starts_with("layer 'conv3': scale 0.600000024 of output "))
      << refusals[2].reason;
  EXPECT_EQ(refusals[2].remedy, "take requantizer: dyadic (--config small_dyadic), or --snap");
  try {
    compile(graph, arch, options_with_remedies());
    FAIL() << "compile() takes it";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), refusals[0].reason);
    EXPECT_EQ(error.details(), refusals[1].reason + "\n" + refusals[2].reason);
  }
}

TEST(Refusals, AreNoneOfANetworkThatCompiles) {
  const Graph graph = GraphBuilder(1, picture(1, 6, 5, 3)).conv(2, window(1)).build();
  EXPECT_EQ(refusals_of(graph, testing::small_arch(4, 4)), Refusals{});
}

TEST(Refusals, AreAllLayersThatDoNotFitTheMemoriesWhereTheLayersAreFine) {
  ArchConfig arch = testing::small_arch(16, 16);
  arch.act_scratchpad_kib = 1;
  arch.accumulator_kib = 1;
  const Graph graph = GraphBuilder(1, picture(1, 50, 50, 16))
                          .conv(5, window(2))
                          .max_pool({4, 4, 4, 4, 0, 0, 0, 0})
                          .conv(5, window(2))
                          .max_pool({4, 4, 4, 4, 0, 0, 0, 0})
                          .build();
  for (const bool mixes : {false, true}) {
    CompileOptions options;
    options.mixes_dataflows = mixes;
    const Refusals refusals = refusals_of(graph, arch, options);
    ASSERT_EQ(refusals.size(), 2u);
    for (const std::size_t i : {0, 1}) {
      const std::string place = "layer 'conv" + std::to_string(2 * i) + "': ";
      EXPECT_TRUE(refusals[i].reason.starts_with(
          place + "its smallest tile does not fit config 'small': it needs "))
          << refusals[i].reason;
      EXPECT_EQ(refusals[i].remedy, "take a configuration with larger memories");
    }
  }
}

// A workload of these layers, a line each, removed with the object.
class WorkloadFile {
 public:
  explicit WorkloadFile(const std::string& layers)
      : path_(std::filesystem::temp_directory_path() /
              ("qsim-refusal-" + std::to_string(getpid()) + ".yaml")) {
    std::ofstream(path_) << "input: {shape: [1, 20, 20, 3]}\nlayers:\n" << layers;
  }
  ~WorkloadFile() { std::filesystem::remove(path_); }
  WorkloadFile(const WorkloadFile&) = delete;
  WorkloadFile& operator=(const WorkloadFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A convolution with `fields`.
std::string conv(const std::string& fields) {
  return "  - {op: conv2d, name: c, out_channels: 4, " + fields + "}\n";
}

// The error of the reader of that convolution.
std::string workload_refusal(const std::string& fields) {
  const WorkloadFile file(conv(fields));
  return refusal([&] { load_workload(file.path()); }, ExitCode::kBadInput);
}

// What only the accelerator lacks is not an error of the reader; the message names the file's
// place all the same.
TEST(FuseLayersRefuses, WhatAFileAsksForAtItsPlaceInTheFile) {
  const auto fused = [](const std::string& layers) {
    const WorkloadFile file(layers);
    const Graph graph = load_workload(file.path()).graph;
    const std::string message = refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel);
    const std::string path = file.path().string();
    EXPECT_EQ(message.substr(0, path.size()), path);
    return message.substr(std::min(path.size(), message.size()));
  };
  EXPECT_EQ(
      fused(conv("kernel: 3, rounding: half_away")),
      ":3:5: layer 'c': rounding mode half_away; the accelerator has floor, half_even, half_up");
  EXPECT_EQ(
      fused(conv("kernel: 3, rounding: toward_zero")),
      ":3:5: layer 'c': rounding mode toward_zero; the accelerator has floor, half_even, half_up");
  EXPECT_EQ(fused(conv("kernel: 3, stride: 8")),
            ":3:5: layer 'c': vertical stride is 8; the accelerator supports up to 7");
  const std::string flatten = "  - {op: flatten, name: f}\n";
  EXPECT_EQ(fused(flatten), ":3:5: layer 'f': a Flatten needs a layer before or after it");
  EXPECT_EQ(fused(flatten + "  - {op: max_pool, name: p, kernel: 1}\n"),
            ":4:5: layer 'p': max_pool on a flattened picture; only fully_connected and conv2d of "
            "one tap without pads and groups can follow a Flatten");
}

TEST(WorkloadRefuses, AKernelOfThreeNumbersAndAShiftGivenTwice) {
  EXPECT_NE(
      workload_refusal("kernel: [3, 3, 3]").find("kernel: found a list of 3; expected n or [h, w]"),
      std::string::npos);
  EXPECT_NE(workload_refusal("kernel: 3, per_channel_shift: true, shift: 4")
                .find("shift: shift and per_channel_shift exclude each other; give one of them"),
            std::string::npos);
}

}  // namespace
}  // namespace qsim
