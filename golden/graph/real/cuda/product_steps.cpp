// Convolutions and linear layers on the device: the weights in the order of the kernel that takes
// them.
#include <limits>
#include <vector>

#include "golden/common/sizes.h"
#include "golden/device/device_buffer.h"
#include "golden/graph/real/cuda/device_rule.h"
#include "golden/graph/real/cuda/kernels/real_kernels.h"
#include "golden/graph/real/cuda/real_step.h"
#include "golden/graph/real/integer_layer.h"

namespace qsim::golden::cuda {
namespace {

// A tile has kTileOutputs channels of one group; from so many on it is faster than a thread an
// output.
constexpr std::int64_t kLeastTileOutputs = 8;

std::vector<ProductTap> taps_of(const WeightedLayer& layer, const ImageShape& in) {
  const Window& w = layer.window;
  std::vector<ProductTap> taps;
  for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t row = ky * w.dilation_h;
      const std::int64_t col = kx * w.dilation_w;
      for (std::int64_t ci = 0; ci < layer.channels(); ++ci) {
        taps.push_back({(row * in.width + col) * in.channels + ci, static_cast<std::int32_t>(row),
                        static_cast<std::int32_t>(col)});
      }
    }
  }
  return taps;
}

// [Cout][depth] to [groups][depth][outputs of a group, padded].
std::vector<float> tile_order(const std::vector<float>& weights, const WeightedLayer& layer) {
  const std::int64_t outputs = layer.outputs() / layer.groups;
  const std::int64_t padded = (outputs + kTileOutputs - 1) / kTileOutputs * kTileOutputs;
  std::vector<float> ordered(size(layer.groups * layer.depth() * padded), 0.0F);
  for (std::int64_t co = 0; co < layer.outputs(); ++co) {
    for (std::int64_t k = 0; k < layer.depth(); ++k) {
      ordered[size((co / outputs * layer.depth() + k) * padded + co % outputs)] =
          weights[size(co * layer.depth() + k)];
    }
  }
  return ordered;
}

// [Cout][depth] to [depth][Cout].
template <typename T>
std::vector<T> direct_order(const std::vector<T>& weights, const WeightedLayer& layer) {
  std::vector<T> ordered(weights.size());
  for (std::int64_t co = 0; co < layer.outputs(); ++co) {
    for (std::int64_t k = 0; k < layer.depth(); ++k) {
      ordered[size(k * layer.outputs() + co)] = weights[size(co * layer.depth() + k)];
    }
  }
  return ordered;
}

std::vector<float> floats_of(const Tensor& tensor) {
  const std::span<const float> values = tensor.as<float>();
  return {values.begin(), values.end()};
}

// What the products of a layer without integer input are multiplied with.
std::vector<float> factors_of(const WeightedLayer& layer, const RealLayerWeights* integers) {
  if (integers == nullptr) return floats_of(*layer.weights);
  std::vector<float> factors(size(layer.weights->elems()));
  std::visit(
      [&](const auto& weights) {
        for (std::size_t i = 0; i < factors.size(); ++i) {
          const auto index = static_cast<std::int64_t>(i);
          factors[i] = weight_factor(weights, index, index / layer.depth());
        }
      },
      integers->weights);
  return factors;
}

std::int32_t integer_factor(const IntegerWeights& weights, std::int64_t index,
                            std::int64_t channel) {
  return static_cast<std::int32_t>(integer_weight(weights, index, channel));
}
std::int32_t integer_factor(const Log2Weights& weights, std::int64_t index, std::int64_t) {
  const int sign = weights.signs.as<std::int8_t>()[size(index)];
  if (sign == 0) return 0;
  const std::int32_t power = 1 << (weights.exponents.as<std::int8_t>()[size(index)] - weights.lo);
  return sign < 0 ? -power : power;
}

std::vector<std::int32_t> integer_factors_of(const WeightedLayer& layer,
                                             const RealLayerWeights& integers) {
  std::vector<std::int32_t> factors(size(layer.weights->elems()));
  std::visit(
      [&](const auto& weights) {
        for (std::size_t i = 0; i < factors.size(); ++i) {
          const auto index = static_cast<std::int64_t>(i);
          factors[i] = integer_factor(weights, index, index / layer.depth());
        }
      },
      integers.weights);
  return factors;
}

// One a channel. Of a layer with an integer input the scale of its integer sums.
std::vector<float> scales_of(const WeightedLayer& layer, const RealLayerWeights& integers) {
  std::vector<float> scales;
  std::visit(
      [&](const auto& weights) {
        for (std::int64_t co = 0; co < layer.outputs(); ++co) {
          scales.push_back(integers.input ? integer_scale(weights, co)
                                          : of_channel(weights.scales, co));
        }
      },
      integers.weights);
  return scales;
}

// What the kernels of a layer have in common.
class ProductStep : public RealStep {
 protected:
  ProductStep(const Graph& graph, const Layer& layer, const RealLayerWeights* integers)
      : layer_(weighted_layer(layer)),
        taps_(upload(taps_of(layer_, graph.tensors[layer.inputs[0]].shape))),
        bias_(upload(floats_of(*layer_.bias))) {
    if (integers != nullptr) scales_ = upload(scales_of(layer_, *integers));
    products_.in = graph.tensors[layer.inputs[0]].shape;
    products_.out = graph.tensors[layer.output].shape;
    products_.window = layer_.window;
    products_.depth = layer_.depth();
    products_.channels = layer_.channels();
    products_.outputs = layer_.outputs() / layer_.groups;
    products_.taps = taps_.as<ProductTap>();
    products_.bias = bias_.as<float>();
    products_.scales = scales_.as<float>();
  }

  const WeightedLayer& layer() const { return layer_; }
  Products products(const float* input, float* output, std::int64_t pictures) const {
    Products products = products_;
    products.input = input;
    products.output = output;
    products.in.batch = products.out.batch = pictures;
    return products;
  }

 private:
  WeightedLayer layer_;
  Products products_;
  DeviceBuffer taps_;
  DeviceBuffer bias_;
  DeviceBuffer scales_;
};

class FloatStep final : public ProductStep {
 public:
  FloatStep(const Graph& graph, const Layer& layer, const RealLayerWeights* integers)
      : ProductStep(graph, layer, integers),
        is_tiled_(this->layer().outputs() / this->layer().groups >= kLeastTileOutputs) {
    const std::vector<float> factors = factors_of(this->layer(), integers);
    weights_ = upload(is_tiled_ ? tile_order(factors, this->layer())
                                : direct_order(factors, this->layer()));
  }

  std::string kernel() const override { return is_tiled_ ? "tile_products" : "direct_products"; }

  void launch(std::span<const float* const> operands, float* output, std::int64_t pictures,
              cudaStream_t stream) const override {
    Products all = products(operands[0], output, pictures);
    all.weights = weights_.as<float>();
    is_tiled_ ? launch_tile_products(all, stream) : launch_direct_products(all, stream);
  }

 private:
  bool is_tiled_;
  DeviceBuffer weights_;
};

class IntegerStep final : public ProductStep {
 public:
  IntegerStep(const Graph& graph, const Layer& layer, const RealLayerWeights& integers)
      : ProductStep(graph, layer, &integers),
        rule_(*integers.input),
        factors_(upload(direct_order(integer_factors_of(this->layer(), integers), this->layer()))) {
    ImageShape one = graph.tensors[layer.inputs[0]].shape;
    one.batch = 1;
    elems_ = element_count(one.nhwc());
  }

  std::string kernel() const override { return "integer_products"; }

  void reserve(std::int64_t pictures) override {
    rule_.reserve(pictures);
    levels_ = poisoned(size(pictures * elems_) * sizeof(float));
  }

  void launch(std::span<const float* const> operands, float* output, std::int64_t pictures,
              cudaStream_t stream) const override {
    rule_.find(operands[0], pictures, elems_, stream);
    launch_levels(operands[0], levels_.as<float>(), pictures * elems_, rule_.rules(),
                  rule_.values_per_rule(pictures, elems_), stream);
    launch_integer_products({products(levels_.as<float>(), output, pictures),
                             factors_.as<std::int32_t>(), rule_.rules(), rule_.is_per_picture()},
                            stream);
  }

 private:
  DeviceLevels rule_;
  DeviceBuffer factors_;
  DeviceBuffer levels_;
  std::int64_t elems_ = 0;
};

}  // namespace

std::unique_ptr<RealStep> make_product_step(const Graph& graph, const Layer& layer,
                                            const RealLayerWeights* integers) {
  if (integers != nullptr && integers->input) {
    return std::make_unique<IntegerStep>(graph, layer, *integers);
  }
  return std::make_unique<FloatStep>(graph, layer, integers);
}

}  // namespace qsim::golden::cuda
