// How the Hopper kernel cuts convolutions, without a GPU: divisions by multiplication, what is
// taken and what is refused, and that every plan fits the hardware.
#include "golden/graph/cuda/kernels/conv_wgmma_plan.h"

#include <set>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "golden/device/fast_divisor.h"
#include "golden/graph/cuda/kernels/pixel_groups.h"
#include "golden/graph/cuda/layer_plan.h"
#include "tests/golden/cuda/random_cases.h"
#include "tests/golden/cuda/tile_cases.h"

namespace qsim::golden::cuda {
namespace {

TEST(FastDivisor, DividesAsTheProcessorDoes) {
  constexpr std::uint64_t kSeed = 3;
  Random random(kSeed);
  for (int i = 0; i < 200000; ++i) {
    const int bits = static_cast<int>(random.uniform(1, 31));
    const auto divisor =
        static_cast<std::int32_t>(random.uniform(1, (std::int64_t{1} << bits) - 1));
    const auto n = static_cast<std::int32_t>(random.uniform(0, INT32_MAX));
    const std::int32_t multiple = n / divisor * divisor;  // the borders are where it would go wrong
    for (const std::int32_t value : {n, multiple, multiple > 0 ? multiple - 1 : 0, INT32_MAX}) {
      ASSERT_EQ(FastDivisor(divisor).divide(value), value / divisor)
          << "seed " << kSeed << ": " << value << " / " << divisor;
    }
  }
}

struct Layer {
  Layer(std::int64_t batch, std::int64_t size, std::int64_t channels, std::int64_t out_channels,
        std::int64_t kernel)
      : weights(static_cast<std::size_t>(kernel * kernel * channels * out_channels), 3),
        bias(static_cast<std::size_t>(out_channels), 1) {
    task.input.shape = {batch, size, size, channels};
    task.ofmap.shape = {batch, size, size, out_channels};
    task.window = {kernel, kernel, 1, 1, kernel / 2, kernel / 2, kernel / 2, kernel / 2};
    task.requantization.shifts = {7};
    task.multiprocessors = 132;
    task.weights = weights.data();
    task.bias = bias.data();
  }

  std::optional<ConvPlan> plan() const { return plan_conv_wgmma(task); }

  void scale(RequantizerRounding rounding) {
    task.requantization.shifts.clear();
    task.requantization.requantizers = {{kLeastMultiplier + 1, 33, rounding}};
  }

  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> bias;
  ConvTask task;
};

TEST(PlanConvWgmma, LargeLayersGetTheLargeTiles) {
  EXPECT_EQ(Layer(32, 56, 256, 256, 3).plan()->tile, k256x128);
  EXPECT_EQ(Layer(32, 224, 64, 64, 3).plan()->tile, k512x64);
}

TEST(PlanConvWgmma, FewTilesShareTheirDepthInClusters) {
  EXPECT_GT(Layer(1, 14, 512, 512, 3).plan()->geometry.split, 1);
  EXPECT_EQ(Layer(256, 14, 512, 512, 3).plan()->geometry.split, 1);
}

TEST(PlanConvWgmma, WidthsThatSquaresWouldWasteGoInStripes) {
  const ConvGeometry squares = Layer(256, 56, 128, 256, 3).plan()->geometry;
  EXPECT_EQ(squares.row_pitch.divisor(), 8);
  const ConvGeometry stripes = Layer(256, 28, 256, 512, 3).plan()->geometry;
  EXPECT_EQ(stripes.row_pitch.divisor(), 29);  // one pad between two rows
  EXPECT_EQ(stripes.step_x, 28);
}

// A stripe of 256 pixels and a pad is not a box; squares are.
TEST(PlanConvWgmma, WidthsBeyondABoxGoInSquares) {
  const ConvPlan plan = *Layer(8, 256, 64, 64, 3).plan();
  EXPECT_EQ(plan.tile, k512x64);
  EXPECT_EQ(plan.geometry.row_pitch.divisor(), 8);
}

TEST(PlanConvWgmma, AnyNumberOfMultiprocessorsWillDo) {
  for (int count = 1; count <= 140; ++count) {
    Layer layer(1, 14, 512, 512, 3);
    layer.task.multiprocessors = count;
    const std::optional<ConvPlan> plan = layer.plan();
    ASSERT_TRUE(plan.has_value());
    EXPECT_GT(plan->cycles, 0);
    EXPECT_LE(plan->geometry.split, count);
  }
}

TEST(PlanConvWgmma, RefusesWhatTheKernelCannotDo) {
  const auto refused = [](auto change) {
    Layer layer(2, 16, 64, 64, 3);
    EXPECT_TRUE(layer.plan().has_value());
    change(layer);
    return !layer.plan().has_value();
  };
  EXPECT_TRUE(refused([](Layer& l) { l.task.window.stride_w = 2; }));
  EXPECT_TRUE(refused([](Layer& l) { l.task.window.stride_h = 2; }));
  EXPECT_TRUE(refused([](Layer& l) { l.task.window.dilation_w = 2; }));
  EXPECT_TRUE(refused([](Layer& l) { l.task.groups = 2; }));
  EXPECT_TRUE(refused([](Layer& l) { l.task.addition.emplace(); }));  // after shifts
  EXPECT_TRUE(refused([](Layer& l) { l.scale(RequantizerRounding::kHalfEven); }));
  EXPECT_TRUE(refused([](Layer& l) { l.task.input.shape.channels = 56; }));
  EXPECT_TRUE(refused([](Layer& l) { l.task.input.zero_point = 1; }));
  EXPECT_TRUE(refused([](Layer& l) { l.task.requantization.shifts = {0}; }));
  EXPECT_TRUE(refused([](Layer& l) { l.task.requantization.rounding = RoundingMode::kFloor; }));
  EXPECT_TRUE(refused([](Layer& l) { l.bias[5] = INT32_MAX; }));
}

TEST(PlanConvWgmma, ZeroPointMattersOnlyBehindPads) {
  Layer layer(2, 16, 64, 64, 1);
  layer.task.input.zero_point = 9;
  EXPECT_TRUE(layer.plan().has_value());
}

TEST(PlanConvWgmma, TakesRequantizersThatRoundAsFloat32AndAdditionsAfterThem) {
  Layer layer(2, 16, 64, 64, 3);
  layer.scale(RequantizerRounding::kFloat32);
  EXPECT_TRUE(layer.plan().has_value());
  layer.task.addition.emplace();
  EXPECT_TRUE(layer.plan().has_value());
}

TEST(PlanConvWgmma, AStridedWindowOf1x1ReadsPixelsWithGaps) {
  Layer layer(2, 14, 64, 128, 1);
  layer.task.window.stride_h = layer.task.window.stride_w = 2;
  layer.task.input.shape = {2, 28, 27, 64};
  const std::optional<ConvPlan> plan = layer.plan();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->input_sizes, (std::vector<std::uint64_t>{64, 14, 14, 2}));
  EXPECT_EQ(plan->input_strides, (std::vector<std::uint64_t>{128, 2 * 27 * 64, 28 * 27 * 64}));
}

TEST(PlanConvWgmma, AStridedWindowOf3x3OnAnEvenPictureIsComputedInPhases) {
  Layer layer(2, 14, 128, 128, 3);
  layer.task.window.stride_h = layer.task.window.stride_w = 2;
  layer.task.input.shape = {2, 28, 28, 128};
  const std::optional<ConvPlan> plan = layer.plan();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->geometry.phases, 4);
  EXPECT_EQ(plan->geometry.taps, 4);
  EXPECT_EQ(plan->geometry.channel_blocks, 4);
  EXPECT_EQ(plan->input_sizes, (std::vector<std::uint64_t>{256, 14, 2, 14, 2}));
  EXPECT_EQ(plan->input_strides,
            (std::vector<std::uint64_t>{256, 28 * 128, 2 * 28 * 128, 28 * 28 * 128}));
  layer.task.input.shape.width = 27;
  EXPECT_FALSE(layer.plan().has_value());
}

TEST(PlanConvWgmma, WideWeightsGoThroughTheInputForEachPart) {
  Layer layer(2, 16, 192, 64, 1);
  layer.weights.resize(3 * layer.weights.size(), 3);
  layer.task.weights = layer.weights.data();
  layer.task.weight_parts = 3;
  EXPECT_EQ(layer.plan()->geometry.input_blocks, 3);
  EXPECT_EQ(layer.plan()->geometry.channel_blocks, 9);
}

TEST(GroupPixels, NarrowPixelsBecomeOneWithABlockOfWeightsForEach) {
  Layer layer(2, 6, 8, 3, 1);
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    layer.weights[i] = static_cast<std::int8_t>(i + 1);
  }
  layer.task.requantization.shifts = {1, 2, 3};
  const std::unique_ptr<GroupedPixels> grouped = group_pixels(layer.task);
  ASSERT_NE(grouped, nullptr);
  const ConvTask& wide = grouped->task;
  EXPECT_EQ(wide.input.shape, (ImageShape{1, 1, 18, 32}));
  EXPECT_EQ(wide.ofmap.shape, (ImageShape{1, 1, 18, 12}));
  EXPECT_EQ(wide.requantization.shifts,
            (std::vector<std::uint8_t>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(grouped->bias.size(), 12u);
  for (int co = 0; co < 12; ++co) {
    for (int ci = 0; ci < 32; ++ci) {
      const int expected = co / 3 == ci / 8 ? co % 3 * 8 + ci % 8 + 1 : 0;
      ASSERT_EQ(wide.weights[co * 32 + ci], expected) << co << " " << ci;
    }
  }
}

TEST(GroupPixels, LeavesWhatIsWideEnoughAndWhatNoGroupDivides) {
  EXPECT_EQ(group_pixels(Layer(2, 6, 64, 64, 1).task), nullptr);
  EXPECT_EQ(group_pixels(Layer(1, 5, 24, 144, 1).task), nullptr);
  EXPECT_EQ(group_pixels(Layer(2, 6, 24, 144, 3).task), nullptr);
  EXPECT_EQ(group_pixels(Layer(2, 6, 24, 144, 1).task)->task.input.shape.channels, 48);
  Layer pooled(2, 6, 24, 144, 1);
  pooled.task.pool = true;
  EXPECT_EQ(group_pixels(pooled.task), nullptr);
}

// Shared memory, boxes and rings of every plan; K divided without rest among a cluster's blocks.
TEST(PlanConvWgmma, EveryPlanFitsTheHardware) {
  constexpr std::uint64_t kSeed = 11;
  Random random(kSeed);
  int plans = 0;
  for (int i = 0; i < 3000; ++i) {
    Layer layer(random.uniform(1, 64), random.uniform(1, 60), 16 * random.uniform(1, 40),
                random.uniform(1, 200), 2 * random.uniform(0, 2) + 1);
    layer.task.pool = random.chance(0.3) && layer.task.ofmap.shape.height % 2 == 0;
    const std::optional<ConvPlan> plan = layer.plan();
    if (!plan) continue;
    ++plans;
    const ConvGeometry& g = plan->geometry;
    const int units = plan->tile.tile_groups() >> g.unit_shift;
    const int inputs = g.input_stages * units * g.unit_stride;
    const int stage = g.taps_per_stage * plan->tile.columns * plan->row_bytes;
    ASSERT_LE(inputs + g.weight_stages * stage + kBoxAlignment, plan->shared_bytes);
    ASSERT_LE(plan->shared_bytes, kMostShared) << "seed " << kSeed << ", layer " << i;
    ASSERT_GE(units, 1);
    ASSERT_LE(g.weight_stages, kMaxWeightStages);
    ASSERT_LE(g.input_stages, kMaxInputStages);
    ASSERT_LE(plan->input_box[1], 256u);
    ASSERT_LE(plan->input_box[2], 256u);
    ASSERT_GE(g.row_tiles * units, g.units);
    ASSERT_LE(g.split, g.channel_blocks * g.block_stages);
    ASSERT_EQ(g.block_stages * g.taps_per_stage, g.taps);
  }
  EXPECT_GT(plans, 2500);
}

// The kernel of a graph's first step as ConvWgmma names it; "" where the plan refuses it.
std::string planned_kernel(const Graph& graph) {
  const std::vector<Step> steps = plan_layers(graph, CudaKeep::kEvery);
  const Step& step = steps.front();
  if (step.kind != StepKind::kConv) return "";
  ConvTask task;
  task.input = step.input;
  task.ofmap = step.ofmap;
  task.window = step.window;
  task.groups = step.groups;
  task.weight_parts = step.weight_parts;
  task.weights = weights_of(graph, step).data();
  task.bias = bias_of(graph, step).data();
  task.requantization = step.requantization;
  task.multiprocessors = golden_test::kTileMultiprocessors;
  const std::unique_ptr<GroupedPixels> grouped = group_pixels(task);
  const std::optional<ConvPlan> plan = plan_conv_wgmma(grouped ? grouped->task : task);
  if (!plan) return "";
  const int split = plan->geometry.split;
  return "conv_wgmma " + std::to_string(plan->tile.rows()) + "x" +
         std::to_string(plan->tile.columns) + (split > 1 ? " split " + std::to_string(split) : "");
}

// 128x64 is never divided by 8: a block would finish fewer than 8 values a thread.
TEST(TileCases, AreOfEveryTileAndSplitAndGetTheKernelTheyName) {
  std::set<std::string> names;
  std::uint64_t seed = 1;
  for (const golden_test::TileCase& tile : golden_test::tile_cases()) {
    Random random(seed++);
    EXPECT_EQ(planned_kernel(golden_test::tile_graph(random, tile)), tile.kernel)
        << "seed " << seed - 1;
    names.emplace(tile.kernel);
  }
  EXPECT_EQ(names.size(), 5u + 3u * 4u - 1u);
}

// Seeds that one process of gpu-test goes through; the drawn kinds in between are not planned.
TEST(RandomCases, MeetEveryTile) {
  std::set<std::string> names;
  for (std::uint64_t seed = 16; seed <= 600; seed += 16) {
    const golden_test::RandomCase made = golden_test::random_case(seed, 500'000'000);
    if (made.kind == "conv_tile") names.insert(planned_kernel(made.graph));
  }
  for (const golden_test::TileCase& tile : golden_test::tile_cases()) {
    EXPECT_TRUE(names.contains(std::string(tile.kernel))) << tile.kernel;
  }
}

TEST(IsPlain, WantsOneShiftNoZeroPointAndTheWholeRange) {
  const auto plain = [](auto change) {
    Layer layer(1, 8, 16, 32, 1);
    change(layer.task);
    return is_plain(layer.task);
  };
  EXPECT_TRUE(plain([](ConvTask&) {}));
  EXPECT_FALSE(plain([](ConvTask& t) {
    t.requantization.shifts.assign(32, 7);
    t.requantization.shifts[9] = 8;
  }));
  EXPECT_TRUE(plain([](ConvTask& t) { t.requantization.shifts.assign(32, 7); }));
  EXPECT_FALSE(plain([](ConvTask& t) { t.ofmap.zero_point = 1; }));
  EXPECT_FALSE(plain([](ConvTask& t) { t.requantization.lo = 0; }));
  EXPECT_FALSE(plain([](ConvTask& t) { t.requantization.hi = 126; }));
  EXPECT_FALSE(plain([](ConvTask& t) { t.requantization.shifts = {0}; }));
  EXPECT_FALSE(plain([](ConvTask& t) { t.requantization.rounding = RoundingMode::kHalfUp; }));
}

}  // namespace
}  // namespace qsim::golden::cuda
