// A chain's convolution, forward, as the calls of train_calls.h and chain_calls.h, one after
// another; as layer_steps.h has a layer's.
#pragma once

#include "golden/kernels/train/chain_calls.h"
#include "golden/kernels/train/layer_steps.h"

namespace qsim::golden::train {

struct ChainConvolution {
  ConvLevels conv;          // multipliers and bias null; w is written, unless the weights are given
  QuantizeWeights weights;  // w.data null: they are given
  NormalizeStatistics norm;  // norm null: there is none; sums null. of_batch says which statistics
  bool of_batch = false;
  const float* x_scale = nullptr;   // [1]
  const float* w_scales = nullptr;  // [out]
  const float* bias = nullptr;      // [out], or null
  float* y_scale = nullptr;         // [1]; written where `span` is not null
  const float* span = nullptr;      // [1]; null: y_scale is given
  bool power_of_two = false;
};

// What lives for one call.
struct ChainScratch {
  ChainScratch(const ChainConvolution& of, std::byte* memory) {
    const std::int64_t out = of.conv.conv.y_shape.channels;
    Cut cut(memory);
    multipliers = cut.take<float>(out);
    if (of.norm.norm != nullptr || of.bias != nullptr) {
      biases = cut.take<std::int32_t>(out);
      w_used = cut.take<std::int8_t>(out * of.conv.conv.depth());
    }
    if (of.of_batch) sums = cut.take<std::int64_t>(3 * out);
    if (of.span != nullptr) {
      trial = cut.take<float>(1);
      seen = cut.take<float>(2);
    }
    bytes = cut.used();
  }

  float* multipliers;
  std::int32_t* biases = nullptr;
  std::int8_t* w_used = nullptr;
  std::int64_t* sums = nullptr;
  float* trial = nullptr;
  float* seen = nullptr;
  std::size_t bytes;
};

inline std::size_t scratch_bytes(const ChainConvolution& call) {
  return ChainScratch(call, nullptr).bytes;
}

// Levels of y by a scale; range: what they had, in its units, or null.
template <typename Run>
void fold_and_convolve(const ChainConvolution& call, const ChainScratch& scratch,
                       const float* y_scale, float* range, const Run& run) {
  const bool has_bias = call.norm.norm != nullptr || call.bias != nullptr;
  FoldLevels fold;
  fold.channels = call.conv.conv.y_shape.channels;
  fold.weights = call.conv.conv.depth();
  fold.x_scale = call.x_scale;
  fold.w_scales = call.w_scales;
  fold.y_scale = y_scale;
  fold.norm = call.norm.norm;
  fold.bias = call.bias;
  fold.w = call.conv.conv.w;
  fold.multipliers = scratch.multipliers;
  fold.biases = scratch.biases;
  fold.w_used = scratch.w_used;
  run(fold, Spare{});
  ConvLevels conv = call.conv;
  conv.multipliers = scratch.multipliers;
  if (has_bias) conv.conv.w = scratch.w_used;
  conv.bias = scratch.biases;
  conv.range = range;
  run(conv, Spare{});
}

template <typename Run>
void each_step(const ChainConvolution& call, std::byte* memory, const Run& run) {
  const ChainScratch scratch(call, memory);
  if (call.weights.w.data != nullptr) run(call.weights, Spare{});
  if (call.norm.norm != nullptr) {
    NormalizeStatistics norm = call.norm;
    if (call.of_batch) {
      run(ConvStatistics{call.conv.conv, scratch.sums}, Spare{});
      norm.sums = scratch.sums;
    }
    run(norm, Spare{});
  }
  if (call.span == nullptr) {
    fold_and_convolve(call, scratch, call.y_scale, call.conv.range, run);
    return;
  }
  run(TrialScale{call.conv.conv.y_shape.channels, call.x_scale, call.w_scales, call.norm.norm,
                 scratch.trial},
      Spare{});
  fold_and_convolve(call, scratch, scratch.trial, scratch.seen, run);
  run(MeasureScale{scratch.seen, scratch.trial, call.span, call.power_of_two, call.conv.range,
                   call.y_scale},
      Spare{});
  fold_and_convolve(call, scratch, call.y_scale, nullptr, run);
}

}  // namespace qsim::golden::train
