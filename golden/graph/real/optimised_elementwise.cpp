// Additions and activations: loops over neighbours, which the compiler makes vectors of.
#include <algorithm>
#include <span>
#include <vector>

#include "core/network/float_rules.h"
#include "golden/graph/real/real_arithmetic.h"
#include "golden/graph/real/real_layer.h"

namespace qsim::golden {
namespace {

using Kind = Activation::Kind;

class AddRunner : public RealLayerRunner {
 public:
  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    const float* a = operands[0]->as<float>().data();
    const float* b = operands[1]->as<float>().data();
    float* y = output.as<float>().data();
    divide(team, output.elems(), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) y[i] = canonical_nan(a[i] + b[i]);
    });
  }
};

// y[i] = function(x[i]); x may be y.
template <typename Function>
void map(const float* x, float* y, std::int64_t first, std::int64_t last, Function function) {
  for (std::int64_t i = first; i < last; ++i) y[i] = canonical_nan(function(x[i]));
}

// std::clamp(v, 0, 1), which the compiler makes vectors of.
float unit(float v) {
  const float above = v < 0.0F ? 0.0F : v;
  return 1.0F < above ? 1.0F : above;
}

class ActivationRunner : public RealLayerRunner {
 public:
  explicit ActivationRunner(const Activation& activation) : activation_(activation) {}

  bool in_place() const override { return true; }

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    const float* x = operands[0]->as<float>().data();
    float* y = output.as<float>().data();
    divide(team, output.elems(), 1,
           [&](std::int64_t first, std::int64_t last) { apply(x, y, first, last); });
  }

 private:
  // The formulas of core/network/float_rules.h without its calls.
  void apply(const float* x, float* y, std::int64_t first, std::int64_t last) const {
    const float alpha = activation_.alpha;
    const float lo = activation_.lo;
    const float hi = activation_.hi;
    switch (activation_.kind) {
      case Kind::kRelu:
        return map(x, y, first, last, [](float v) { return v < 0.0F ? 0.0F : v; });
      case Kind::kClip:
        return map(x, y, first, last, [=](float v) {
          const float above = v < lo ? lo : v;
          return hi < above ? hi : above;
        });
      case Kind::kLeakyRelu:
        return map(x, y, first, last, [=](float v) { return v >= 0.0F ? v : alpha * v; });
      case Kind::kHardSigmoid:
        return map(x, y, first, last,
                   [=, this](float v) { return unit(alpha * v + activation_.beta); });
      case Kind::kHardSwish:
        return map(x, y, first, last, [](float v) { return v * unit(v * (1.0F / 6.0F) + 0.5F); });
      case Kind::kSigmoid:
        return map(x, y, first, last, [this](float v) { return activated(activation_, v); });
    }
  }

  const Activation& activation_;
};

class PReluRunner : public RealLayerRunner {
 public:
  explicit PReluRunner(const PRelu& prelu) : slopes_(prelu.slopes.as<float>()) {}

  bool in_place() const override { return true; }

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    const float* x = operands[0]->as<float>().data();
    float* y = output.as<float>().data();
    const std::int64_t channels = output.shape[3];
    const std::vector<float> repeated(slopes_.size() == 1 ? size(channels) : 0, slopes_[0]);
    const float* slopes = repeated.empty() ? slopes_.data() : repeated.data();
    divide(team, output.elems() / channels, channels, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first * channels; i < last * channels; i += channels) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const float v = x[i + c];
          y[i + c] = canonical_nan(v >= 0.0F ? v : slopes[c] * v);
        }
      }
    });
  }

 private:
  std::span<const float> slopes_;
};

}  // namespace

RealRunner make_runner(const Add&, const ProductKernels&) { return std::make_unique<AddRunner>(); }

RealRunner make_runner(const Activation& activation, const ProductKernels&) {
  return std::make_unique<ActivationRunner>(activation);
}

RealRunner make_runner(const PRelu& prelu, const ProductKernels&) {
  return std::make_unique<PReluRunner>(prelu);
}

}  // namespace qsim::golden
