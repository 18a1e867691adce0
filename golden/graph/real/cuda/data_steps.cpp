// Layers without weights on the device.
#include <algorithm>
#include <vector>

#include "core/network/float_rules.h"
#include "core/network/layer_arithmetic.h"
#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/graph/real/cuda/kernels/real_kernels.h"
#include "golden/graph/real/cuda/real_step.h"

namespace qsim::golden::cuda {
namespace {

using Operands = std::span<const float* const>;

ImageShape with_batch(ImageShape shape, std::int64_t batch) {
  shape.batch = batch;
  return shape;
}

std::int64_t elems(const ImageShape& shape) { return element_count(shape.nhwc()); }

class MaxPoolStep final : public RealStep {
 public:
  MaxPoolStep(const Window& window, const ImageShape& in, const ImageShape& out)
      : pool_{nullptr, nullptr, in, out, window, nullptr} {}

  std::string kernel() const override { return "max_pool"; }
  void launch(Operands operands, float* output, std::int64_t pictures,
              cudaStream_t stream) const override {
    launch_max_pool({operands[0], output, with_batch(pool_.in, pictures),
                     with_batch(pool_.out, pictures), pool_.window, nullptr},
                    stream);
  }

 private:
  Pool pool_;
};

// What the sum of each output position is divided by.
std::vector<float> counts_of(const AveragePool& pool, const ImageShape& in, const ImageShape& out) {
  std::vector<float> counts;
  for (std::int64_t oy = 0; oy < out.height; ++oy) {
    for (std::int64_t ox = 0; ox < out.width; ++ox) {
      counts.push_back(static_cast<float>(average_count(pool, in, oy, ox)));
    }
  }
  return counts;
}

class AveragePoolStep final : public RealStep {
 public:
  AveragePoolStep(const AveragePool& pool, const ImageShape& in, const ImageShape& out)
      : counts_(upload(counts_of(pool, in, out))), pool_{nullptr,     nullptr,
                                                         in,          out,
                                                         pool.window, counts_.as<float>()} {}

  std::string kernel() const override { return "average_pool"; }
  void launch(Operands operands, float* output, std::int64_t pictures,
              cudaStream_t stream) const override {
    launch_average_pool({operands[0], output, with_batch(pool_.in, pictures),
                         with_batch(pool_.out, pictures), pool_.window, pool_.counts},
                        stream);
  }

 private:
  DeviceBuffer counts_;
  Pool pool_;
};

class AddStep final : public RealStep {
 public:
  explicit AddStep(const ImageShape& out) : out_(out) {}

  std::string kernel() const override { return "add"; }
  void launch(Operands operands, float* output, std::int64_t pictures,
              cudaStream_t stream) const override {
    launch_add(operands[0], operands[1], output, elems(with_batch(out_, pictures)), stream);
  }

 private:
  ImageShape out_;
};

class ConcatStep final : public RealStep {
 public:
  ConcatStep(std::vector<std::int64_t> channels, const ImageShape& out)
      : channels_(std::move(channels)), out_(out) {}

  std::string kernel() const override { return "concat"; }
  void launch(Operands operands, float* output, std::int64_t pictures,
              cudaStream_t stream) const override {
    const std::int64_t pixels = pictures * out_.height * out_.width;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      launch_concat_part(operands[i], output, pixels, channels_[i], first, out_.channels, stream);
      first += channels_[i];
    }
  }

 private:
  std::vector<std::int64_t> channels_;
  ImageShape out_;
};

class FlattenStep final : public RealStep {
 public:
  FlattenStep(Flatten::Order order, const ImageShape& in) : order_(order), in_(in) {}

  std::string kernel() const override { return "flatten"; }
  void launch(Operands operands, float* output, std::int64_t pictures,
              cudaStream_t stream) const override {
    const ImageShape in = with_batch(in_, pictures);
    if (order_ == Flatten::Order::kChw) return launch_to_chw(operands[0], output, in, stream);
    check(cudaMemcpyAsync(output, operands[0], static_cast<std::size_t>(elems(in)) * sizeof(float),
                          cudaMemcpyDeviceToDevice, stream),
          "copying a tensor");
  }

 private:
  Flatten::Order order_;
  ImageShape in_;
};

ActivationFormula formula_of(const Activation& activation) {
  ActivationFormula formula{.kind = static_cast<int>(activation.kind),
                            .alpha = activation.alpha,
                            .beta = activation.beta,
                            .lo = activation.lo,
                            .hi = activation.hi,
                            .bound = kSigmoidBound};
  static_assert(std::size(ActivationFormula{}.odd) == kSigmoidOdd.size());
  static_assert(std::size(ActivationFormula{}.even) == kSigmoidEven.size());
  std::copy(kSigmoidOdd.begin(), kSigmoidOdd.end(), formula.odd);
  std::copy(kSigmoidEven.begin(), kSigmoidEven.end(), formula.even);
  return formula;
}

class ActivationStep final : public RealStep {
 public:
  ActivationStep(const Activation& activation, const ImageShape& out)
      : formula_(formula_of(activation)), out_(out) {}

  std::string kernel() const override { return "activation"; }
  void launch(Operands operands, float* output, std::int64_t pictures,
              cudaStream_t stream) const override {
    launch_activation(formula_, operands[0], output, elems(with_batch(out_, pictures)), stream);
  }

 private:
  ActivationFormula formula_;
  ImageShape out_;
};

class PReluStep final : public RealStep {
 public:
  PReluStep(const PRelu& prelu, const ImageShape& out)
      : slopes_(upload_bytes(prelu.slopes.bytes.data(), prelu.slopes.bytes.size())),
        count_(prelu.slopes.elems()),
        out_(out) {}

  std::string kernel() const override { return "prelu"; }
  void launch(Operands operands, float* output, std::int64_t pictures,
              cudaStream_t stream) const override {
    launch_prelu(slopes_.as<float>(), count_, operands[0], output,
                 elems(with_batch(out_, pictures)), stream);
  }

 private:
  DeviceBuffer slopes_;
  std::int64_t count_;
  ImageShape out_;
};

struct MakeStep {
  const Graph& graph;
  const Layer& layer;

  using Step = std::unique_ptr<RealStep>;
  const ImageShape& in() const { return graph.tensors[layer.inputs[0]].shape; }
  const ImageShape& out() const { return graph.tensors[layer.output].shape; }

  Step operator()(const MaxPool& pool) const {
    return std::make_unique<MaxPoolStep>(pool.window, in(), out());
  }
  Step operator()(const AveragePool& pool) const {
    return std::make_unique<AveragePoolStep>(pool, in(), out());
  }
  Step operator()(const Add&) const { return std::make_unique<AddStep>(out()); }
  Step operator()(const Concat&) const {
    std::vector<std::int64_t> channels;
    for (const TensorId id : layer.inputs) channels.push_back(graph.tensors[id].shape.channels);
    return std::make_unique<ConcatStep>(std::move(channels), out());
  }
  Step operator()(const Activation& activation) const {
    return std::make_unique<ActivationStep>(activation, out());
  }
  Step operator()(const PRelu& prelu) const { return std::make_unique<PReluStep>(prelu, out()); }
  Step operator()(const Flatten& flatten) const {
    return std::make_unique<FlattenStep>(flatten.order, in());
  }
  // make_product_step() has those with weights; integers have none here.
  template <typename Other>
  Step operator()(const Other&) const {
    static_assert(!Other::kRow.takes_reals || requires(Other other) { other.weights; });
    throw InternalError("no data step for " + std::string(Other::kRow.name));
  }
};

}  // namespace

std::unique_ptr<RealStep> make_data_step(const Graph& graph, const Layer& layer) {
  return std::visit(MakeStep{graph, layer}, layer.operation);
}

}  // namespace qsim::golden::cuda
