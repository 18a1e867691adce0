#include "quantize/quantizer.h"

#include <algorithm>
#include <utility>

#include "core/base/printable.h"
#include "core/network/float_rules.h"
#include "core/network/graph_cleanup.h"
#include "quantize/fusion.h"
#include "quantize/layer_weights.h"

namespace qsim::quantize {
namespace {

// The clamp of a layer: the levels of its ofmap, and its Relu and Clip.
struct Limits {
  std::int32_t lo;
  std::int32_t hi;
};

Limits limits_of(const FusedLayer& fused, const Quantization& quantization, const Value& output) {
  const auto level = [&](float bound) {
    return std::clamp(quantized(bound, output), quantization.lo, quantization.hi);
  };
  return {level(fused.low), level(fused.high)};
}

class NetworkBuilder {
 public:
  NetworkBuilder(const Graph& graph, const TensorQuantizations& tensors, const Scheme& scheme,
                 const std::map<std::size_t, LayerWeights>& decided)
      : graph_(graph),
        scheme_(scheme),
        decided_(decided),
        fusion_(fuse(graph)),
        ends_(ends_of(graph, fusion_, tensors)),
        made_(graph.tensors.size(), 0) {
    Graph& out = network_.graph;
    QSIM_CHECK(tensors[graph.input].has_value(), "the input has no quantization");
    out.name = graph.name;
    out.host = graph.host;
    out.host.float_input = true;
    out.host.float_output = true;
    out.input_value() = value(graph.input, *tensors[graph.input]);
  }

  QuantizedNetwork run() && {
    for (std::size_t i = 0; i < fusion_.layers.size(); ++i) {
      try {
        add(i);
      } catch (const Error& error) {
        if (error.code() != ExitCode::kUnsupportedModel) throw;
        refusals_.emplace_back(error.what());
        skip(i);
      }
    }
    throw_refusals();
    finish();
    return std::move(network_);
  }

 private:
  Value value(TensorId tensor, const Quantization& quantization) const {
    const DType dtype = scheme_.all.activations.is_unsigned ? DType::kUint8 : DType::kInt8;
    return {graph_.tensors[tensor].shape, dtype, quantization.zero_point,
            Scale::of(quantization.scale)};
  }

  void add(std::size_t index) {
    const FusedLayer& fused = fusion_.layers[index];
    const Layer& layer = graph_.layers[fused.layer];
    const LayerEnds& ends = ends_[index];
    QSIM_CHECK(ends.input && ends.output, layer.name + " has no quantization");
    const Value output = value(layer.output, *ends.output);
    const Limits limits = limits_of(fused, *ends.output, output);
    std::vector<TensorId> inputs;
    for (const TensorId input : layer.inputs) inputs.push_back(made_[fusion_.held_in[input]]);
    const bool is_concat = std::holds_alternative<Concat>(layer.operation);
    for (std::size_t i = 0; is_concat && i < inputs.size(); ++i) {
      inputs[i] = requantized(layer, i, inputs[i], output);
    }
    std::optional<Activation> activation;
    if (const auto* found = std::get_if<Activation>(&layer.operation)) activation = *found;
    WeightScales stored;
    Operation operation = operation_of(fused, ends, limits, inputs[0], output, stored);
    // A PRelu has no clamp: where a level has fewer bits than its type, a table after it, which has
    // the layer's name, cuts it off.
    const bool is_cut = std::holds_alternative<PRelu>(operation) &&
                        (limits.lo != output.min() || limits.hi != output.max());
    if (is_cut) {
      inputs = {append(layer.name + "/uncut", std::move(operation), std::move(inputs), output,
                       layer.source, {}, std::nullopt, -1)};
      operation = table(Activation{.kind = Activation::Kind::kClip}, limits, output, output);
    }
    made_[layer.output] =
        append(layer.name, std::move(operation), std::move(inputs), output, layer.source,
               std::move(stored), activation, static_cast<std::int64_t>(fused.last));
  }

  TensorId append(const std::string& name, Operation operation, std::vector<TensorId> inputs,
                  const Value& output, const std::string& source, WeightScales stored,
                  const std::optional<Activation>& activation, std::int64_t real_layer) {
    network_.weights.push_back(std::move(stored));
    network_.activations.push_back(activation);
    network_.real_layers.push_back(real_layer);
    return qsim::append(network_.graph, name, std::move(operation), std::move(inputs), output,
                        source);
  }

  // An operand of a Concat in the quantization of its output.
  TensorId requantized(const Layer& layer, std::size_t operand, TensorId input,
                       const Value& output) {
    const Value read = network_.graph.tensors[input];
    if (read.zero_point == output.zero_point && read.scale == output.scale) return input;
    Value to = output;
    to.shape = read.shape;
    return append(layer.name + "/requantize" + std::to_string(operand),
                  LookupTable{"requantize", requantizing_table(read, to)}, {input}, to,
                  layer.source, {}, std::nullopt, -1);
  }

  Operation operation_of(const FusedLayer& fused, const LayerEnds& ends, const Limits& limits,
                         TensorId input, const Value& output, WeightScales& stored) const {
    const Operation& operation = graph_.layers[fused.layer].operation;
    if (weights_of(operation)) return weighted(fused, ends, limits, stored);
    if (const auto* activation = std::get_if<Activation>(&operation)) {
      return table(*activation, limits, network_.graph.tensors[input], output);
    }
    Operation made = operation;
    set_clamp(made, {limits.lo, limits.hi});
    return made;
  }

  // Weights of fewer bits are in the 8 bits of the container; so are a table's levels.
  static LookupTable table(const Activation& activation, const Limits& limits, const Value& input,
                           const Value& output) {
    LookupTable table{std::string(operation_name(activation)), table_of(activation, input, output)};
    for (std::uint8_t& byte : table.bytes) {
      const std::int32_t level = level_of_byte(byte, output.dtype);
      const std::int32_t clamped = std::clamp(level, limits.lo, limits.hi);
      if (clamped != level) table.function = "clip";
      byte = static_cast<std::uint8_t>(clamped);
    }
    return table;
  }

  Operation weighted(const FusedLayer& fused, const LayerEnds& ends, const Limits& limits,
                     WeightScales& stored) const {
    const Layer& layer = graph_.layers[fused.layer];
    const auto given = decided_.find(fused.layer);
    const DecidedWeights decided =
        decide_weights(layer, scheme_of(scheme_, layer.name), ends,
                       given == decided_.end() ? LayerWeights{} : given->second);
    IntegerWeights made = integer_weights(layer, decided, *ends.input, *ends.output);
    stored = std::move(made.stored);
    Requantization requantization{
        RoundingMode::kHalfEven, {}, limits.lo, limits.hi, std::move(made.requantizers)};
    if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
      return Conv2d{conv->window, std::move(made.weights), std::move(made.bias),
                    std::move(requantization), conv->groups};
    }
    return FullyConnected{std::move(made.weights), std::move(made.bias), std::move(requantization)};
  }

  // A refused layer's tensor, so that the layers after it can be looked at.
  void skip(std::size_t index) {
    const Layer& layer = graph_.layers[fusion_.layers[index].layer];
    Graph& out = network_.graph;
    made_[layer.output] = out.tensors.size();
    out.tensors.push_back(value(layer.output, *ends_[index].output));
  }

  void throw_refusals() const {
    if (refusals_.empty()) return;
    std::string others;
    for (std::size_t i = 1; i < refusals_.size(); ++i) others += refusals_[i] + "\n";
    throw Error(ExitCode::kUnsupportedModel, refusals_[0], others);
  }

  // What the importer does with a Graph that has all its layers.
  void finish() {
    std::map<std::string, std::size_t> index_of;
    for (std::size_t i = 0; i < network_.graph.layers.size(); ++i) {
      index_of[network_.graph.layers[i].name] = i;
    }
    QuantizedNetwork clean;
    clean.graph = cleaned(std::move(network_.graph));
    use_shifts_where_all_can(clean.graph);
    for (const Layer& layer : clean.graph.layers) {
      const std::size_t index = index_of.at(layer.name);
      const bool is_table = std::holds_alternative<LookupTable>(layer.operation);
      clean.weights.push_back(std::move(network_.weights[index]));
      clean.activations.push_back(is_table ? network_.activations[index] : std::nullopt);
      clean.real_layers.push_back(network_.real_layers[index]);
    }
    network_ = std::move(clean);
    validate(network_.graph);
  }

  const Graph& graph_;
  const Scheme& scheme_;
  const std::map<std::size_t, LayerWeights>& decided_;
  Fusion fusion_;
  std::vector<LayerEnds> ends_;  // by Fusion::layers
  std::vector<TensorId> made_;   // the integer tensor, by float tensor that stays
  QuantizedNetwork network_;
  std::vector<std::string> refusals_;
};

}  // namespace

const LayerScheme& scheme_of(const Scheme& scheme, const std::string& layer) {
  const auto found = scheme.layers.find(layer);
  return found == scheme.layers.end() ? scheme.all : found->second;
}

QuantizedNetwork quantize_network(const Graph& graph, const TensorQuantizations& tensors,
                                  const Scheme& scheme,
                                  const std::map<std::size_t, LayerWeights>& decided) {
  validate(graph);
  QSIM_CHECK(graph.is_real(), graph.name + ": not a float network");
  QSIM_CHECK(tensors.size() == graph.tensors.size(), "quantizations are not one a tensor");
  return NetworkBuilder(graph, tensors, scheme, decided).run();
}

}  // namespace qsim::quantize
