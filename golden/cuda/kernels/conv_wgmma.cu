// The Hopper convolution: which tasks it takes, how it cuts them, and the launch.
#include <algorithm>
#include <array>

#include "golden/cuda/cuda_error.h"
#include "golden/cuda/kernels/conv_wgmma_kernel.cuh"
#include "golden/cuda/kernels/conv_wgmma_plan.h"
#include "golden/cuda/kernels/tensor_map.h"
#include "golden/cuda/tasks.h"

namespace qsim::golden::cuda {
namespace {

using KernelFunction = void (*)(ConvWgmmaArgs);

template <bool kUnsigned, int kRowBytes, int kTaps, Finish kFinish, int... kTile>
KernelFunction function_with() {
  return conv_wgmma_kernel<kUnsigned, kRowBytes, kTaps, TileShape<kTile...>, kFinish>;
}

template <bool kUnsigned, int kRowBytes, int kTaps, Finish kFinish>
KernelFunction function_of_tile(const ConvTile& tile) {
  if constexpr (kFinish == Finish::kSplit) {
    if (tile == kSplit256x128)
      return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 2, 2, 128>();
    if (tile == kSplit256x64)
      return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 2, 2, 64>();
  } else {
    if constexpr (kTaps == 3) {
      if (tile == k512x64) return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 4, 2, 64>();
    }
    if (tile == k256x128) return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 4, 1, 128>();
    if (tile == k256x64) return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 4, 1, 64>();
  }
  if (tile == k128x128) return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 2, 1, 128>();
  return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 2, 1, 64>();
}

template <bool kUnsigned, int kRowBytes, int kTaps>
KernelFunction function_of_finish(const ConvPlan& plan, Finish finish) {
  switch (finish) {
    case Finish::kPlain:
      return function_of_tile<kUnsigned, kRowBytes, kTaps, Finish::kPlain>(plan.tile);
    case Finish::kPlainPool:
      return function_of_tile<kUnsigned, kRowBytes, kTaps, Finish::kPlainPool>(plan.tile);
    case Finish::kAny:
      return function_of_tile<kUnsigned, kRowBytes, kTaps, Finish::kAny>(plan.tile);
    case Finish::kAnyPool:
      return function_of_tile<kUnsigned, kRowBytes, kTaps, Finish::kAnyPool>(plan.tile);
    case Finish::kSplit:
      break;
  }
  return function_of_tile<kUnsigned, kRowBytes, kTaps, Finish::kSplit>(plan.tile);
}

Finish finish_of(const ConvTask& task, const ConvPlan& plan) {
  if (plan.geometry.split > 1) return Finish::kSplit;
  if (is_plain(task) && task.ofmap.shape.channels % kRun == 0)
    return task.pool ? Finish::kPlainPool : Finish::kPlain;
  return task.pool ? Finish::kAnyPool : Finish::kAny;
}

template <bool kUnsigned>
KernelFunction function_of_input(const ConvTask& task, const ConvPlan& plan) {
  const Finish finish = finish_of(task, plan);
  if (plan.row_bytes == 128) return function_of_finish<kUnsigned, 128, 1>(plan, finish);
  return plan.geometry.taps_per_stage == 3 ? function_of_finish<kUnsigned, 64, 3>(plan, finish)
                                           : function_of_finish<kUnsigned, 64, 1>(plan, finish);
}

KernelFunction function_of(const ConvTask& task, const ConvPlan& plan) {
  return task.input.is_unsigned() ? function_of_input<true>(task, plan)
                                  : function_of_input<false>(task, plan);
}

// The channel, within its 64, of column `column` of an accumulator (columns 8 j + 2 q + e belong to
// lane q): a lane's 16 columns become 16 consecutive channels.
int column_channel(int column) {
  const int j = column / 8;
  const int q = column % 8 / 2;
  return 16 * q + 2 * (j % 8) + column % 2;
}

// [channel block][tap][padded channels, permuted][row_bytes]
std::vector<std::int8_t> pack(const ConvTask& task, const ConvPlan& plan) {
  const ConvGeometry& g = plan.geometry;
  const std::int64_t depth = task.input.shape.channels;
  const std::int64_t taps = g.taps;
  std::vector<std::int8_t> packed(static_cast<std::size_t>(g.channel_blocks) * g.taps *
                                  g.padded_channels * plan.row_bytes);
  std::int8_t* to = packed.data();
  for (int block = 0; block < g.channel_blocks; ++block) {
    const std::int64_t first = std::int64_t{block} * plan.row_bytes;
    const std::int64_t count = std::min<std::int64_t>(plan.row_bytes, depth - first);
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (int column = 0; column < g.padded_channels; ++column, to += plan.row_bytes) {
        const int channel = column / 64 * 64 + column_channel(column % 64);
        if (channel >= g.channels) continue;
        std::copy_n(task.weights + (channel * taps + tap) * depth + first, count, to);
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
    args_.input = make_tensor_map(task.input_data, plan.input_sizes, plan.input_box);
    args_.weights = make_tensor_map(weights_.as<void>(), {row_bytes, rows},
                                    {row_bytes, static_cast<std::uint32_t>(plan.tile.columns)});
    args_.geometry = g;
    args_.output = output_.params();
    args_.shift = task.requantization.shifts[0];
    args_.is_unsigned = task.ofmap.is_unsigned();
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
    return text;
  }

 private:
  ConvPlan plan_;
  DeviceBuffer weights_;
  OutputStage output_;
  ConvWgmmaArgs args_;
  KernelFunction function_;
  int blocks_ = 1;
};

// A convolution whose ofmap goes through memory to a max-pool of its own.
class ConvThenPool : public Kernel {
 public:
  ConvThenPool(const ConvTask& task, const ConvPlan& plan)
      : between_(poisoned(static_cast<std::size_t>(element_count(task.ofmap.shape.nhwc())))),
        conv_(unpooled(task, between_.as<>()), plan) {
    MaxPoolTask pool;
    pool.input = task.ofmap;
    pool.output = task.ofmap;
    pool.output.shape.height /= 2;
    pool.output.shape.width /= 2;
    pool.window = {2, 2, 2, 2, 0, 0, 0, 0};
    pool.input_data = between_.as<>();
    pool.output_data = task.output_data;
    pool_ = make_max_pool(pool);
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
  const std::optional<ConvPlan> plan = plan_conv_wgmma(task);
  if (task.pool) {
    const std::optional<ConvPlan> apart = plan_conv_wgmma(ConvThenPool::unpooled(task, nullptr));
    if (apart && (!plan || apart->cycles + pool_cycles(task) < plan->cycles)) {
      return std::make_unique<ConvThenPool>(task, *apart);
    }
  }
  if (!plan) return nullptr;
  return std::make_unique<ConvWgmma>(task, *plan);
}

}  // namespace qsim::golden::cuda
