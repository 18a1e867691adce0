// What the float executor on a GPU refuses. Without a GPU it refuses everything, and says why.
#include <gtest/gtest.h>

#include "golden/device/devices.h"
#include "golden/graph/real/cuda/real_cuda_executor.h"
#include "tests/golden/real/random_real_graph.h"

namespace qsim::golden {
namespace {

TEST(CudaRealExecutor, SaysWhyNothingRunsWithoutAUsableDevice) {
  if (cuda_status().usable()) GTEST_SKIP() << "there is a GPU";
  const Graph graph = random_real_graph(1);
  try {
    const CudaRealExecutor executor(graph);
    FAIL() << "an executor without a GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_NE(std::string(error.what()).find(cuda_status().reason), std::string::npos)
        << error.what();
  }
}

TEST(CudaRealExecutor, RefusesAnInputOfAnotherShape) {
  if (!cuda_status().usable()) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  const Graph graph = random_real_graph(1);
  CudaRealExecutor executor(graph);
  EXPECT_THROW(executor.run(Tensor(DType::kFloat32, {1, 2, 2, 1000})), Error);
  EXPECT_THROW(executor.run(Tensor(DType::kInt8, graph.input_shape().nhwc())), Error);
}

TEST(CudaRealExecutor, RefusesARuleWithoutAScale) {
  if (!cuda_status().usable()) GTEST_SKIP() << "no GPU: " << cuda_status().reason;
  const Graph graph = random_real_graph(1);
  RealExecutorOptions options;
  options.rules.resize(graph.tensors.size());
  options.rules[0] = UniformRule{.scale = 0};
  EXPECT_THROW(CudaRealExecutor(graph, options), Error);
}

}  // namespace
}  // namespace qsim::golden
