// A fully connected layer as dot products along the weights' own rows: at batch 1 each weight is
// used once, so that packing would only move bytes. Four rows of weights pass at a time, over up
// to four pictures.
#include <algorithm>

#include "golden/cpu/optimised_layers.h"

namespace qsim::golden {
namespace {

class FullyConnectedExecutor : public LayerExecutor {
 public:
  FullyConnectedExecutor(const FullyConnected& fc, const Value& input, const Value& output,
                         const VectorKernels& kernels)
      : fc_(fc), input_(input), output_(output), kernels_(kernels) {}

  void run(Operands inputs, Tensor& output) const override {
    const Tensor& input = *inputs[0];
    const UnsignedActivations activations(input, input_);
    const std::int64_t depth = input_.shape.channels;
    const std::int64_t channels = output_.shape.channels;
    const std::int8_t* weights = fc_.weights.as<std::int8_t>().data();
    for (std::int64_t co = 0; co < channels; co += kDotRows) {
      // Rows beyond the last channel repeat it; their products are dropped.
      const std::int8_t* rows[kDotRows];
      for (int j = 0; j < kDotRows; ++j) rows[j] = weights + std::min(co + j, channels - 1) * depth;
      for (std::int64_t n = 0; n < input_.shape.batch; n += kDotRows) {
        const int count =
            static_cast<int>(std::min<std::int64_t>(kDotRows, input_.shape.batch - n));
        std::int32_t products[kDotRows * kDotRows];
        kernels_.dot_rows(activations.data() + n * depth, count, unsigned_zero_point(input_), rows,
                          static_cast<std::size_t>(depth), products);
        finish(products, n, count, co, output);
      }
    }
  }

 private:
  void finish(const std::int32_t* products, std::int64_t n, int count, std::int64_t co,
              Tensor& output) const {
    const Requantization& rq = fc_.requantization;
    const std::int32_t* bias = fc_.bias.as<std::int32_t>().data();
    const std::int64_t channels = output_.shape.channels;
    auto* out = reinterpret_cast<std::uint8_t*>(output.bytes.data());
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < kDotRows && co + j < channels; ++j) {
        out[(n + i) * channels + co + j] = static_cast<std::uint8_t>(
            requantize(products[i * kDotRows + j], bias[co + j], rq.shift(co + j), rq.rounding,
                       output_.zero_point, rq.lo, rq.hi));
      }
    }
  }

  const FullyConnected& fc_;
  const Value& input_;
  const Value& output_;
  const VectorKernels& kernels_;
};

}  // namespace

std::unique_ptr<LayerExecutor> make_fully_connected(const FullyConnected& fc, const Value& input,
                                                    const Value& output,
                                                    const VectorKernels& kernels) {
  return std::make_unique<FullyConnectedExecutor>(fc, input, output, kernels);
}

}  // namespace qsim::golden
