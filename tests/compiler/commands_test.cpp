// A program without its constants, from a graph without its tensors: the same commands as the whole
// program's, and the same refusals that do not depend on values.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/workload/random_layer.h"
#include "compiler/workload/workload.h"
#include "core/graph_shapes.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {
namespace {

using testing::small_arch;

void expect_same_commands(const Graph& graph, const Graph& shapes, const ArchConfig& arch,
                          const CompileOptions& options = {}) {
  const Program whole = Compilation(graph, arch, options).program();
  const Compilation compilation(shapes, arch, options);
  Program commands = compilation.commands();
  EXPECT_EQ(compilation.command_count(), static_cast<std::int64_t>(whole.command_count()));
  EXPECT_TRUE(commands.segments.empty());
  ASSERT_FALSE(whole.segments.empty());
  commands.segments = whole.segments;
  EXPECT_TRUE(commands == whole);
}

TEST(Commands, OfAGraphWithoutTensorsAreThoseOfTheWholeProgram) {
  for (const auto& [rows, cols] : {std::pair(4, 4), std::pair(16, 8), std::pair(8, 16)}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      Random random(seed);
      const ArchConfig arch = shrink_memories(small_arch(rows, cols), random);
      const Graph graph = make_random_layer(seed, arch).graph;
      CompileOptions options;
      options.dataflow = static_cast<Dataflow>(seed % 3);
      SCOPED_TRACE(arch.name + ", seed " + std::to_string(seed));
      expect_same_commands(graph, without_tensors(graph), arch, options);
    }
  }
}

TEST(Commands, OfAWorkloadsShapesAreThoseOfItsDrawnTensors) {
  for (const char* name : {"vgg8", "fc_batch16", "conv_odd", "maxpool_alone", "relu_alone"}) {
    SCOPED_TRACE(name);
    const std::string path = std::string("models/workloads/") + name + ".yaml";
    for (const std::optional<std::int64_t> batch : {std::optional<std::int64_t>(), {3}}) {
      const Graph graph = load_workload(path, batch).graph;
      const Graph shapes = load_workload_shapes(path, batch);
      EXPECT_EQ(has_tensors(shapes), graph.layers.size() == 1 && layer_macs(graph, 0) == 0);
      expect_same_commands(graph, shapes, small_arch(16, 16));
    }
  }
}

TEST(Commands, AGraphWithoutTensorsKeepsAllElse) {
  const Graph graph = load_workload("models/workloads/vgg8.yaml").graph;
  const Graph shapes = without_tensors(graph);
  ASSERT_EQ(shapes.layers.size(), graph.layers.size());
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    EXPECT_EQ(shapes.layers[i].name, graph.layers[i].name);
    EXPECT_EQ(shapes.layers[i].source, graph.layers[i].source);
    EXPECT_EQ(shapes.output_of(i), graph.output_of(i));
    EXPECT_EQ(layer_macs(shapes, i), layer_macs(graph, i));
    const auto* conv = std::get_if<Conv2d>(&shapes.layers[i].operation);
    if (conv == nullptr) continue;
    EXPECT_TRUE(conv->weights.bytes.empty());
    EXPECT_TRUE(conv->bias.bytes.empty());
    EXPECT_EQ(conv->requantization.shifts,
              std::get<Conv2d>(graph.layers[i].operation).requantization.shifts);
  }
}

TEST(Commands, AGraphWithoutTensorsMakesNoWholeProgram) {
  const Graph shapes = load_workload_shapes("models/workloads/conv3x3.yaml");
  EXPECT_THROW(Compilation(shapes, small_arch(16, 16)).program(), InternalError);
  Graph mixed = shapes;
  std::get<Conv2d>(mixed.layers[0].operation).bias =
      Tensor(DType::kInt32, {mixed.output_of(0).shape.channels});
  EXPECT_THROW(validate(mixed), InternalError);
}

}  // namespace
}  // namespace qsim
