// A fully connected layer as dot products along the weights' own rows: at batch 1 each weight is
// used once, so that packing would only move bytes. Four rows of weights pass at a time, over up
// to four pictures.
#include <algorithm>

#include "golden/graph/cpu/optimised_layers.h"
#include "golden/graph/cpu/packed_weights.h"

namespace qsim::golden {
namespace {

class FullyConnectedExecutor : public LayerExecutor {
 public:
  FullyConnectedExecutor(const FullyConnected& fc, const Value& input, const Value& output,
                         const VectorKernels& kernels)
      : fc_(fc),
        input_(input),
        output_(output),
        kernels_(kernels),
        weights_(weight_parts(fc.weights)) {}

  void run(Operands inputs, Tensor& output) const override {
    const Tensor& input = *inputs[0];
    const UnsignedActivations activations(input, input_);
    const std::int64_t depth = input_.shape.channels;
    const std::int64_t channels = output_.shape.channels;
    for (std::int64_t co = 0; co < channels; co += kDotRows) {
      for (std::int64_t n = 0; n < input_.shape.batch; n += kDotRows) {
        const int count =
            static_cast<int>(std::min<std::int64_t>(kDotRows, input_.shape.batch - n));
        std::int32_t products[kDotRows * kDotRows] = {};
        for (std::size_t part = 0; part < weights_.parts; ++part) {
          add_products(activations.data() + n * depth, count, co, part, products);
        }
        finish(products, n, count, co, output);
      }
    }
  }

 private:
  // Adds the products of kDotRows channels from `co` on. Rows beyond the last channel repeat it;
  // their products are dropped.
  void add_products(const std::uint8_t* x, int count, std::int64_t co, std::size_t part,
                    std::int32_t* products) const {
    const std::int64_t channels = output_.shape.channels;
    const std::int8_t* rows[kDotRows];
    for (int j = 0; j < kDotRows; ++j) {
      const auto row = static_cast<std::size_t>(std::min(co + j, channels - 1));
      rows[j] = weights_.rows + (row * weights_.parts + part) * weights_.depth;
    }
    std::int32_t found[kDotRows * kDotRows];
    kernels_.dot_rows(x, count, unsigned_zero_point(input_), rows, weights_.depth, found);
    for (int i = 0; i < count * kDotRows; ++i) products[i] = wrapping_add(products[i], found[i]);
  }

  void finish(const std::int32_t* products, std::int64_t n, int count, std::int64_t co,
              Tensor& output) const {
    const Requantization& rq = fc_.requantization;
    const std::int32_t* bias = fc_.bias.as<std::int32_t>().data();
    const std::int64_t channels = output_.shape.channels;
    auto* out = reinterpret_cast<std::uint8_t*>(output.bytes.data());
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < kDotRows && co + j < channels; ++j) {
        out[(n + i) * channels + co + j] = static_cast<std::uint8_t>(
            rq.level(products[i * kDotRows + j], bias[co + j], co + j, output_.zero_point));
      }
    }
  }

  const FullyConnected& fc_;
  const Value& input_;
  const Value& output_;
  const VectorKernels& kernels_;
  WeightParts weights_;
};

}  // namespace

MadeLayer make_layer(const FullyConnected& fc, const LayerContext& layer) {
  return std::make_unique<FullyConnectedExecutor>(fc, layer.input, layer.output, layer.kernels);
}

}  // namespace qsim::golden
