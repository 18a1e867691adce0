#include "quantize/hosted/product_weights.h"

#include <cstring>
#include <numeric>
#include <utility>

#include "quantize/hosted/host_edit.h"

namespace qsim::quantize {
namespace {

std::int64_t product_of(Shape::const_iterator first, Shape::const_iterator last) {
  return element_count(Shape(first, last));
}

std::int64_t rank_of(const HostNetwork& network, HostValueId id) {
  return std::ssize(network.values[id].array.tensor.shape);
}

// A bias of one number a channel, or one for all; nothing for another.
std::optional<std::vector<float>> bias_of(const HostNetwork& network, const HostNode& node,
                                          std::size_t index, std::int64_t channels) {
  const HostValueId id = input_of(node, index);
  if (id == kAbsentValue) return std::vector<float>(static_cast<std::size_t>(channels), 0.0F);
  const Tensor* const found = real_constant(network, id);
  if (found == nullptr) return std::nullopt;
  const bool is_row = !found->shape.empty() && found->shape.back() == found->elems();
  if (found->elems() == channels && is_row) {
    const auto values = found->as<float>();
    return std::vector<float>(values.begin(), values.end());
  }
  if (found->elems() != 1 || is_onnx(node, "Conv")) return std::nullopt;
  return std::vector<float>(static_cast<std::size_t>(channels), found->as<float>()[0]);
}

std::optional<ProductWeights> convolution(const HostNode& node, const Shape& shape) {
  if (shape.size() < 3) return std::nullopt;
  ProductWeights product;
  product.out_axis = 1;
  if (node.op == "Conv") {
    product.layout = {.channels = shape[0], .rest = product_of(shape.begin() + 1, shape.end())};
    product.axis = 0;
    return product;
  }
  const std::int64_t groups = integer_of(node, "group", 1);
  if (groups < 1 || shape[0] % groups != 0) return std::nullopt;
  product.layout = {.is_turned = true,
                    .groups = groups,
                    .depth = shape[0] / groups,
                    .channels = shape[1],
                    .rest = product_of(shape.begin() + 2, shape.end())};
  if (groups == 1) product.axis = 1;
  return product;
}

std::optional<ProductWeights> gemm(const HostNode& node, const Shape& shape) {
  const bool has_factors = real_of(node, "alpha", 1) != 1 || real_of(node, "beta", 1) != 1;
  if (shape.size() != 2 || has_factors) return std::nullopt;
  ProductWeights product;
  product.out_axis = 1;
  if (integer_of(node, "transB", 0) != 0) {
    product.layout = {.channels = shape[0], .rest = shape[1]};
    product.axis = 0;
  } else {
    product.layout = {.is_turned = true, .depth = shape[0], .channels = shape[1]};
    product.axis = 1;
  }
  return product;
}

std::optional<ProductWeights> matmul(const HostNetwork& network, const HostNode& node,
                                     std::size_t weights, const Shape& shape) {
  if (shape.empty()) return std::nullopt;
  ProductWeights product;
  product.input = weights;
  if (weights == 0) {
    product.layout = {.channels = product_of(shape.begin(), shape.end() - 1), .rest = shape.back()};
    return product;
  }
  if (shape.size() == 1) {
    product.layout = {.is_turned = true, .depth = shape[0]};
    return product;
  }
  product.layout = {.is_turned = true,
                    .groups = product_of(shape.begin(), shape.end() - 2),
                    .depth = shape[shape.size() - 2],
                    .channels = shape.back()};
  if (shape.size() == 2) {
    product.axis = 1;
    product.out_axis = rank_of(network, node.outputs[0]) - 1;
  }
  return product;
}

// Copies each block of `rest` elements; `turns` from the node's layout to rows, else back.
Tensor turned(const Tensor& from, const WeightLayout& layout, Shape shape, bool turns) {
  Tensor to(from.dtype, std::move(shape));
  const std::size_t block = static_cast<std::size_t>(layout.rest) * dtype_bytes(from.dtype);
  const auto depth = static_cast<std::size_t>(layout.depth);
  const auto channels = static_cast<std::size_t>(layout.channels);
  for (std::size_t g = 0; g < static_cast<std::size_t>(layout.groups); ++g) {
    for (std::size_t d = 0; d < depth; ++d) {
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t own = ((g * depth + d) * channels + c) * block;
        const std::size_t row = ((g * channels + c) * depth + d) * block;
        std::memcpy(&to.bytes[turns ? row : own], &from.bytes[turns ? own : row], block);
      }
    }
  }
  return to;
}

}  // namespace

std::optional<ProductWeights> product_weights(const HostNetwork& network, const HostNode& node) {
  if (!node.domain.empty() || node.outputs.empty() || !is_real_tensor(network, node.outputs[0])) {
    return std::nullopt;
  }
  const bool is_matmul = node.op == "MatMul";
  const Tensor* const left = real_constant(network, input_of(node, 0));
  const std::size_t index = is_matmul && left != nullptr ? 0 : 1;
  const Tensor* const weights = real_constant(network, input_of(node, index));
  if (weights == nullptr || weights->elems() == 0) return std::nullopt;
  if (!is_real_tensor(network, input_of(node, 1 - index))) return std::nullopt;
  std::optional<ProductWeights> product;
  if (node.op == "Conv" || node.op == "ConvTranspose") product = convolution(node, weights->shape);
  if (node.op == "Gemm") product = gemm(node, weights->shape);
  if (is_matmul) product = matmul(network, node, index, weights->shape);
  if (!product) return std::nullopt;
  const std::optional<std::vector<float>> bias =
      bias_of(network, node, 2, product->layout.out_channels());
  if (!bias) return std::nullopt;
  product->bias = *bias;
  return product;
}

Tensor rows_of_channels(const Tensor& weights, const WeightLayout& layout) {
  const Shape shape = {layout.out_channels(), layout.depth * layout.rest};
  if (layout.is_turned) return turned(weights, layout, shape, true);
  Tensor rows = weights;
  rows.shape = shape;
  return rows;
}

Tensor from_rows(const Tensor& rows, const WeightLayout& layout, const Shape& shape) {
  if (layout.is_turned) return turned(rows, layout, shape, false);
  Tensor weights = rows;
  weights.shape = shape;
  return weights;
}

}  // namespace qsim::quantize
