// Buffers by lifetime: no step writes what a later step still reads, and memory is used again.
#include "golden/common/buffer_plan.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace qsim::golden {
namespace {

constexpr TensorId kInput = 0;

// Steps 1, 2, ... write tensors 1, 2, ...
std::vector<StepTensors> chain(std::size_t steps) {
  std::vector<StepTensors> made;
  for (std::size_t i = 0; i < steps; ++i) made.push_back({{i}, i + 1});
  return made;
}

// Runs the plan with names for bytes: each step finds in its buffers what it reads, and a freed
// buffer is never read again. Returns the most tensors that were needed at once.
std::size_t run(const std::vector<StepTensors>& steps, const BufferPlan& plan) {
  EXPECT_EQ(plan.buffers.size(), steps.size());
  std::map<TensorId, std::size_t> buffer_of;
  std::map<std::size_t, TensorId> contents;
  std::size_t most = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_LT(plan.buffers[i], plan.count);
    for (const TensorId input : steps[i].inputs) {
      if (input == kInput) continue;
      EXPECT_TRUE(contents.contains(buffer_of[input])) << "step " << i << " reads a freed buffer";
      EXPECT_EQ(contents[buffer_of[input]], input) << "step " << i;
      EXPECT_NE(plan.buffers[i], buffer_of[input]) << "step " << i << " writes what it reads";
    }
    contents[plan.buffers[i]] = steps[i].output;
    buffer_of[steps[i].output] = plan.buffers[i];
    most = std::max(most, contents.size());
    for (const std::size_t buffer : plan.freed[i]) contents.erase(buffer);
  }
  EXPECT_EQ(contents.size(), 1u) << "what nobody reads is freed";
  EXPECT_EQ(contents[plan.buffers.back()], steps.back().output) << "the last step's output stays";
  return most;
}

TEST(BufferPlan, TheTensorsOfAChainTakeTurnsInTwoBuffers) {
  const std::vector<StepTensors> steps = chain(7);
  const BufferPlan plan = plan_buffers(steps);
  EXPECT_EQ(plan.count, 2u);
  EXPECT_EQ(plan.buffers, (std::vector<std::size_t>{0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(run(steps, plan), 2u);
}

TEST(BufferPlan, ATensorStaysUntilItsLastReader) {
  std::vector<StepTensors> steps = chain(40);
  steps.back().inputs.push_back(1);  // the first step's output
  const BufferPlan plan = plan_buffers(steps);
  EXPECT_EQ(plan.count, 3u);
  EXPECT_EQ(run(steps, plan), 3u);
}

TEST(BufferPlan, FortyReadersOfOneTensorNeedNoMoreThanTwoReaders) {
  std::vector<StepTensors> steps = {{{kInput}, 1}};
  for (TensorId t = 2; t <= 41; ++t) steps.push_back({{1}, t});
  const BufferPlan plan = plan_buffers(steps);
  EXPECT_EQ(plan.count, 2u);
  EXPECT_EQ(run(steps, plan), 2u);
}

TEST(BufferPlan, RandomGraphsFindWhatTheyReadInAsManyBuffersAsAreNeededAtOnce) {
  constexpr std::uint64_t kSeed = 7;
  Random random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (int graph = 0; graph < 2000; ++graph) {
    std::vector<StepTensors> steps;
    const auto count = static_cast<TensorId>(random.uniform(1, 30));
    for (TensorId t = 1; t <= count; ++t) {
      StepTensors step{{}, t};
      const std::int64_t inputs = random.uniform(1, 3);
      for (std::int64_t k = 0; k < inputs; ++k) {
        step.inputs.push_back(static_cast<TensorId>(
            random.uniform(random.chance(0.7) ? static_cast<std::int64_t>(t) - 1 : 0,
                           static_cast<std::int64_t>(t) - 1)));
      }
      steps.push_back(step);
    }
    const BufferPlan plan = plan_buffers(steps);
    EXPECT_EQ(run(steps, plan), plan.count) << "graph " << graph;
  }
}

}  // namespace
}  // namespace qsim::golden
