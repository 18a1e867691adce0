// What the compiler and the workload reader refuse, beside what the tests of each pass show.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/passes/passes.h"
#include "compiler/workload/workload.h"
#include "core/error.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::window;

template <typename Action>
std::string refusal(Action action, ExitCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(FuseLayersRefuses, AFlattenThatHasNoOtherLayerBesideIt) {
  const Graph graph = GraphBuilder(1, picture(1, 3, 3, 2)).flatten().build();
  EXPECT_EQ(refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel),
            "layer 'flatten0': a Flatten needs a layer in front of it or behind it");
}

TEST(FuseLayersRefuses, APoolOnAPictureThatAFlattenLaidOut) {
  const Graph graph = GraphBuilder(1, picture(1, 3, 3, 2)).flatten().max_pool(window(1)).build();
  const std::string message = refusal([&] { fuse_layers(graph); }, ExitCode::kUnsupportedModel);
  EXPECT_NE(message.find("on a flattened picture; only fully_connected can follow a Flatten"),
            std::string::npos)
      << message;
}

// The error of a workload of one convolution with `fields`.
std::string workload_refusal(const std::string& fields) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("qsim-refusal-" + std::to_string(getpid()) + ".yaml");
  std::ofstream(path) << "input: {shape: [1, 8, 8, 3]}\nlayers:\n  - {op: conv2d, out_channels: 4, "
                      << fields << "}\n";
  const std::string message = refusal([&] { load_workload(path); }, ExitCode::kBadInput);
  std::filesystem::remove(path);
  return message;
}

TEST(WorkloadRefuses, AKernelOfThreeNumbersAndAShiftGivenTwice) {
  EXPECT_NE(workload_refusal("kernel: [3, 3, 3]").find("kernel: a list of 3; expected n or [h, w]"),
            std::string::npos);
  EXPECT_NE(workload_refusal("kernel: 3, per_channel_shift: true, shift: 4")
                .find("shift: not together with per_channel_shift"),
            std::string::npos);
}

}  // namespace
}  // namespace qsim
