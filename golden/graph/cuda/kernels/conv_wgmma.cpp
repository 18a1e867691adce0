// The Hopper convolution: which tasks it takes, how it cuts them, and the launch.
#include <algorithm>
#include <array>
#include <optional>

#include "core/network/layer_arithmetic.h"
#include "golden/device/cuda_error.h"
#include "golden/device/tensor_map.h"
#include "golden/graph/cuda/kernels/conv_wgmma_functions.h"
#include "golden/graph/cuda/kernels/conv_wgmma_plan.h"
#include "golden/graph/cuda/kernels/pixel_groups.h"
#include "golden/graph/cuda/tasks.h"

namespace qsim::golden::cuda {
namespace {

Finish finish_of(const ConvTask& task, const ConvPlan& plan) {
  if (plan.geometry.split > 1) return Finish::kSplit;
  if (task.addition) {
    return task.addition->other_is_first ? Finish::kScaleAddFirst : Finish::kScaleAdd;
  }
  if (task.requantization.is_dyadic()) return task.pool ? Finish::kScalePool : Finish::kScale;
  if (is_plain(task) && task.ofmap.shape.channels % kRun == 0) {
    return task.pool ? Finish::kPlainPool : Finish::kPlain;
  }
  return task.pool ? Finish::kAnyPool : Finish::kAny;
}

WgmmaFunction function_of(const ConvTask& task, const ConvPlan& plan) {
  const Finish finish = finish_of(task, plan);
  const bool is_unsigned = task.input.is_unsigned();
  switch (finish) {
    case Finish::kPlain:
    case Finish::kPlainPool:
      return plain_function(is_unsigned, plan, finish);
    case Finish::kAny:
    case Finish::kAnyPool:
      return shift_function(is_unsigned, plan, finish);
    case Finish::kScale:
    case Finish::kScalePool:
      return scale_function(is_unsigned, plan, finish);
    case Finish::kScaleAdd:
    case Finish::kScaleAddFirst:
      return sum_function(is_unsigned, plan, finish);
    case Finish::kSplit:
      break;
  }
  return split_function(is_unsigned, plan);
}

// The channel, within its 64, of column `column` of an accumulator (columns 8 j + 2 q + e belong to
// lane q): a lane's 16 columns become 16 consecutive channels.
int column_channel(int column) {
  const int j = column / 8;
  const int q = column % 8 / 2;
  return 16 * q + 2 * (j % 8) + column % 2;
}

// Which tap of the task's window tap `tap` of a channel block is; none for a weight of 0. In a
// phase of even rows only the second of two rows is a row of the window, the middle one; in one of
// odd rows they are the first and the last. Columns likewise.
std::optional<std::int64_t> tap_of(const ConvGeometry& g, int block, std::int64_t tap) {
  if (g.phases == 1) return tap;
  const auto place = [](bool odd, std::int64_t i) { return odd ? 2 * i : i == 1 ? 1 : -1; };
  const std::int64_t y = place(block / 2 % 2 != 0, tap / 2);
  const std::int64_t x = place(block % 2 != 0, tap % 2);
  return y < 0 || x < 0 ? std::nullopt : std::optional(3 * y + x);
}

// [channel block][tap][padded channels, permuted][row_bytes]
std::vector<std::int8_t> pack(const ConvTask& task, const ConvPlan& plan) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t depth = task.input.shape.channels;
  const std::int64_t taps = task.window.kernel_h * task.window.kernel_w;
  std::vector<std::int8_t> packed(static_cast<std::size_t>(g.channel_blocks) * g.taps *
                                  g.padded_channels * plan.row_bytes);
  std::int8_t* to = packed.data();
  for (int block = 0; block < g.channel_blocks; ++block) {
    const std::int64_t part = block / g.input_blocks;
    const int input_block = block % g.input_blocks;
    const std::int64_t first = std::int64_t{input_block / g.phases} * plan.row_bytes;
    const std::int64_t count = std::min<std::int64_t>(plan.row_bytes, depth - first);
    for (std::int64_t i = 0; i < g.taps; ++i) {
      const std::optional<std::int64_t> tap = tap_of(g, input_block, i);
      for (int column = 0; column < g.padded_channels; ++column, to += plan.row_bytes) {
        const int channel = column / 64 * 64 + column_channel(column % 64);
        if (channel >= g.channels || !tap) continue;
        const std::int64_t row = (channel * task.weight_parts + part) * taps + *tap;
        std::copy_n(task.weights + row * depth + first, count, to);
      }
    }
  }
  return packed;
}

std::vector<std::int64_t> channel_order(const ConvGeometry& g) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(g.padded_channels), -1);
  for (int i = 0; i < g.channels; ++i) order[static_cast<std::size_t>(i)] = i;
  return order;
}

class ConvWgmma : public Kernel {
 public:
  ConvWgmma(const ConvTask& task, const ConvPlan& plan)
      : plan_(plan),
        weights_(upload(pack(task, plan))),
        output_(task, channel_order(plan.geometry)),
        function_(function_of(task, plan)) {
    const ConvGeometry& g = plan.geometry;
    const auto rows = static_cast<std::uint64_t>(g.channel_blocks) *
                      static_cast<std::uint64_t>(g.taps * g.padded_channels);
    const auto row_bytes = static_cast<std::uint32_t>(plan.row_bytes);
    args_.input =
        make_tensor_map(task.input_data, plan.input_sizes, plan.input_box, plan.input_strides);
    args_.weights = make_tensor_map(weights_.as<void>(), {row_bytes, rows},
                                    {row_bytes, static_cast<std::uint32_t>(plan.tile.columns)});
    args_.geometry = g;
    args_.output = output_.params();
    if (!task.requantization.is_dyadic()) args_.shift = task.requantization.shifts[0];
    args_.is_unsigned = task.ofmap.is_unsigned();
    if (task.addition) set_addition(task);
    args_.pool = task.pool;
    args_.output_data = task.output_data;
    // The limit is the function's, which other layers launch with other sizes.
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(function_),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, kMostShared),
          "reserving shared memory");
    const int tiles = g.row_tiles * g.column_blocks.divisor();
    blocks_ = g.split > 1 ? tiles * g.split : std::min(tiles, task.multiprocessors);
  }

  void launch(cudaStream_t stream) const override {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks_));
    config.blockDim = dim3(static_cast<unsigned>(128 * (plan_.tile.warpgroups + 1)));
    config.dynamicSmemBytes = static_cast<std::size_t>(plan_.shared_bytes);
    config.stream = stream;
    std::array<cudaLaunchAttribute, 2> attributes{};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = static_cast<unsigned>(plan_.geometry.split);
    attributes[0].val.clusterDim.y = 1;
    attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = attributes.data();
    config.numAttrs = attributes.size();
    check(cudaLaunchKernelEx(&config, function_, args_), "launching conv_wgmma");
  }

  std::string name() const override {
    std::string text = "conv_wgmma " + std::to_string(plan_.tile.rows()) + "x" +
                       std::to_string(plan_.tile.columns);
    if (plan_.geometry.split > 1) text += " split " + std::to_string(plan_.geometry.split);
    if (args_.other.data != nullptr) text += " add";
    return text;
  }

 private:
  void set_addition(const ConvTask& task) {
    const Addition& addition = *task.addition;
    const bool is_first = addition.other_is_first;
    const Adder adder = adder_of(addition.add, is_first ? addition.other : task.ofmap,
                                 is_first ? task.ofmap : addition.other, addition.sum)
                            .value();
    args_.other.data = task.other_data;
    args_.other.adder = adder_params(adder, addition.add.lo, addition.add.hi);
    args_.other.is_first = is_first;
    const bool is_unsigned = addition.other.is_unsigned();
    args_.other.turned = is_unsigned ? 0U : 0x80808080U;
    args_.other.zero = 8388608.0F + (is_unsigned ? 0.0F : 128.0F);
    args_.is_unsigned = addition.sum.is_unsigned();
  }

  ConvPlan plan_;
  DeviceBuffer weights_;
  OutputStage output_;
  ConvWgmmaArgs args_;
  WgmmaFunction function_;
  int blocks_ = 1;
};

// A convolution whose ofmap goes through memory to a max-pool of its own.
class ConvThenPool : public Kernel {
 public:
  ConvThenPool(const ConvTask& task, const ConvPlan& plan)
      : between_(poisoned(static_cast<std::size_t>(element_count(task.ofmap.shape.nhwc())))),
        conv_(unpooled(task, between_.as<>()), plan),
        pool_(pool_of(task, between_.as<>())) {}

  static std::unique_ptr<Kernel> pool_of(const ConvTask& task, const std::uint8_t* ofmap) {
    MaxPoolTask pool;
    pool.input = task.ofmap;
    pool.output = task.ofmap;
    pool.output.shape.height /= 2;
    pool.output.shape.width /= 2;
    pool.window = {2, 2, 2, 2, 0, 0, 0, 0};
    pool.input_data = ofmap;
    pool.output_data = task.output_data;
    return make_max_pool(pool);
  }

  static ConvTask unpooled(const ConvTask& task, std::uint8_t* output) {
    ConvTask conv = task;
    conv.pool = false;
    conv.output_data = output;
    return conv;
  }

  void launch(cudaStream_t stream) const override {
    conv_.launch(stream);
    pool_->launch(stream);
  }
  std::int64_t inner_bytes() const override {
    return 2 * static_cast<std::int64_t>(between_.bytes());
  }
  std::string name() const override { return conv_.name() + " + " + pool_->name(); }

 private:
  DeviceBuffer between_;
  ConvWgmma conv_;
  std::unique_ptr<Kernel> pool_;
};

// Cycles of a pool by itself: it reads the ofmap and writes a quarter of it.
double pool_cycles(const ConvTask& task) {
  constexpr double kLaunch = 4000;
  constexpr double kBytesPerCycle = 2200;
  return kLaunch +
         1.25 * static_cast<double>(element_count(task.ofmap.shape.nhwc())) / kBytesPerCycle;
}

}  // namespace

std::unique_ptr<Kernel> make_conv_wgmma(const ConvTask& task) {
  if (const std::unique_ptr<GroupedPixels> grouped = group_pixels(task)) {
    const std::optional<ConvPlan> plan = plan_conv_wgmma(grouped->task);
    if (plan) return std::make_unique<ConvWgmma>(grouped->task, *plan);
  }
  const std::optional<ConvPlan> plan = plan_conv_wgmma(task);
  const bool tile_is_chosen = task.choices.tile_rows > 0;
  if (task.pool && !(plan && tile_is_chosen)) {
    const std::optional<ConvPlan> apart = plan_conv_wgmma(ConvThenPool::unpooled(task, nullptr));
    if (apart && (!plan || apart->cycles + pool_cycles(task) < plan->cycles)) {
      return std::make_unique<ConvThenPool>(task, *apart);
    }
  }
  if (!plan) return nullptr;
  return std::make_unique<ConvWgmma>(task, *plan);
}

}  // namespace qsim::golden::cuda
