// The calls of include/qsim/training.h as plain data: what golden/kernels/train computes on the CPU
// and golden/kernels/train/cuda on a GPU. The C interface checks tensors and fills these in; the
// header there says what each call computes, docs/reference/training.md derives it.
#pragma once

#include <array>
#include <cstdint>

#include "core/network/graph.h"

namespace qsim::golden::train {

enum class RealType : std::uint8_t { kFloat32, kFloat16, kBfloat16 };

// Real numbers [B][H][W][C] at any strides (in elements); of other ranks the C interface gives
// leading axes of one place, and joins axes that follow each other without gaps.
struct RealTensor {
  void* data = nullptr;
  RealType type = RealType::kFloat32;
  std::array<std::int64_t, 4> shape = {0, 0, 0, 0};
  std::array<std::int64_t, 4> strides = {0, 0, 0, 0};

  std::int64_t elems() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
  bool is_dense() const {
    return strides[3] == 1 && strides[2] == shape[3] && strides[1] == shape[2] * strides[2] &&
           strides[0] == shape[1] * strides[1];
  }
};

enum class LevelRounding : std::uint8_t { kHalfEven, kTowardZero };
enum class ScaleKind : std::uint8_t { kGiven, kMax, kPowerOfTwo, kAffine };
enum class Observer : std::uint8_t { kLast, kAll, kAverage };

struct Levels {
  std::int32_t lo = -127;
  std::int32_t hi = 127;
  LevelRounding rounding = LevelRounding::kHalfEven;
  ScaleKind scale_kind = ScaleKind::kMax;
};

// Pointers below are of the device that computes. Those that may be null say so.

struct Observe {
  RealTensor x;  // data null: nothing is seen
  Observer observer = Observer::kLast;
  float momentum = 0;
  Levels levels;
  float* state = nullptr;              // [3]
  float* scale = nullptr;              // [1]
  std::int32_t* zero_point = nullptr;  // [1], or null
  float* scale_copy = nullptr;         // [1], or null: written with scale
  std::int32_t* zero_point_copy = nullptr;
};

// What a layer's backward pass needs of the scale of its forward pass, which the next one changes.
struct CopyScale {
  const float* scale = nullptr;
  const std::int32_t* zero_point = nullptr;  // or null
  float* scale_copy = nullptr;
  std::int32_t* zero_point_copy = nullptr;
};

struct QuantizeLevels {
  RealTensor x;
  Levels levels;
  const float* scale = nullptr;
  const std::int32_t* zero_point = nullptr;  // or null: 0
  std::int8_t* q = nullptr;
  std::uint8_t* passes = nullptr;   // or null
  std::int8_t* residual = nullptr;  // or null
};

struct QuantizeWeights {
  RealTensor w;  // a scale for each place of the first axis
  Levels levels;
  float* scales = nullptr;
  std::int8_t* q = nullptr;
  std::uint8_t* passes = nullptr;   // or null
  std::int8_t* residual = nullptr;  // or null
};

// acc[b][oh][ow][o]. Where a call says so, q or w is null, and its shape alone counts.
struct LevelConv {
  const std::int8_t* q = nullptr;            // [x_shape]
  const std::int32_t* zero_point = nullptr;  // [1], or null: 0
  const std::int8_t* w = nullptr;            // [out][kernel_h][kernel_w][channels / groups]
  ImageShape x_shape;
  ImageShape y_shape;  // channels: out
  Window window;       // kernel_h and kernel_w too
  std::int64_t groups = 1;

  std::int64_t in_channels() const { return x_shape.channels / groups; }   // of a group
  std::int64_t out_channels() const { return y_shape.channels / groups; }  // of a group
  std::int64_t pixels() const { return y_shape.batch * y_shape.height * y_shape.width; }
  // Products of an output.
  std::int64_t depth() const { return window.kernel_h * window.kernel_w * in_channels(); }
};

struct ConvReal {
  LevelConv conv;
  const float* scale = nullptr;     // [1]
  const float* w_scales = nullptr;  // [out]
  const float* bias = nullptr;      // [out], or null
  bool relu = false;
  RealTensor y;
  std::uint8_t* passes = nullptr;  // bits of y, or null
};

struct ConvLevels {
  LevelConv conv;
  const float* multipliers = nullptr;          // [out]
  const std::int32_t* bias = nullptr;          // [out], or null
  const std::int32_t* y_zero_point = nullptr;  // [1], or null: 0
  std::int32_t lo = -128;
  std::int32_t hi = 127;
  bool relu = false;
  std::int8_t* y = nullptr;
  std::uint8_t* passes = nullptr;  // bits of y, or null
  float* range = nullptr;          // [2], or null
};

struct ConvStatistics {
  LevelConv conv;
  std::int64_t* sums = nullptr;  // [out][3]
};

struct ConvGradientSums {
  LevelConv conv;
  const std::uint16_t* g = nullptr;  // bfloat16 [y_shape]
  float* sums = nullptr;             // [out][2]
};

struct ConvNormalizeGradient {
  LevelConv conv;
  const float* factors = nullptr;  // [out][3]
  std::uint16_t* g = nullptr;      // bfloat16 [y_shape]
};

struct MaxPool {
  const std::int8_t* q = nullptr;
  ImageShape x_shape;
  ImageShape y_shape;
  Window window;
  std::int8_t* y = nullptr;
};

struct MaxPoolGradient {
  const std::int8_t* q = nullptr;
  ImageShape x_shape;
  ImageShape y_shape;
  Window window;
  RealTensor dy;
  const std::uint8_t* passes = nullptr;  // bits of q, or null
  RealTensor dx;
};

struct GradientOperand {
  RealTensor dy;
  const std::uint8_t* passes = nullptr;  // or null
  std::uint16_t* g = nullptr;            // bfloat16
  float* bias_gradient = nullptr;        // [last axis], or null
};

struct ConvInputGradient {
  LevelConv conv;  // q null
  const float* w_scales = nullptr;
  const std::uint16_t* g = nullptr;
  const std::uint8_t* passes = nullptr;  // bits of x, or null
  RealTensor dx;
};

struct ConvWeightGradient {
  LevelConv conv;  // w null
  const float* scale = nullptr;
  const std::uint16_t* g = nullptr;
  const std::uint8_t* passes = nullptr;  // bits of w, or null
  RealTensor dw;                         // [out][kernel_h][kernel_w][channels / groups], float32
};

struct StepGradient {
  const float* dq = nullptr;
  const std::int8_t* q = nullptr;
  const std::int32_t* zero_point = nullptr;  // or null
  const std::uint8_t* passes = nullptr;
  const std::int8_t* residual = nullptr;
  std::int64_t channels = 1;  // step sizes, of the first axis
  std::int64_t elems = 0;     // in all
  float* dx = nullptr;        // may be dq
  float* step_gradient = nullptr;
};

}  // namespace qsim::golden::train
