// Pass 1: which graph layers run as one accelerator layer.

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/passes/dilated_pool.h"
#include "compiler/passes/fused_layer.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/window_limits.h"
#include "core/network/float_rules.h"
#include "core/network/graph_order.h"
#include "core/network/layer_arithmetic.h"
#include "core/network/operation_checks.h"

namespace qsim::compiler {
namespace {

// Who reads a tensor of a graph, and who writes it.
class GraphLinks {
 public:
  explicit GraphLinks(const Graph& graph)
      : graph_(graph), readers_(readers_of_tensors(graph)), writers_(graph.tensors.size()) {
    for (std::size_t i = 0; i < graph.layers.size(); ++i) writers_[graph.layers[i].output] = i;
  }

  // The layer that alone reads `tensor`; nothing where several do, or the network's user does.
  std::optional<std::size_t> only_reader(TensorId tensor) const {
    if (tensor == graph_.output || readers_[tensor].size() != 1) return std::nullopt;
    return readers_[tensor].front();
  }

  // The Flatten that writes `tensor`, or null.
  const Layer* flatten_before(TensorId tensor) const {
    if (tensor == graph_.input) return nullptr;
    const Layer& layer = graph_.layers[writers_[tensor]];
    return std::holds_alternative<Flatten>(layer.operation) ? &layer : nullptr;
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<std::size_t> writers_;  // by tensor; of the input: any
};

// max(level, zero_point), both carried: in the clamp, or in the table where there is one.
void join_relu(FusedLayer& layer, std::int32_t zero_point) {
  if (layer.table) {
    for (std::int8_t& entry : *layer.table) {
      entry = static_cast<std::int8_t>(std::max<std::int32_t>(entry, zero_point));
    }
    return;
  }
  layer.lo = std::max(layer.lo, zero_point);
  layer.hi = std::max(layer.hi, layer.lo);
}

// `input` and `output` are the table's. After a table that is there already, the two are one.
void join_table(FusedLayer& layer, const LookupTable& table, const Value& input,
                const Value& output) {
  constexpr std::uint8_t kSign = 0x80;  // the difference of an unsigned byte and its carried one
  std::array<std::int8_t, kTableBytes> joined;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    std::size_t level = layer.table ? static_cast<std::uint8_t>((*layer.table)[i]) : i;
    if (input.is_unsigned()) level ^= kSign;
    const std::uint8_t byte = table.bytes[level];
    joined[i] = static_cast<std::int8_t>(output.is_unsigned() ? byte ^ kSign : byte);
  }
  layer.table = joined;
}

// The table that a PRelu of one slope is; nothing for one slope a channel.
std::optional<LookupTable> table_of(const PRelu& prelu, const Value& input, const Value& output) {
  const std::vector<ByteTable> tables = tables_of(prelu, input, output);
  if (tables.size() != 1) return std::nullopt;
  return LookupTable{std::string(PRelu::kRow.name), tables[0]};
}

std::int32_t carry(const Value& value, std::int32_t number) {
  return carried(number, value.is_unsigned());
}

// The int8 numbers that each of these is a sum of; two where there are no tensors to look at.
std::int64_t weight_parts(std::span<const std::int16_t> weights) {
  std::int64_t parts = 2;
  for (const std::int16_t weight : weights) {
    if (weight > 2 * 127) parts = 3;
  }
  return parts;
}

// Builds one FusedLayer from a graph layer, which is no Flatten, and those that run with it.
class Fusion {
 public:
  Fusion(const Graph& graph, const GraphLinks& links, std::size_t first)
      : graph_(graph), links_(links), first_(first) {}

  // Nothing where the accelerator cannot run the first layer. Of one that it cannot run with it,
  // the reason is in `refusals`, and the result is the layer without that.
  std::optional<FusedLayer> build(Refusals& refusals) {
    collect_refusal(refusals, [&] {
      start();
      while (const auto next = links_.only_reader(graph_.layers[layers_.back()].output)) {
        if (!join(*next)) break;
      }
    });
    return layers_.empty() ? std::nullopt : std::optional(std::move(fused_));
  }

  // The graph layers in it, after build().
  const std::vector<std::size_t>& layers() const { return layers_; }

 private:
  void start() {
    look_through_flattens();
    const Layer& layer = graph_.layers[first_];
    refuse_tflite_rounding(layer);
    const ImageShape& ofmap = graph_.output_of(first_).shape;
    fused_.name = layer.name;
    fused_.source = layer.source;
    fused_.macs = layer_macs(graph_, first_);
    fused_.input = flattened_ ? *flattened_ : graph_.tensors[fused_.input_tensor];
    fused_.pad_value = carry(fused_.input, fused_.input.zero_point);
    fused_.conv_height = ofmap.height;
    fused_.conv_width = ofmap.width;
    visit_integer(layer.operation, [&](const auto& operation) { start_with(layer, operation); });
  }

  // A Flatten moves no byte in DRAM: its readers read what it reads, and only the order that it
  // gives the elements matters.
  void look_through_flattens() {
    const Layer& layer = graph_.layers[first_];
    fused_.input_tensor = look_through_flattens(layer.inputs[0]);
    for (std::size_t i = 1; i < layer.inputs.size(); ++i) {
      const TensorId tensor = look_through_flattens(layer.inputs[i]);
      fused_.more_inputs.push_back({tensor, graph_.tensors[tensor]});
    }
  }

  TensorId look_through_flattens(TensorId tensor) {
    while (const Layer* flatten = links_.flatten_before(tensor)) {
      tensor = flatten->inputs[0];
      const Value& input = graph_.tensors[tensor];
      if (input.shape.height * input.shape.width == 1) continue;
      flattened_ = input;
      fused_.flatten = std::get<Flatten>(flatten->operation).order;
    }
    return tensor;
  }

  void start_with(const Layer& layer, const Conv2d& conv) {
    if (flattened_) return start_with_flattened(layer, conv);
    check_conv_window(layer, conv.window);
    fused_.kind = FusedLayer::Kind::kConvolution;
    fused_.window = conv.window;
    fused_.depth = fused_.input.shape.channels;
    fused_.groups = conv.groups;
    take_weights(layer, conv.weights, conv.bias, conv.requantization);
  }

  // On a flattened picture, which is one pixel, a convolution of one tap is fully connected: its
  // weights [M][1][1][K] are [M][K].
  void start_with_flattened(const Layer& layer, const Conv2d& conv) {
    const Window& w = conv.window;
    const std::int64_t pads = w.pad_top + w.pad_left + w.pad_bottom + w.pad_right;
    if (w.kernel_h != 1 || w.kernel_w != 1 || pads != 0 || conv.groups != 1) {
      refuse_flattened(layer);
    }
    fused_.kind = FusedLayer::Kind::kFullyConnected;
    fused_.depth = conv.weights.shape[3];
    take_weights(layer, conv.weights, conv.bias, conv.requantization);
  }

  void start_with(const Layer& layer, const FullyConnected& fc) {
    fused_.kind = FusedLayer::Kind::kFullyConnected;
    fused_.depth = fc.weights.shape[1];
    take_weights(layer, fc.weights, fc.bias, fc.requantization);
  }

  void start_with(const Layer& layer, const MaxPool&) { start_identity(layer); }
  void start_with(const Layer& layer, const Relu&) { start_identity(layer); }
  void start_with(const Layer&, const Flatten&) {}
  // An identity with a window: its psums are sums, and the requantizer divides.
  void start_with(const Layer& layer, const AveragePool& pool) {
    refuse_flattened(layer);
    const Value& output = graph_.output_of(first_);
    fused_.kind = FusedLayer::Kind::kIdentity;
    fused_.window = pool.window;
    if (output.shape.height == 1) fused_.window.stride_h = 1;  // of one window no stride matters
    if (output.shape.width == 1) fused_.window.stride_w = 1;
    check_average_window(layer, fused_.window);
    copy_channels(fused_.input.shape.channels);
    const std::int64_t taps = pool.window.kernel_h * pool.window.kernel_w;
    fused_.bias.assign(fused_.bias.size(), static_cast<std::int32_t>(-fused_.pad_value * taps));
    take_counts(pool, output);
    set_levels(output, pool.lo, pool.hi);
    finish_with(first_);
  }

  void take_counts(const AveragePool& pool, const Value& output) {
    WindowCounts counts = window_counts(pool, fused_.input.shape, output.shape);
    fused_.requantizers.clear();
    for (const std::int64_t count : counts.counts) {
      fused_.requantizers.insert(fused_.requantizers.end(), fused_.bias.size(),
                                 average_requantizer(pool, fused_.input, output, count).value());
    }
    if (counts.counts.size() > 1) fused_.counts = std::move(counts);
  }

  void start_with(const Layer& layer, const Concat&) {
    refuse_flattened(layer);
    fused_.kind = FusedLayer::Kind::kConcat;
    copy_channels(graph_.output_of(first_).shape.channels);
    finish_with(first_);
  }
  void start_with(const Layer& layer, const LookupTable&) { start_identity(layer); }
  void start_with(const Layer& layer, const PRelu& prelu) {
    if (table_of(prelu, graph_.input_of(first_), graph_.output_of(first_))) {
      return start_identity(layer);
    }
    throw_unsupported(layer_place(layer.name, layer.source) + ": prelu with " +
                      std::to_string(prelu.slopes.elems()) +
                      " slopes, one a channel; the accelerator runs one slope for all channels");
  }
  void start_with(const Layer& layer, const Add& add) {
    refuse_flattened(layer);
    const Value& a = fused_.input;
    const Value& b = fused_.more_inputs.front().value;
    const Value& output = graph_.output_of(first_);
    fused_.kind = FusedLayer::Kind::kAdd;
    fused_.adder = PsumAdder{adder_of(add, a, b, output).value(), a.is_unsigned(), b.is_unsigned()};
    copy_channels(output.shape.channels);
    fused_.requantizers.assign(fused_.bias.size(), Requantizer{.rounding = add.rounding});
    set_levels(output, add.lo, add.hi);
    fused_.zero_point = sum_zero_point(add.rounding, output.zero_point, output.is_unsigned());
    finish_with(first_);
  }

  // The layer itself is joined as if a convolution came before it.
  void start_identity(const Layer& layer) {
    refuse_flattened(layer);
    const Value& input = fused_.input;
    fused_.kind = FusedLayer::Kind::kIdentity;
    fused_.output = input;
    fused_.conv_height = input.shape.height;
    fused_.conv_width = input.shape.width;
    copy_channels(input.shape.channels);
    join(first_);
  }

  // Psums that are the activations themselves.
  void copy_channels(std::int64_t channels) {
    fused_.depth = channels;
    fused_.bias.assign(static_cast<std::size_t>(channels), 0);
    fused_.requantizers.assign(static_cast<std::size_t>(channels),
                               requantizer_of_shift(0, RequantizerRounding::kFloor));
  }

  void refuse_flattened(const Layer& layer) {
    if (!flattened_) return;
    throw_unsupported(layer_place(layer.name, layer.source) + ": " +
                      std::string(operation_name(layer.operation)) +
                      " on a flattened picture; only fully_connected and conv2d of one tap without "
                      "pads and groups can follow a Flatten");
  }

  void take_weights(const Layer& layer, const Tensor& weights, const Tensor& bias,
                    const Requantization& requantization) {
    if (!requantization.is_dyadic() &&
        static_cast<int>(requantization.rounding) >= kAcceleratorRoundingModes) {
      const bool away = requantization.rounding == RoundingMode::kHalfAway;
      const std::string mode = away ? "half_away" : "toward_zero";
      throw_unsupported(layer_place(layer.name, layer.source) + ": rounding mode " + mode +
                        "; the accelerator has floor, half_even, half_up");
    }
    if (weights.dtype == DType::kInt8) {
      fused_.weights = weights.as<std::int8_t>();
    } else {
      fused_.wide_weights = weights.as<std::int16_t>();
      fused_.weight_parts = weight_parts(fused_.wide_weights);
    }
    fused_.weights_layer = static_cast<std::int32_t>(first_);
    const auto values = bias.as<std::int32_t>();
    fused_.bias.assign(values.begin(), values.end());
    const Value& output = graph_.output_of(first_);
    const auto channels = output.shape.channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      fused_.requantizers.push_back(requantization.requantizer(c));
    }
    set_levels(output, requantization.lo, requantization.hi);
    finish_with(first_);
  }

  void set_levels(const Value& output, std::int32_t lo, std::int32_t hi) {
    fused_.zero_point = carry(output, output.zero_point);
    fused_.lo = carry(output, lo);
    fused_.hi = carry(output, hi);
  }

  void finish_with(std::size_t index) {
    const Layer& layer = graph_.layers[index];
    fused_.operation += (fused_.operation.empty() ? "" : "+");
    fused_.operation += operation_name(layer.operation);
    fused_.output = graph_.output_of(index);
    fused_.output_tensor = layer.output;
    fused_.graph_layer = static_cast<std::int32_t>(index);
    layers_.push_back(index);
  }

  // Takes layer `index` into the epilogue if it can run there.
  bool join(std::size_t index) {
    const Layer& layer = graph_.layers[index];
    const Value& output = graph_.output_of(index);
    if (std::holds_alternative<Relu>(layer.operation)) {
      join_relu(fused_, carry(output, output.zero_point));
      finish_with(index);
      return true;
    }
    if (const auto* table = std::get_if<LookupTable>(&layer.operation)) {
      return join_table_of(index, *table);
    }
    if (const auto* prelu = std::get_if<PRelu>(&layer.operation)) {
      const auto table = table_of(*prelu, graph_.input_of(index), output);
      return table && join_table_of(index, *table);
    }
    if (const auto* pool = std::get_if<MaxPool>(&layer.operation)) {
      if (pooled_ || fused_.kind == FusedLayer::Kind::kFullyConnected) return false;
      if (fused_.counts) return false;  // POST takes the maximum of levels of one requantizer
      if (is_dilated(pool->window) && !is_plain_identity()) return false;
      take_pool(layer, pool->window, output.shape);
      count_pooled_macs(output.shape);
      finish_with(index);
      return true;
    }
    return joins_as_last_flatten(layer);
  }

  bool join_table_of(std::size_t index, const LookupTable& table) {
    if (pooled_) return false;  // POST looks up each level of a window
    fused_.tables.push_back(graph_.layers[index].name + "' (" + table.function + ")");
    join_table(fused_, table, graph_.input_of(index), graph_.output_of(index));
    finish_with(index);
    return true;
  }

  bool is_plain_identity() const {
    return fused_.kind == FusedLayer::Kind::kIdentity && fused_.window == Window{};
  }

  // Of a dilated pool the identity steps over what no tap reads.
  void take_pool(const Layer& layer, const Window& window, const ImageShape& output) {
    fused_.pool = window;
    if (is_dilated(window)) {
      const StridedPool strided = strided_pool(layer, window, fused_.output.shape, output);
      check_average_window(layer, strided.copy);
      fused_.window = strided.copy;
      fused_.conv_height = strided.rows;
      fused_.conv_width = strided.cols;
      fused_.pool = strided.pool;
    }
    check_max_pool_window(layer, fused_.pool);
    pooled_ = true;
  }

  // Psums that no pooling window reads are never computed, so their MACs are not useful ones.
  void count_pooled_macs(const ImageShape& out) {
    const Window& pool = fused_.pool;
    const std::int64_t positions = fused_.conv_height * fused_.conv_width;
    const std::int64_t read =
        positions_read(out.height, pool.kernel_h, pool.stride_h, pool.pad_top, fused_.conv_height) *
        positions_read(out.width, pool.kernel_w, pool.stride_w, pool.pad_left, fused_.conv_width);
    fused_.macs = fused_.macs / positions * read;
  }

  // A Flatten at the very end of the graph is the host's business: bytes in DRAM stay as they are.
  bool joins_as_last_flatten(const Layer& layer) {
    if (layer.output != graph_.output) return false;
    if (!std::holds_alternative<Flatten>(layer.operation)) return false;
    fused_.operation += "+flatten";
    layers_.push_back(graph_.layers.size() - 1);
    return true;
  }

  const Graph& graph_;
  const GraphLinks& links_;
  std::size_t first_;
  std::vector<std::size_t> layers_;
  std::optional<Value> flattened_;  // the picture that a Flatten before this layer reads
  bool pooled_ = false;
  FusedLayer fused_;
};

// A Flatten that is the network's output and runs with no layer.
void check_last_layer(const Graph& graph, const std::vector<bool>& taken) {
  const Layer& last = graph.layers.back();
  if (taken.back() || !std::holds_alternative<Flatten>(last.operation)) return;
  throw_unsupported(layer_place(last.name, last.source) +
                    ": a Flatten needs a layer before or after it");
}

}  // namespace

std::vector<FusedLayer> fuse_layers(const Graph& graph) {
  Refusals refusals;
  std::vector<FusedLayer> layers = fuse_layers(graph, refusals);
  throw_refusals(refusals);
  return layers;
}

std::vector<FusedLayer> fuse_layers(const Graph& graph, Refusals& refusals) {
  const GraphLinks links(graph);
  std::vector<FusedLayer> layers;
  std::vector<bool> taken(graph.layers.size(), false);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (taken[i] || std::holds_alternative<Flatten>(graph.layers[i].operation)) continue;
    Fusion fusion(graph, links, i);
    if (auto layer = fusion.build(refusals)) layers.push_back(std::move(*layer));
    for (const std::size_t layer : fusion.layers()) taken[layer] = true;
  }
  if (refusals.empty()) collect_refusal(refusals, [&] { check_last_layer(graph, taken); });
  return layers;
}

}  // namespace qsim::compiler
