// That the cases for every instance are planned as their names say, without a GPU.
#include "tests/golden/cuda/instance_cases.h"

#include <set>

#include <gtest/gtest.h>

#include "golden/graph/cuda/kernels/conv_wgmma_plan.h"
#include "golden/graph/cuda/kernels/pixel_groups.h"
#include "golden/graph/cuda/layer_plan.h"
#include "tests/golden/cuda/tile_cases.h"

namespace qsim::golden::cuda {
namespace {

ConvTask task_of(const golden_test::InstanceCase& instance, const Step& step) {
  ConvTask task;
  task.input = step.input;
  task.ofmap = step.ofmap;
  task.window = step.window;
  task.groups = step.groups;
  task.weight_parts = step.weight_parts;
  task.weights = weights_of(instance.graph, step).data();
  task.bias = bias_of(instance.graph, step).data();
  task.requantization = step.requantization;
  task.pool = step.pool;
  task.addition = step.addition;
  task.choices = instance.choices;
  task.multiprocessors = golden_test::kTileMultiprocessors;
  return task;
}

// As the cases' names say it.
std::string finish_name(const ConvTask& task) {
  if (task.addition) return task.addition->other_is_first ? "scale_add_first" : "scale_add";
  const std::string pool = task.pool ? "_pool" : "";
  if (task.requantization.is_dyadic()) return "scale" + pool;
  return (is_plain(task) && task.ofmap.shape.channels % kRun == 0 ? "plain" : "any") + pool;
}

TEST(WgmmaInstances, ArePlannedAsTheirNamesSay) {
  std::set<std::string> names;
  for (const golden_test::InstanceCase& instance : golden_test::wgmma_instances()) {
    SCOPED_TRACE(instance.name);
    const std::vector<Step> steps = plan_layers(instance.graph, CudaKeep::kStored);
    ASSERT_EQ(steps.size(), 1u);
    const ConvTask task = task_of(instance, steps[0]);
    EXPECT_EQ(group_pixels(task), nullptr);
    const std::optional<ConvPlan> plan = plan_conv_wgmma(task);
    ASSERT_TRUE(plan.has_value());
    const ConvGeometry& g = plan->geometry;
    std::string name = "wgmma." + std::string(dtype_name(task.input.dtype)) + "." +
                       std::to_string(plan->row_bytes) + (g.taps_per_stage == 3 ? "x3." : ".") +
                       std::to_string(plan->tile.rows()) + "x" +
                       std::to_string(plan->tile.columns) + ".";
    name += g.split > 1 ? "split" + std::to_string(g.split) : finish_name(task);
    EXPECT_EQ(name, instance.name);
    names.insert(name);
  }
  // Two dtypes times 13 tiles of 8 finishes, 12 tiles divided by 2, 4 by 4 and 3 by 8.
  EXPECT_EQ(names.size(), 2u * (13u * 8u + 12u + 4u + 3u));
}

TEST(PortableInstances, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  const std::vector<golden_test::InstanceCase> instances = golden_test::portable_instances();
  for (const golden_test::InstanceCase& instance : instances) names.insert(instance.name);
  EXPECT_EQ(names.size(), instances.size());
  EXPECT_FALSE(names.empty());
}

}  // namespace
}  // namespace qsim::golden::cuda
