// A program without its constants, from a graph without its tensors: the same commands as the whole
// program's, and the same refusals that do not depend on values.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/network/graph_shapes.h"
#include "formats/workload/random_layer.h"
#include "formats/workload/workload.h"
#include "tests/compiler/graph_builder.h"

namespace qsim {

using namespace compiler;
using namespace formats;
namespace {

using testing::small_arch;

void expect_same_commands(const Graph& graph, const Graph& shapes, const ArchConfig& arch,
                          const CompileOptions& options = {}) {
  const Program whole = Compilation(graph, arch, options).program();
  const Compilation compilation(shapes, arch, options);
  Program commands = compilation.commands();
  EXPECT_EQ(compilation.command_count(), static_cast<std::int64_t>(whole.command_count()));
  EXPECT_EQ(compilation.dram_bytes(), whole.dram_bytes());
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

template <typename Operation>
void expect_same_rule(const Layer& shapes, const Layer& drawn) {
  const auto* found = std::get_if<Operation>(&shapes.operation);
  if (found == nullptr) return;
  const Requantization& a = found->requantization;
  const Requantization& b = std::get<Operation>(drawn.operation).requantization;
  EXPECT_EQ(a.shifts, b.shifts) << drawn.name;
  EXPECT_TRUE(a.requantizers == b.requantizers) << drawn.name;
  EXPECT_EQ(std::pair(a.lo, a.hi), std::pair(b.lo, b.hi)) << drawn.name;
}

// Scales and shifts follow from the shapes and the seed; no byte is drawn for them.
TEST(Commands, AWorkloadsShapesAreAllOfItButTheBytes) {
  for (const char* name :
       {"workloads/vgg8", "workloads/conv_odd", "networks/squeezenet1_1", "networks/resnet18"}) {
    SCOPED_TRACE(name);
    const std::string path = std::string("models/") + name + ".yaml";
    const Workload drawn = load_workload(path);
    const Workload shapes = load_workload(path, {}, Tensors::kShapes);
    EXPECT_TRUE(shapes.graph.tensors == drawn.graph.tensors);
    EXPECT_EQ(shapes.input.shape, drawn.input.shape);
    EXPECT_TRUE(shapes.input.bytes.empty());
    ASSERT_EQ(shapes.graph.layers.size(), drawn.graph.layers.size());
    for (std::size_t i = 0; i < drawn.graph.layers.size(); ++i) {
      expect_same_rule<Conv2d>(shapes.graph.layers[i], drawn.graph.layers[i]);
      expect_same_rule<FullyConnected>(shapes.graph.layers[i], drawn.graph.layers[i]);
    }
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
