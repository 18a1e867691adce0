// Layers that only move numbers.
#include <algorithm>

#include "golden/graph/real/real_arithmetic.h"
#include "golden/graph/real/real_layer.h"

namespace qsim::golden {
namespace {

class ConcatRunner : public RealLayerRunner {
 public:
  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    const ImageShape out = image_shape(output);
    const std::int64_t pixels = out.batch * out.height * out.width;
    divide(team, pixels, out.channels, [&](std::int64_t first, std::int64_t last) {
      float* to = output.as<float>().data() + first * out.channels;
      for (std::int64_t pixel = first; pixel < last; ++pixel) {
        for (const Tensor* operand : operands) {
          const std::int64_t channels = operand->shape[3];
          to = std::copy_n(operand->as<float>().data() + pixel * channels, channels, to);
        }
      }
    });
  }
};

class FlattenRunner : public RealLayerRunner {
 public:
  explicit FlattenRunner(const Flatten& flatten) : flatten_(flatten) {}

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    const ImageShape in = image_shape(*operands[0]);
    const std::int64_t pixels = in.height * in.width;
    const std::int64_t elems = pixels * in.channels;
    const float* from = operands[0]->as<float>().data();
    float* to = output.as<float>().data();
    const bool moves = flatten_.order == Flatten::Order::kChw && pixels > 1 && in.channels > 1;
    divide(team, in.batch, elems, [&](std::int64_t first, std::int64_t last) {
      if (!moves) {
        std::copy(from + first * elems, from + last * elems, to + first * elems);
        return;
      }
      for (std::int64_t n = first; n < last; ++n) {
        turn(from + n * elems, to + n * elems, pixels, in.channels);
      }
    });
  }

 private:
  // [pixels][channels] to [channels][pixels].
  static void turn(const float* from, float* to, std::int64_t pixels, std::int64_t channels) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t p = 0; p < pixels; ++p) *to++ = from[p * channels + c];
    }
  }

  const Flatten& flatten_;
};

}  // namespace

RealRunner make_runner(const Concat&, const ProductKernels&) {
  return std::make_unique<ConcatRunner>();
}

RealRunner make_runner(const Flatten& flatten, const ProductKernels&) {
  return std::make_unique<FlattenRunner>(flatten);
}

}  // namespace qsim::golden
