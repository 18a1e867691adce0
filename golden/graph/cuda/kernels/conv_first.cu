// The first layer's kernels on the host: which of conv_first.cuh's and conv_first_plain.cuh's runs,
// in what tiles, and the weights of both.
#include <algorithm>
#include <string>
#include <vector>

#include "core/base/checked_math.h"
#include "golden/graph/cuda/kernels/conv_first.cuh"
#include "golden/graph/cuda/kernels/conv_first_plain.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr std::int64_t kMost = 1 << 28;
constexpr std::int64_t kMostTaps = 49;
constexpr std::int64_t kMostShared = 48 * 1024;  // bytes of a block

// What the general kernel needs, whose tiles are the largest.
std::int64_t shared_bytes(const ConvTask& task) {
  const Window& w = task.window;
  FirstConv conv{};
  conv.steps = static_cast<int>(ceil_div(w.kernel_h * w.kernel_w, kFirstTaps));
  conv.out_channels = static_cast<int>(task.ofmap.shape.channels);
  conv.patch_h = static_cast<int>((kFirstTileY - 1) * w.stride_h + w.kernel_h);
  conv.patch_w = static_cast<int>((kFirstTileX - 1) * w.stride_w + w.kernel_w);
  return static_cast<std::int64_t>(FirstShared::bytes(conv));
}

bool takes(const ConvTask& task) {
  const ImageShape& in = task.input.shape;
  const ImageShape& out = task.ofmap.shape;
  const Window& w = task.window;
  return task.groups == 1 && task.weight_parts == 1 && !task.addition && w.dilation_h == 1 &&
         w.dilation_w == 1 && in.channels <= 4 && out.channels % 8 == 0 && out.channels <= 128 &&
         w.kernel_h <= kMostTaps && w.kernel_w <= kMostTaps &&
         w.kernel_h * w.kernel_w <= kMostTaps && shared_bytes(task) <= kMostShared &&
         w.stride_h <= 2 && w.stride_w <= 2 && in.height + w.pad_top + w.pad_bottom < kMost &&
         in.width + w.pad_left + w.pad_right < kMost &&
         out.batch * ceil_div(out.height, kFirstTileY) * ceil_div(out.width, kFirstTileX) < kMost;
}

// The weight of byte `byte` of window position `tap`, 0 where there is none.
std::int8_t weight_at(const ConvTask& task, std::int64_t co, std::int64_t tap, std::int64_t byte) {
  const std::int64_t channels = task.input.shape.channels;
  const std::int64_t taps = task.window.kernel_h * task.window.kernel_w;
  return tap < taps && byte < channels ? task.weights[(co * taps + tap) * channels + byte]
                                       : std::int8_t{0};
}

// As FirstConv::weights, byte by byte.
std::vector<std::int8_t> pack_weights(const ConvTask& task, int steps, int group) {
  std::vector<std::int8_t> packed;
  for (std::int64_t first = 0; first < task.ofmap.shape.channels; first += 8 * group) {
    for (int step = 0; step < steps; ++step) {
      for (int j = 0; j < group; ++j) {
        for (int lane = 0; lane < 32; ++lane) {
          const std::int64_t co = first + mma_channel_of_column(j * 8 + lane / 4, 8 * group);
          for (int i = 0; i < 8; ++i) {
            const int tap = step * kFirstTaps + i / 4 * 4 + lane % 4;
            packed.push_back(weight_at(task, co, tap, i % 4));
          }
        }
      }
    }
  }
  return packed;
}

using KernelFunction = void (*)(FirstConv);

template <int kGroup, FinishKind kKind>
KernelFunction by_dtype(const ConvTask& task) {
  return task.input.is_unsigned() ? conv_first_kernel<true, kGroup, kKind>
                                  : conv_first_kernel<false, kGroup, kKind>;
}

template <int kGroup>
KernelFunction by_kind(const ConvTask& task, FinishKind kind) {
  if (kind == FinishKind::kShift) return by_dtype<kGroup, FinishKind::kShift>(task);
  if (kind == FinishKind::kScale) return by_dtype<kGroup, FinishKind::kScale>(task);
  if constexpr (kGroup < 8) return by_dtype<kGroup, FinishKind::kGeneral>(task);
  throw InternalError("a wide group of conv_first for a general requantization");
}

KernelFunction choose(const ConvTask& task, FinishKind kind, int group) {
  if (group == 8) return by_kind<8>(task, kind);
  return group == 4 ? by_kind<4>(task, kind) : by_kind<1>(task, kind);
}

template <bool kPool>
KernelFunction choose_plain(const ConvTask& task) {
  if (task.ofmap.is_unsigned()) {
    return task.input.is_unsigned() ? conv_first_plain<true, true, kPool>
                                    : conv_first_plain<false, true, kPool>;
  }
  return task.input.is_unsigned() ? conv_first_plain<true, false, kPool>
                                  : conv_first_plain<false, false, kPool>;
}

bool takes_plain(const ConvTask& task) {
  return task.ofmap.shape.channels % (8 * kPlainGroup) == 0 &&
         task.window.kernel_h * task.window.kernel_w <= kPlainTaps && is_plain(task);
}

class ConvFirst : public Kernel {
 public:
  explicit ConvFirst(const ConvTask& task) : stage_(task), plain_(takes_plain(task)) {
    const FinishKind kind = finish_kind(stage_.params());
    const std::int64_t channels = task.ofmap.shape.channels;
    const bool widest = kind != FinishKind::kGeneral && channels % (8 * kFirstMostGroup) == 0;
    group_ = plain_ ? kPlainGroup : widest ? 8 : channels % 32 == 0 ? 4 : 1;
    const Window& w = task.window;
    conv_.steps =
        plain_ ? kPlainSteps : static_cast<int>(ceil_div(w.kernel_h * w.kernel_w, kFirstTaps));
    weights_ = upload(pack_weights(task, conv_.steps, group_));
    conv_.input = task.input_data;
    conv_.weights = weights_.as<uint2>();
    conv_.output = task.output_data;
    conv_.params = stage_.params();
    if (plain_) conv_.shift = task.requantization.shift(0);
    set_geometry(task);
    set_tiles(task);
    if (plain_) {
      kernel_ = task.pool ? choose_plain<true>(task) : choose_plain<false>(task);
    } else {
      kernel_ = choose(task, kind, group_);
    }
  }

  void launch(cudaStream_t stream) const override {
    launch_kernel("launching conv_first", kernel_, blocks_, kFirstThreads,
                  plain_ ? plain_shared_bytes(conv_) : FirstShared::bytes(conv_), stream, conv_);
  }

  std::string name() const override {
    return "conv_first " + std::to_string(kFirstTileX * conv_.tile_h) + "x" +
           std::to_string(8 * group_) + (plain_ ? " plain" : "");
  }

 private:
  void set_geometry(const ConvTask& task) {
    const Window& w = task.window;
    conv_.height = static_cast<int>(task.input.shape.height);
    conv_.width = static_cast<int>(task.input.shape.width);
    conv_.channels = static_cast<int>(task.input.shape.channels);
    conv_.kernel_h = static_cast<int>(w.kernel_h);
    conv_.kernel_w = static_cast<int>(w.kernel_w);
    conv_.stride_h = static_cast<int>(w.stride_h);
    conv_.stride_w = static_cast<int>(w.stride_w);
    conv_.pad_top = static_cast<int>(w.pad_top);
    conv_.pad_left = static_cast<int>(w.pad_left);
    conv_.out_height = static_cast<int>(task.ofmap.shape.height);
    conv_.out_width = static_cast<int>(task.ofmap.shape.width);
    conv_.out_channels = static_cast<int>(task.ofmap.shape.channels);
    conv_.fill = 0x01010101U * static_cast<std::uint8_t>(task.input.zero_point);
    conv_.pool = task.pool;
  }

  // Lower tiles where there are few. A plain block goes through several tiles.
  void set_tiles(const ConvTask& task) {
    const std::int64_t groups = conv_.out_channels / (8 * group_);
    const std::int64_t batch = task.input.shape.batch;
    conv_.tiles_x = static_cast<int>(ceil_div(conv_.out_width, kFirstTileX));
    for (conv_.tile_h = kFirstTileY;; conv_.tile_h /= 2) {
      conv_.tiles_y = static_cast<int>(ceil_div(conv_.out_height, conv_.tile_h));
      conv_.tiles = static_cast<int>(batch * conv_.tiles_y * conv_.tiles_x);
      const bool few = conv_.tiles * groups < 2 * task.multiprocessors;
      if (conv_.tile_h == kFirstLeastTileY || !few) break;
    }
    conv_.patch_h = (conv_.tile_h - 1) * conv_.stride_h + conv_.kernel_h;
    conv_.patch_w = (kFirstTileX - 1) * conv_.stride_w + conv_.kernel_w;
    blocks_ = conv_.tiles;
    if (plain_) {
      const std::int64_t fitting = std::max<std::int64_t>(
          1, std::int64_t{task.multiprocessors} * plain_blocks(task.pool) / groups);
      blocks_ = groups * std::min<std::int64_t>(conv_.tiles, fitting);
    }
  }

  OutputStage stage_;
  DeviceBuffer weights_;
  FirstConv conv_{};
  bool plain_;
  int group_ = 0;
  std::int64_t blocks_ = 0;
  KernelFunction kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_conv_first(const ConvTask& task) {
  return takes(task) ? std::make_unique<ConvFirst>(task) : nullptr;
}

}  // namespace qsim::golden::cuda
