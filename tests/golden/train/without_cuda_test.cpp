// Training calls of a library that was built without nvcc. This test links what such a build has in
// place of the kernels, so it runs where nvcc is there too.
#include <typeinfo>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "golden/kernels/train/cuda/train_cuda.h"
#include "include/qsim/training.h"
#include "tests/golden/c_interface/arrays.h"

namespace qsim::golden_test {
namespace {

namespace train = qsim::golden::train;

constexpr const char* kReason = "CUDA: built without nvcc";

TEST(TrainWithoutCuda, ACallOnAGpuSaysSoAndWritesNothing) {
  EXPECT_EQ(qsim_has_cuda(), 0);
  const Array<float> x(QSIM_FLOAT32, {2, 3}, std::vector<float>(6, 0.25F));
  const Array<float> scale(QSIM_FLOAT32, {1}, {1});
  const Array<std::int8_t> q(QSIM_INT8, {2, 3}, std::vector<std::int8_t>(6, 7));
  const qsim_levels levels = QSIM_LEVELS_INIT;
  const auto on_gpu = [](const qsim_tensor* tensor) {
    qsim_tensor moved = *tensor;
    moved.device = QSIM_CUDA;
    return moved;
  };
  const qsim_tensor gx = on_gpu(x.tensor()), gs = on_gpu(scale.tensor()), gq = on_gpu(q.tensor());
  std::size_t bytes = 77;
  qsim_run query = QSIM_RUN_INIT;
  query.workspace_query = &bytes;
  for (const qsim_run* run : {static_cast<const qsim_run*>(nullptr), &std::as_const(query)}) {
    EXPECT_EQ(qsim_quantize_levels(&gx, &levels, &gs, nullptr, &gq, nullptr, nullptr, run),
              QSIM_DEVICE_ERROR);
    EXPECT_STREQ(qsim_last_error(), kReason);
  }
  EXPECT_EQ(bytes, 77u);
  EXPECT_EQ(q.values, std::vector<std::int8_t>(6, 7));
}

TEST(TrainWithoutCuda, TheSameCallOnTheCpuRuns) {
  const Array<float> x(QSIM_FLOAT32, {3}, {-2, 0.5F, 300});
  const Array<float> scale(QSIM_FLOAT32, {1}, {1});
  const Array<std::int8_t> q(QSIM_INT8, {3});
  const qsim_levels levels = QSIM_LEVELS_INIT;
  EXPECT_EQ(qsim_quantize_levels(x.tensor(), &levels, scale.tensor(), nullptr, q.tensor(), nullptr,
                                 nullptr, nullptr),
            QSIM_OK);
  EXPECT_EQ(q.values, (std::vector<std::int8_t>{-2, 0, 127}));
}

template <typename Work>
void expect_reason(const Work& work) {
  try {
    work();
    ADD_FAILURE() << "it returned";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), kReason);
  }
}

template <typename... TrainCalls>
void expect_reasons() {
  const auto expect_reason_of = [](const auto& call) {
    SCOPED_TRACE(typeid(call).name());
    expect_reason([&] { static_cast<void>(train::cuda::workspace_bytes(call)); });
    expect_reason([&] { train::cuda::enqueue(call, nullptr, nullptr); });
  };
  (expect_reason_of(TrainCalls()), ...);
}

TEST(TrainWithoutCuda, EveryCallWithoutItsKernelSaysSo) {
  expect_reasons<train::Observe, train::QuantizeLevels, train::QuantizeWeights, train::ConvReal,
                 train::ConvLevels, train::ConvStatistics, train::ConvGradientSums,
                 train::ConvNormalizeGradient, train::MaxPool, train::MaxPoolGradient,
                 train::GradientOperand, train::ConvInputGradient, train::ConvWeightGradient,
                 train::StepGradient>();
}

}  // namespace
}  // namespace qsim::golden_test
