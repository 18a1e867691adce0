// A layer's forward and backward pass as the calls of train_calls.h, one after another, and the
// memory between them. The same steps are computed on the CPU, enqueued on a GPU, and asked for
// their workspaces: each_step() gives them to `run` in order.
#pragma once

#include <algorithm>
#include <cstddef>

#include "golden/kernels/train/chain_calls.h"

namespace qsim::golden::train {

// Cuts memory into pieces that are aligned as it is, to 256 bytes. With null it only counts.
class Cut {
 public:
  explicit Cut(std::byte* memory) : memory_(memory) {}
  template <typename T>
  T* take(std::int64_t count) {
    std::byte* piece = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(piece);
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

// What forward gives to backward.
struct KeptLayer {
  KeptLayer(const LevelConv& conv, bool relu, bool residuals, std::byte* memory) {
    const ImageShape& in = conv.x_shape;
    const ImageShape& out = conv.y_shape;
    const std::int64_t x = in.batch * in.height * in.width * in.channels;
    const std::int64_t weights = out.channels * conv.depth();
    Cut cut(memory);
    scale = cut.take<float>(1);
    zero_point = cut.take<std::int32_t>(1);
    q = cut.take<std::int8_t>(x);
    x_passes = cut.take<std::uint8_t>((x + 7) / 8);
    w_q = cut.take<std::int8_t>(weights);
    w_scales = cut.take<float>(out.channels);
    w_passes = cut.take<std::uint8_t>((weights + 7) / 8);
    if (residuals) {
      x_residual = cut.take<std::int8_t>(x);
      w_residual = cut.take<std::int8_t>(weights);
    }
    if (relu) y_passes = cut.take<std::uint8_t>((conv.pixels() * out.channels + 7) / 8);
    bytes = cut.used();
  }

  float* scale;
  std::int32_t* zero_point;
  std::int8_t* q;
  std::uint8_t* x_passes;
  std::int8_t* w_q;
  float* w_scales;
  std::uint8_t* w_passes;
  std::int8_t* x_residual = nullptr;
  std::int8_t* w_residual = nullptr;
  std::uint8_t* y_passes = nullptr;
  std::size_t bytes;
};

struct LayerForward {
  Observe observe;  // x, levels, scale and zero_point; state null: x is not seen
  RealTensor w;     // where one scale is made for all weights, shape[0] is 1
  Levels w_levels;
  const float* w_steps = nullptr;  // [1] or [out], or null: scales are made
  std::int64_t w_step_count = 0;
  bool one_scale = false;
  bool residuals = false;
  LevelConv conv;  // q, zero_point and w null
  const float* bias = nullptr;
  bool relu = false;
  RealTensor y;
  std::byte* kept = nullptr;  // null: nothing is kept
};

struct LayerBackward {
  LevelConv conv;  // q, zero_point and w null
  bool has_zero_point = false;
  bool relu = false;
  bool residuals = false;  // of learned steps: dx and dw are float32 without gaps
  std::byte* kept = nullptr;
  RealTensor dy;                     // [B][OH][OW][O], the leading axes may be joined
  RealTensor dx;                     // data null: not wanted
  RealTensor dw;                     // data null: not wanted
  float* bias_gradient = nullptr;    // or null
  float* step_gradient = nullptr;    // [1], or null
  float* w_step_gradient = nullptr;  // [1] or [out], or null
  std::int64_t w_step_count = 1;
};

// Memory that a step may use in place of a workspace.
struct Spare {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
};

// Bytes before the steps' own workspace.
inline std::size_t scratch_bytes(const LayerForward& layer) {
  return layer.kept == nullptr ? KeptLayer(layer.conv, false, false, nullptr).bytes : 0;
}

template <typename Run>
void each_step(const LayerForward& layer, std::byte* scratch, const Run& run) {
  const bool keeps = layer.kept != nullptr;
  const Observe& observe = layer.observe;
  KeptLayer kept(layer.conv, keeps && layer.relu, keeps && layer.residuals,
                 keeps ? layer.kept : scratch);
  const auto bits = [&](std::uint8_t* of) { return keeps ? of : nullptr; };
  if (observe.state != nullptr) {
    Observe copying = observe;
    if (keeps) copying.scale_copy = kept.scale;
    if (keeps && observe.zero_point != nullptr) copying.zero_point_copy = kept.zero_point;
    run(copying, Spare{});
  } else if (keeps) {
    run(CopyScale{observe.scale, observe.zero_point, kept.scale, kept.zero_point}, Spare{});
  }
  const std::int64_t channels = layer.conv.y_shape.channels;
  if (layer.w_steps != nullptr) {
    run(SpreadScales{layer.w_steps, layer.w_step_count, kept.w_scales, channels}, Spare{});
  }
  run(QuantizeWeights{layer.w, layer.w_levels, kept.w_scales, kept.w_q, bits(kept.w_passes),
                      kept.w_residual},
      Spare{});
  if (layer.w_steps == nullptr && layer.one_scale) {
    run(SpreadScales{kept.w_scales, 1, kept.w_scales, channels}, Spare{});
  }
  Levels given = observe.levels;
  given.scale_kind = ScaleKind::kGiven;
  run(QuantizeLevels{observe.x, given, observe.scale, observe.zero_point, kept.q,
                     bits(kept.x_passes), kept.x_residual},
      Spare{});
  ConvReal conv;
  conv.conv = layer.conv;
  conv.conv.q = kept.q;
  conv.conv.w = kept.w_q;
  conv.conv.zero_point = observe.zero_point;
  conv.scale = observe.scale;
  conv.w_scales = kept.w_scales;
  conv.bias = layer.bias;
  conv.relu = layer.relu;
  conv.y = layer.y;
  conv.passes = kept.y_passes;
  run(conv, Spare{});
}

// Whether dy is the operand of the gradients as it is.
inline bool is_operand(const LayerBackward& layer) {
  return layer.dy.type == RealType::kBfloat16 && layer.dy.is_dense() && !layer.relu &&
         layer.bias_gradient == nullptr;
}

inline std::size_t scratch_bytes(const LayerBackward& layer) {
  Cut cut(nullptr);
  if (!is_operand(layer)) cut.take<std::uint16_t>(layer.dy.elems());
  if (layer.residuals) cut.take<float>(layer.conv.y_shape.channels);
  return cut.used();
}

// dx, whose elements do not overlap, where it has no gaps: it is written last.
inline Spare spare_of(const RealTensor& dx) {
  std::int64_t reach = 1;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (dx.strides[axis] < 0) return {};
    reach += (dx.shape[axis] - 1) * dx.strides[axis];
  }
  if (dx.data == nullptr || dx.elems() == 0 || reach != dx.elems()) return {};
  const std::int64_t elem = dx.type == RealType::kFloat32 ? 4 : 2;
  return {static_cast<std::byte*>(dx.data), static_cast<std::size_t>(reach * elem)};
}

template <typename Run>
void each_step(const LayerBackward& layer, std::byte* scratch, const Run& run) {
  const KeptLayer kept(layer.conv, layer.relu, layer.residuals, layer.kept);
  auto* g = static_cast<std::uint16_t*>(layer.dy.data);
  Cut cut(scratch);
  if (!is_operand(layer)) {
    g = cut.take<std::uint16_t>(layer.dy.elems());
    run(GradientOperand{layer.dy, kept.y_passes, g, layer.bias_gradient}, Spare{});
  }
  float* unwanted = layer.residuals ? cut.take<float>(layer.conv.y_shape.channels) : nullptr;
  LevelConv conv = layer.conv;
  conv.zero_point = layer.has_zero_point ? kept.zero_point : nullptr;
  if (layer.dw.data != nullptr) {
    conv.q = kept.q;
    run(ConvWeightGradient{conv, kept.scale, g, layer.residuals ? nullptr : kept.w_passes,
                           layer.dw},
        spare_of(layer.dx));
    if (layer.residuals) {
      auto* dw = static_cast<float*>(layer.dw.data);
      run(StepGradient{dw, kept.w_q, nullptr, kept.w_passes, kept.w_residual, layer.w_step_count,
                       layer.dw.elems(), dw,
                       layer.w_step_gradient == nullptr ? unwanted : layer.w_step_gradient},
          Spare{});
    }
  }
  if (layer.dx.data != nullptr || layer.step_gradient != nullptr) {  // an empty dx has no data
    conv.q = nullptr;
    conv.w = kept.w_q;
    run(ConvInputGradient{conv, kept.w_scales, g, layer.residuals ? nullptr : kept.x_passes,
                          layer.dx},
        Spare{});
    if (layer.residuals) {
      auto* dx = static_cast<float*>(layer.dx.data);
      run(StepGradient{dx, kept.q, conv.zero_point, kept.x_passes, kept.x_residual, 1,
                       layer.dx.elems(), dx,
                       layer.step_gradient == nullptr ? unwanted : layer.step_gradient},
          Spare{});
    }
  }
}

}  // namespace qsim::golden::train
