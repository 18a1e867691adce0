#include "formats/onnx/exporter/layer_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/network/graph.h"
#include "core/network/quantized_network.h"
#include "core/numerics/requantizer.h"

namespace qsim::formats {
namespace {

// The weights of a layer as the file has them: channels first, with their zero_points, and scales
// that give the layer's requantizers.
struct WeightsForFile {
  DType dtype = DType::kInt8;  // or kUint8
  Shape shape;                 // [M, C, kernel_h, kernel_w] or [M, K]
  std::string bytes;
  Shape scale_shape;  // [] or [M], also of the zero_points
  std::vector<float> scales;
  std::string zero_points;         // bytes of `dtype`
  std::vector<float> bias_scales;  // x_scale * w_scale
};

[[noreturn]] void refuse(const Layer& layer, const std::string& found, const std::string& allowed) {
  throw_unsupported(layer_place(layer.name, layer.source) + ": " + found +
                    "; supported: " + allowed);
}

void check_counts(const Layer& layer, const WeightScales& own, std::int64_t channels,
                  const Requantization& requantization) {
  const std::size_t count = own.scales.size();
  const std::size_t zero_points = own.zero_points.size();
  const bool fits = count == 1 || count == static_cast<std::size_t>(channels);
  if (!fits || (zero_points > 1 && zero_points != count)) {
    refuse(layer,
           std::to_string(count) + " scales and " + std::to_string(zero_points) +
               " zero_points of its weights",
           "1 or " + std::to_string(channels) + ", one a output channel");
  }
  const std::size_t needed = requantization.is_dyadic() ? requantization.requantizers.size()
                                                        : requantization.shifts.size();
  if (needed == count) return;
  refuse(layer, std::to_string(needed) + " requantizers for " + std::to_string(count) + " scales",
         "as many");
}

// What the importer makes of the product of scales: (x_scale * w_scale) / y_scale in float32.
bool gives(const Requantization& requantization, std::size_t channel, float product,
           float y_scale) {
  const auto scale = Scale::of(product / y_scale);
  if (!scale) return false;
  const Requantizer own = requantizer_of(*scale, RequantizerRounding::kFloat32);
  if (requantization.is_dyadic()) return requantization.requantizers[channel] == own;
  return requantization.rounding == RoundingMode::kHalfEven &&
         requantizer_of_shift(requantization.shifts[channel], RequantizerRounding::kFloat32) == own;
}

// [M][kh][kw][C] to [M][C][kh][kw], or [M][K] as it is, with the zero_points, which are of uint8;
// in int8 levels and zero_points are 128 lower.
template <typename T>
void store(const Layer& layer, const Tensor& weights, const std::vector<std::int32_t>& zero_points,
           WeightsForFile& result) {
  const std::span<const T> numbers = weights.as<T>();
  const std::int64_t channels = weights.shape[0];
  const std::int64_t inner = weights.shape.back();
  const std::int64_t taps = weights.elems() / std::max<std::int64_t>(channels * inner, 1);
  const std::int32_t lo = zero_points.empty() ? -128 : 0;
  const std::int32_t moved = !zero_points.empty() && result.dtype == DType::kInt8 ? -128 : 0;
  char* to = result.bytes.data();
  for (std::int64_t m = 0; m < channels; ++m) {
    const std::size_t of_channel = zero_points.size() == 1 ? 0 : static_cast<std::size_t>(m);
    const std::int32_t zero_point = zero_points.empty() ? 0 : zero_points[of_channel];
    for (std::int64_t c = 0; c < inner; ++c) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const auto from = static_cast<std::size_t>((m * taps + tap) * inner + c);
        const std::int32_t level = numbers[from] + zero_point;
        if (level < lo || level > lo + 255) {
          refuse(layer,
                 "weight " + std::to_string(numbers[from]) + " of output channel " +
                     std::to_string(m) + " with zero_point " + std::to_string(zero_point),
                 std::to_string(lo) + " to " + std::to_string(lo + 255) + " together");
        }
        *to++ = static_cast<char>(level + moved);
      }
    }
  }
}

// Of layer `index`, whose operation has `weights`, `bias` and `requantization`. Throws Error (exit
// code 4) naming the layer where the file would say something else.
WeightsForFile stored_weights(const QuantizedNetwork& network, std::size_t index,
                              const Tensor& weights, const Requantization& requantization) {
  const Layer& layer = network.graph.layers[index];
  const WeightScales& own = network.weights[index];
  const Shape& s = weights.shape;
  check_counts(layer, own, s[0], requantization);
  WeightsForFile result;
  // ONNX Runtime has no operator of int8 data and uint8 weights.
  const bool is_uint8 = !own.zero_points.empty() && network.graph.input_of(index).is_unsigned();
  result.dtype = is_uint8 ? DType::kUint8 : DType::kInt8;
  result.shape = s.size() == 4 ? Shape{s[0], s[3], s[1], s[2]} : s;
  result.scales = own.scales;
  const float x_scale = network.graph.input_of(index).scale->real();
  const float y_scale = network.graph.output_of(index).scale->real();
  for (std::size_t i = 0; i < own.scales.size(); ++i) {
    result.bias_scales.push_back(x_scale * own.scales[i]);
    if (gives(requantization, i, result.bias_scales[i], y_scale)) continue;
    refuse(layer, "output channel " + std::to_string(i) + " is not requantized",
           "(x_scale * w_scale) / y_scale in float32, rounded as float32");
  }
  if (own.scales.size() > 1) result.scale_shape = {std::ssize(own.scales)};
  for (std::size_t i = 0; i < own.scales.size(); ++i) {
    const std::size_t of_channel = own.zero_points.size() == 1 ? 0 : i;
    const std::int32_t zero_point = own.zero_points.empty() ? 0 : own.zero_points[of_channel];
    if (zero_point < 0 || zero_point > 255) {
      refuse(layer, "zero_point " + std::to_string(zero_point) + " of its weights", "0 to 255");
    }
    const std::int32_t stored = own.zero_points.empty() || is_uint8 ? zero_point : zero_point - 128;
    result.zero_points.push_back(static_cast<char>(stored));
  }
  result.bytes.resize(static_cast<std::size_t>(weights.elems()));
  if (weights.dtype == DType::kInt16) {
    store<std::int16_t>(layer, weights, own.zero_points, result);
  } else {
    store<std::int8_t>(layer, weights, own.zero_points, result);
  }
  return result;
}

}  // namespace

LayerWriter::LayerWriter(const QuantizedNetwork& network, OnnxForm form, ModelWriter& model,
                         TensorWriter& tensors)
    : network_(network), form_(form), model_(model), tensors_(tensors) {
  const Graph& graph = network.graph;
  writers_.resize(graph.tensors.size());
  readers_.resize(graph.tensors.size(), 0);
  joined_.resize(graph.layers.size(), false);
  ++readers_[graph.output];
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    writers_[graph.layers[i].output] = i;
    for (const TensorId input : graph.layers[i].inputs) ++readers_[input];
  }
  find_joined_tables();
}

void LayerWriter::write() {
  for (index_ = 0; index_ < network_.graph.layers.size(); ++index_) {
    if (joined_[index_]) continue;
    visit_integer(layer().operation, [&](const auto& operation) { write(operation); });
  }
}

void LayerWriter::refuse(const std::string& found, const std::string& supported) const {
  throw_unsupported(layer_place(layer().name, layer().source) + ": " + found +
                    "; supported: " + supported);
}

void LayerWriter::require_float32(RequantizerRounding rounding) const {
  if (rounding == RequantizerRounding::kFloat32) return;
  refuse("does not round as ONNX Runtime does", "float32");
}

bool LayerWriter::is_real() const {
  const std::vector<TensorId>& inputs = layer().inputs;
  return form_ == OnnxForm::kQdq || std::ranges::any_of(inputs, [&](TensorId id) {
           return network_.graph.tensors[id].dtype != output().dtype;
         });
}

onnx::NodeProto& LayerWriter::add_layer(const char* op_type, const TensorNames& inputs,
                                        TensorRank rank, bool computes_reals,
                                        std::optional<Clamp> clamp) {
  const std::string& name = layer().name;
  const TensorId id = layer().output;
  const bool clamps = clamp && (clamp->lo != output().min() || clamp->hi != output().max());
  const std::string levels = clamps ? model_.new_name(name + "/unclamped") : name;
  const std::string written = computes_reals ? model_.new_name(name + "/real") : levels;
  onnx::NodeProto& node = model_.add_node(op_type, name, inputs, written);
  if (computes_reals) tensors_.quantize(written, id, levels);
  if (clamps) add_clamp(*clamp, levels);
  tensors_.define(id, name, rank);
  return node;
}

// Nodes of their own after the levels: whatever ONNX Runtime does with the operator before it, a
// clamp of real numbers that are levels is exact.
void LayerWriter::add_clamp(const Clamp& clamp, const std::string& levels) {
  const TensorId id = layer().output;
  const std::string& name = layer().name;
  const std::string reals = tensors_.dequantize(levels, id, name + "/unclamped_real");
  const bool is_relu = clamp.lo == output().zero_point && clamp.hi == output().max();
  std::string clamped;
  if (is_relu) {
    clamped = model_.add_node("Relu", name + "/relu", {reals}).output(0);
  } else {
    clamped =
        add_clip(model_.new_name(name + "/clip"), reals, real_of(clamp.lo), real_of(clamp.hi));
  }
  tensors_.quantize(clamped, id, name);
}

float LayerWriter::real_of(std::int32_t level) const {
  const float real = static_cast<float>(level - output().zero_point) * output().scale->real();
  if (!std::isfinite(real)) {
    refuse("a clamp to level " + std::to_string(level) + ", which leaves float32",
           "finite float32 numbers");
  }
  return real;
}

std::string LayerWriter::add_clip(const std::string& name, const std::string& reals, float lo,
                                  float hi) {
  const auto bound = [&](const char* what, float value) {
    return std::isfinite(value) ? model_.add_float(name + what, value) : std::string();
  };
  const std::string output = model_.new_name(name + "/clipped");
  model_.add_node("Clip", name, {reals, bound("/min", lo), bound("/max", hi)}, output);
  return output;
}

TensorNames LayerWriter::weighted_inputs(const Tensor& weights, const Tensor& bias,
                                         const Requantization& requantization, TensorRank rank,
                                         bool bias_last) {
  const std::string& name = layer().name;
  WeightsForFile own = stored_weights(network_, index_, weights, requantization);
  const auto dtype = onnx_dtype(own.dtype);
  const std::string w =
      model_.add_constant(name + "/weights", dtype, own.shape, std::move(own.bytes));
  const std::string scale = model_.add_floats(name + "/weights_scale", own.scale_shape, own.scales);
  const std::string zero_point =
      model_.add_constant(name + "/weights_zero_point", dtype, own.scale_shape, own.zero_points);
  const std::string b = model_.add_constant(name + "/bias", bias);
  if (is_real()) {
    const std::string bias_scale =
        model_.add_floats(name + "/bias_scale", own.scale_shape, own.bias_scales);
    onnx::NodeProto& real_w =
        model_.add_node("DequantizeLinear", name + "/weights_real", {w, scale, zero_point});
    onnx::NodeProto& real_b =
        model_.add_node("DequantizeLinear", name + "/bias_real", {b, bias_scale});
    set_int(real_w, "axis", 0);
    set_int(real_b, "axis", 0);
    return {tensors_.reals(operand(), rank), real_w.output(0), real_b.output(0)};
  }
  TensorNames inputs = tensors_.quantized(operand(), rank);
  inputs.insert(inputs.end(), {w, scale, zero_point});
  if (!bias_last) inputs.push_back(b);
  for (const std::string& each : tensors_.quantization(layer().output)) inputs.push_back(each);
  if (bias_last) inputs.push_back(b);
  return inputs;
}

void LayerWriter::write(const Conv2d& conv) {
  const Requantization& requantization = conv.requantization;
  const TensorNames inputs =
      weighted_inputs(conv.weights, conv.bias, requantization, TensorRank::kPicture, true);
  onnx::NodeProto& node =
      add_layer(is_real() ? "Conv" : "QLinearConv", inputs, TensorRank::kPicture, is_real(),
                Clamp{requantization.lo, requantization.hi});
  set_window(node, conv.window);
  if (conv.groups != 1) set_int(node, "group", conv.groups);
}

void LayerWriter::write(const FullyConnected& fc) {
  const Requantization& requantization = fc.requantization;
  const TensorNames inputs =
      weighted_inputs(fc.weights, fc.bias, requantization, TensorRank::kVector, false);
  onnx::NodeProto& node = add_layer(is_real() ? "Gemm" : "QGemm", inputs, TensorRank::kVector,
                                    is_real(), Clamp{requantization.lo, requantization.hi});
  if (!is_real()) node.set_domain(kMicrosoft);
  set_int(node, "transB", 1);
}

void LayerWriter::write(const MaxPool& pool) {
  const std::string x = is_real() ? tensors_.reals(operand(), TensorRank::kPicture)
                                  : tensors_.levels(operand(), TensorRank::kPicture);
  onnx::NodeProto& node = add_layer("MaxPool", {x}, TensorRank::kPicture, is_real());
  set_window(node, pool.window);
  set_ceil_mode(node, pool.window, input().shape, output().shape);
}

void LayerWriter::write(const AveragePool& pool) {
  require_float32(pool.rounding);
  Window whole;
  whole.kernel_h = input().shape.height;
  whole.kernel_w = input().shape.width;
  const bool global = pool.window == whole && !pool.count_include_pad;
  const Clamp clamp{pool.lo, pool.hi};
  onnx::NodeProto* node = nullptr;
  if (is_real()) {
    node = &add_layer(global ? "GlobalAveragePool" : "AveragePool",
                      {tensors_.reals(operand(), TensorRank::kPicture)}, TensorRank::kPicture, true,
                      clamp);
  } else {
    TensorNames inputs = tensors_.quantized(operand(), TensorRank::kPicture);
    for (const std::string& each : tensors_.quantization(layer().output)) inputs.push_back(each);
    node = &add_layer(global ? "QLinearGlobalAveragePool" : "QLinearAveragePool", inputs,
                      TensorRank::kPicture, false, clamp);
    node->set_domain(kMicrosoft);
  }
  if (global) return;
  set_window(*node, pool.window);
  set_ceil_mode(*node, pool.window, input().shape, output().shape);
  set_int(*node, "count_include_pad", pool.count_include_pad ? 1 : 0);
}

// ONNX Runtime swaps operands of one element, and the importer as well.
void LayerWriter::write(const Add& add) {
  require_float32(add.rounding);
  TensorId a = operand(0);
  TensorId b = operand(1);
  if (element_count(output().shape.nhwc()) == 1) std::swap(a, b);
  const bool vectors =
      tensors_.rank(a) == TensorRank::kVector && tensors_.rank(b) == TensorRank::kVector;
  const TensorRank rank = vectors ? TensorRank::kVector : TensorRank::kPicture;
  const Clamp clamp{add.lo, add.hi};
  if (is_real()) {
    add_layer("Add", {tensors_.reals(a, rank), tensors_.reals(b, rank)}, rank, true, clamp);
    return;
  }
  TensorNames inputs = tensors_.quantized(a, rank);
  for (const std::string& each : tensors_.quantized(b, rank)) inputs.push_back(each);
  for (const std::string& each : tensors_.quantization(layer().output)) inputs.push_back(each);
  add_layer("QLinearAdd", inputs, rank, false, clamp).set_domain(kMicrosoft);
}

void LayerWriter::write(const Flatten& flatten) {
  const TensorId id = operand();
  const bool hwc = flatten.order == Flatten::Order::kHwc;
  const TensorRank rank = hwc ? TensorRank::kPicture : tensors_.rank(id);
  std::string x = is_real() ? tensors_.reals(id, rank) : tensors_.levels(id, rank);
  if (hwc) {
    onnx::NodeProto& transpose = model_.add_node("Transpose", layer().name + "/nhwc", {x});
    set_ints(transpose, "perm", {0, 2, 3, 1});
    x = transpose.output(0);
  }
  set_int(add_layer("Flatten", {x}, TensorRank::kVector, is_real()), "axis", 1);
}

}  // namespace qsim::formats
