// What GraphExecutor promises beside the bits: reuse, what it returns, and what it refuses.
#include "golden/graph/cpu/graph_executor.h"

#include <fstream>

#include <gtest/gtest.h>

#include "golden/graph/cpu/vector_kernels.h"
#include "tests/golden/random_graph.h"

namespace qsim::golden {
namespace {

class GraphExecutorTest : public testing::Test {
 protected:
  GraphExecutorTest() : random_(11), graph_(golden_test::random_chain(random_)) {}

  Tensor random_input() {
    return golden_test::random_tensor(random_, graph_.input_value().dtype,
                                      graph_.input_value().shape.nhwc());
  }

  Random random_;
  Graph graph_;
};

TEST_F(GraphExecutorTest, OneExecutorServesSeveralInputs) {
  const GraphExecutor executor(graph_);
  const Tensor first = random_input();
  const Tensor second = random_input();
  const std::vector<Tensor> first_outputs = executor.run(first);
  EXPECT_NE(executor.run(second), first_outputs);
  EXPECT_EQ(executor.run(second), run_graph(graph_, second));
  EXPECT_EQ(executor.run(first), first_outputs);
}

TEST_F(GraphExecutorTest, ReturnsOneTensorForEveryLayerOfTheGraph) {
  const std::vector<Tensor> outputs = run_graph(graph_, random_input());
  ASSERT_EQ(outputs.size(), graph_.layers.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].shape, graph_.output_of(i).shape.nhwc());
    EXPECT_EQ(outputs[i].dtype, graph_.output_of(i).dtype);
  }
}

TEST_F(GraphExecutorTest, ARunIntoTheTensorsOfAnotherLeavesNothingOfThem) {
  const GraphExecutor executor(graph_);
  std::vector<Tensor> outputs = executor.run(random_input());
  const std::byte* memory = outputs[0].bytes.data();
  const Tensor input = random_input();
  executor.run(input, outputs);
  EXPECT_EQ(outputs, executor.run(input));
  EXPECT_EQ(outputs[0].bytes.data(), memory);
  outputs.resize(1);
  outputs[0] = Tensor(DType::kInt32, {3});
  executor.run(input, outputs);
  EXPECT_EQ(outputs, executor.run(input));
}

TEST_F(GraphExecutorTest, ReturnsTheLastLayerAloneWhenAsked) {
  const Tensor input = random_input();
  const std::vector<Tensor> last =
      run_graph(graph_, input, ExecutorOptions{.keep_every_layer = false});
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0], run_graph(graph_, input).back());
}

TEST_F(GraphExecutorTest, KeepsTheLayersThatItIsAskedForWithAndWithoutPackingAhead) {
  const Tensor input = random_input();
  const std::vector<Tensor> every = run_graph(graph_, input);
  ASSERT_GE(every.size(), 4u);
  for (const bool pack_ahead : {true, false}) {
    for (std::size_t kept = 0; kept < every.size(); ++kept) {
      std::vector<bool> layers(every.size());
      layers[kept] = layers.back() = true;
      const GraphExecutor executor(graph_, {.kept_layers = layers, .pack_ahead = pack_ahead});
      std::vector<Tensor> found = every;  // what an earlier run left goes
      executor.run(input, found);
      ASSERT_EQ(found.size(), every.size());
      for (std::size_t i = 0; i < every.size(); ++i) {
        EXPECT_TRUE(found[i] == (layers[i] ? every[i] : Tensor{})) << i << " of " << kept;
      }
    }
  }
  EXPECT_THROW(GraphExecutor(graph_, ExecutorOptions{.kept_layers = {true}}), InternalError);
}

TEST_F(GraphExecutorTest, RefusesAnInputOfAnotherShapeOrDtypeAndNamesBoth) {
  const GraphExecutor executor(graph_);
  const auto message = [&](const Tensor& input) -> std::string {
    try {
      executor.run(input);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadInput);
      return error.what();
    }
    return "";
  };
  const std::string shape = message(Tensor(graph_.input_value().dtype, {2, 10, 9, 4}));
  EXPECT_NE(shape.find("[2, 10, 9, 4]"), std::string::npos) << shape;
  EXPECT_NE(shape.find("[2, 10, 9, 3]"), std::string::npos) << shape;
  const std::string dtype = message(Tensor(DType::kFloat32, graph_.input_value().shape.nhwc()));
  EXPECT_NE(dtype.find("float32"), std::string::npos) << dtype;
}

TEST_F(GraphExecutorTest, RefusesAGraphThatIsNotValid) {
  graph_.output_of(0).shape.height += 1;
  EXPECT_THROW(GraphExecutor{graph_}, Error);
}

TEST(VectorPath, AutoIsTheFirstOfTheListThatThisProcessorHas) {
  for (const VectorPath path : kVectorPaths) {
    if (!is_available(path)) continue;
    EXPECT_EQ(resolve(VectorPath::kAuto), path);
    EXPECT_EQ(&vector_kernels(VectorPath::kAuto), &vector_kernels(path));
    break;
  }
  EXPECT_TRUE(is_available(VectorPath::kPortable));
}

TEST(VectorPath, TheListGoesFromMoreMultiplicationsACycleToFewer) {
  std::vector<std::string_view> names;
  for (const VectorPath path : kVectorPaths) names.push_back(vector_path_name(path));
  const std::vector<std::string_view> expected = {"avx512_vnni", "avx_vnni", "avx2", "portable"};
  EXPECT_EQ(names, expected);
}

// Linux says the same as CPUID where it has names for it.
TEST(VectorPath, ThisProcessorHasThePathsWhoseFlagsTheSystemNames) {
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  while (std::getline(file, flags) && !flags.starts_with("flags")) {
  }
  if (flags.empty()) GTEST_SKIP() << "skipped: /proc/cpuinfo names no flags";
  const auto named = [&](const std::string& flag) {
    return (flags + " ").find(" " + flag + " ") != std::string::npos;
  };
  EXPECT_EQ(is_available(VectorPath::kAvx512Vnni), named("avx512_vnni") && named("avx512bw"));
  EXPECT_EQ(is_available(VectorPath::kAvxVnni), named("avx_vnni"));
  EXPECT_EQ(is_available(VectorPath::kAvx2), named("avx2") && named("fma"));
}

// A processor that has all of them has nothing to refuse; tests/emulated runs this on some that
// lack a few.
TEST_F(GraphExecutorTest, RefusesInstructionsThatThisProcessorLacks) {
  for (const VectorPath path : kVectorPaths) {
    const ExecutorOptions options{.vector_path = path};
    if (is_available(path)) {
      EXPECT_EQ(GraphExecutor(graph_, options).run(random_input()).size(), graph_.layers.size());
    } else {
      EXPECT_THROW(GraphExecutor(graph_, options), Error);
    }
  }
}

}  // namespace
}  // namespace qsim::golden
