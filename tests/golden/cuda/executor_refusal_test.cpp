// What CudaGraphExecutor refuses before anything runs on a device.
#include <gtest/gtest.h>

#include "golden/device/devices.h"
#include "golden/graph/cuda/graph_executor.h"
#include "tests/golden/cuda/network_builder.h"

namespace qsim::golden {
namespace {

class ExecutorRefusalTest : public testing::Test {
 protected:
  ExecutorRefusalTest()
      : graph_(golden_test::NetworkBuilder(random_,
                                           golden_test::random_quantization(random_, {1, 4, 4, 3}))
                   .conv2d(2, golden_test::square(1))
                   .build()) {}

  // The message of the Error that `options` cause; "" for none.
  std::string refusal(const CudaOptions& options) const {
    try {
      const CudaGraphExecutor executor(graph_, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadInput);
      return error.what();
    }
    return "";
  }

  Random random_{1};
  Graph graph_;
};

TEST_F(ExecutorRefusalTest, WithoutAUsableDeviceTheReasonIsTheError) {
  if (cuda_status().usable()) GTEST_SKIP() << "skipped: this machine has a GPU";
  EXPECT_EQ(refusal({}), "CUDA: " + cuda_status().reason);
}

TEST_F(ExecutorRefusalTest, ADeviceThatDoesNotExistIsRefusedByItsNumber) {
  if (!cuda_status().usable()) GTEST_SKIP() << "skipped: " << cuda_status().reason;
  EXPECT_NE(refusal({.device = 99}).find("device 99"), std::string::npos);
  EXPECT_NE(refusal({.device = -1}).find("device -1"), std::string::npos);
}

TEST_F(ExecutorRefusalTest, AnInvalidGraphIsRefused) {
  if (!cuda_status().usable()) GTEST_SKIP() << "skipped: " << cuda_status().reason;
  graph_.output_of(0).shape.height += 1;
  EXPECT_NE(refusal({}).find("output shape"), std::string::npos);
}

TEST_F(ExecutorRefusalTest, AnInputOfAnotherShapeIsRefused) {
  if (!cuda_status().usable()) GTEST_SKIP() << "skipped: " << cuda_status().reason;
  CudaGraphExecutor executor(graph_);
  EXPECT_THROW(executor.run(Tensor(graph_.input_value().dtype, {1, 4, 4, 4})), Error);
}

TEST_F(ExecutorRefusalTest, TimingBeforeTheFirstRunIsABug) {
  if (!cuda_status().usable()) GTEST_SKIP() << "skipped: " << cuda_status().reason;
  CudaGraphExecutor executor(graph_);
  EXPECT_THROW(executor.time_network(1), InternalError);
  EXPECT_THROW(executor.time_kernels(1), InternalError);
}

}  // namespace
}  // namespace qsim::golden
