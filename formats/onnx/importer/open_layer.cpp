// The quantization of an operator's output: what it makes of the operator's layer.
#include <algorithm>
#include <cmath>

#include "core/base/printable.h"
#include "core/network/layer_arithmetic.h"
#include "core/numerics/adder.h"
#include "formats/onnx/importer/graph_builder.h"
#include "formats/onnx/importer/product_table.h"

namespace qsim::formats {
namespace {

using Kind = ImportedTensor::Kind;

// The clamp that Relu and Clip are after rounding to `output`: both are monotone.
std::int32_t lowest(const OpenLayer& layer, const Quantization& output) {
  return quantized(layer.low, value_of(output));
}
std::int32_t highest(const OpenLayer& layer, const Quantization& output) {
  return quantized(layer.high, value_of(output));
}

// A channel's requantizer for a layer with `product` as its x_scale * w_scale; nothing where the
// float32 scale is not positive and finite. TensorFlow Lite divides in double, and so takes the
// exact product, but for a fully connected layer with one scale: there it has float32's
// (GetQuantizedConvolutionMultipler in kernels/kernel_util.cc).
std::optional<Requantizer> requantizer_of_product(double product, const OpenLayer& layer,
                                                  float y_scale, RequantizerRounding rounding) {
  if (!is_tflite(rounding)) return product_requantizer(product, y_scale, rounding);
  const auto nearest = static_cast<float>(product);
  if (!Scale::of(nearest / y_scale)) return std::nullopt;
  const bool in_float =
      std::holds_alternative<FullyConnected>(layer.operation) && layer.products.size() == 1;
  const double exact = in_float ? static_cast<double>(nearest) : product;
  return tflite_requantizer(exact / static_cast<double>(y_scale), rounding);
}

Requantization requantization(const NodeReader& node, const OpenLayer& layer,
                              const Quantization& output, RequantizerRounding rounding) {
  Requantization result{
      RoundingMode::kHalfEven, {}, lowest(layer, output), highest(layer, output), {}};
  for (const double product : layer.products) {
    const auto requantizer = requantizer_of_product(product, layer, output.scale.real(), rounding);
    if (!requantizer) {
      node.refuse("output channel " + std::to_string(result.requantizers.size()) +
                      " needs the scale " + float_text(static_cast<float>(product)) + " / " +
                      float_text(output.scale.real()),
                  "positive float32 numbers");
    }
    result.requantizers.push_back(*requantizer);
  }
  return result;
}

// The name in the file of the tensor that a layer of this node reads.
std::string name_of_input(const NodeReader& node, const GraphBuilder& graph,
                          const ImportedTensor& tensor) {
  for (int index = 0; index < node.inputs(); ++index) {
    const ImportedTensor* found = graph.find(node, index);
    if (found != nullptr && found->id == tensor.id) return node.input(index);
  }
  return "";
}

// What core/numerics/adder.h adds.
void require_ratios(const NodeReader& node, const GraphBuilder& graph, const OpenLayer& layer,
                    const Quantization& output) {
  for (const ImportedTensor& input : layer.inputs) {
    const Scale scale = graph.quantization(input).scale;
    if (adder_ratio(scale, output.scale)) continue;
    node.refuse("operand '" + echoed(name_of_input(node, graph, input)) + "' has scale " +
                    float_text(scale.real()) + ", " +
                    float_text(scale.real() / output.scale.real()) + " times the output's " +
                    float_text(output.scale.real()),
                "2^" + std::to_string(kLeastLog2Ratio) + " times or more, and less than 2^" +
                    std::to_string(kMostLog2Ratio) + " times");
  }
}

}  // namespace

ImportedTensor GraphBuilder::apply(const ImportedTensor& reals,
                                   const RealFunction& function) const {
  ImportedTensor result = reals;
  const ByteFunction values =
      reals.function ? *reals.function : dequantized_bytes(value_of(quantization(reals)));
  result.kind = Kind::kReals;
  result.function = std::make_shared<const ByteFunction>(mapped(values, function));
  return result;
}

ImportedTensor GraphBuilder::quantized_levels(const NodeReader& node, const std::string& name,
                                              const std::string& function,
                                              const ImportedTensor& reals,
                                              const Quantization& output) {
  const Quantization own = quantization(reals);
  ImportedTensor levels = reals;
  levels.kind = Kind::kLevels;
  levels.function = nullptr;
  if (!reals.function && own == output) return levels;
  const ByteFunction values = reals.function ? *reals.function : dequantized_bytes(value_of(own));
  const Pads pads = levels.pads;
  // Where real 0 stays 0, pads stay pads.
  const std::int32_t zero_byte = own.zero_point & 0xFF;
  const bool keeps_zero = values[static_cast<std::size_t>(zero_byte)] == 0.0F;
  if (keeps_zero) levels.pads = {};
  levels = add_table(node, name, function, without_pads(node, levels),
                     quantized_bytes(values, value_of(output)), output);
  if (keeps_zero) levels.pads = pads;
  return levels;
}

const ImportedTensor* GraphBuilder::rounded_before(const ImportedTensor& reals,
                                                   const Quantization& output) const {
  const auto found = rounded_.find(reals.node.index);
  if (found == rounded_.end()) return nullptr;
  const auto same = std::ranges::find_if(found->second, [&](const Rounded& known) {
    return known.reals.id == reals.id && known.reals.axes == reals.axes &&
           known.reals.pads == reals.pads && known.reals.function == reals.function &&
           known.output == output;
  });
  return same == found->second.end() ? nullptr : &same->levels;
}

void GraphBuilder::keep_rounded(const ImportedTensor& reals, const Quantization& output,
                                const ImportedTensor& levels) {
  rounded_[reals.node.index].push_back({reals, output, levels});
}

ImportedTensor GraphBuilder::close(const NodeReader& node, OpenLayer& layer,
                                   const Quantization& output) {
  ImportedTensor result;
  for (const auto& [known, id] : layer.outputs) {
    if (known != output) continue;
    result.id = id;
    result.axes = layer.axes;
    return result;
  }
  const NodeReader own(model_, layer.node);
  const std::string name =
      own.layer_name() + (layer.outputs.empty() ? "" : "/" + node.layer_name());
  // A layer is computed again for each scale that its numbers are rounded to.
  const bool is_rounded_again =
      node.op_type() == "QuantizeLinear" && model_.reads_of(node.input(0)) > 1;
  Operation operation = is_rounded_again ? layer.operation : std::move(layer.operation);
  const std::int32_t lo = lowest(layer, output);
  const std::int32_t hi = highest(layer, output);
  const auto clipped = [&](const ImportedTensor& reals, const OpenLayer& open) {
    if (!std::isfinite(open.low) && !std::isfinite(open.high)) return reals;
    return apply(reals, [&](float x) { return clip(x, open.low, open.high); });
  };
  std::vector<ImportedTensor> inputs = layer.inputs;
  if (auto* conv = std::get_if<Conv2d>(&operation)) {
    conv->requantization = requantization(own, layer, output, rounding_);
  } else if (auto* fc = std::get_if<FullyConnected>(&operation)) {
    fc->requantization = requantization(own, layer, output, rounding_);
  } else if (auto* pool = std::get_if<AveragePool>(&operation)) {
    pool->rounding = rounding_, pool->lo = lo, pool->hi = hi;
  } else if (auto* add = std::get_if<Add>(&operation)) {
    require_ratios(own, *this, layer, output);
    add->rounding = rounding_, add->lo = lo, add->hi = hi;
  } else if (std::holds_alternative<Concat>(operation)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = quantized_levels(own, name + "/requantize" + std::to_string(i), "requantize",
                                   clipped(inputs[i], layer), output);
    }
  }
  std::optional<ByteTable> product;
  if (auto* table = std::get_if<LookupTable>(&operation)) {
    table->bytes = product_bytes(*this, layer, node, output);
    product = table->bytes;
    inputs.pop_back();
    inputs[0].id = product_root(*this, inputs[0]);
  }
  for (ImportedTensor& input : inputs) input = without_pads(own, input);
  result = add_layer(own, name, std::move(operation), inputs, layer.shape, layer.axes, output);
  if (product) tables_[result.id] = {inputs[0].id, *product};
  layer.outputs.emplace_back(output, result.id);
  return result;
}

}  // namespace qsim::formats
