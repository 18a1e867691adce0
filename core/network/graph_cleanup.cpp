#include "core/network/graph_cleanup.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "core/network/float_rules.h"

namespace qsim {
namespace {

// lo and hi where the table is min(max(level, lo), hi) from a Value to one of the same
// quantization.
std::optional<Clamp> clamp_of(const LookupTable& table, const Value& input, const Value& output) {
  if (input.dtype != output.dtype || input.zero_point != output.zero_point ||
      input.scale != output.scale) {
    return std::nullopt;
  }
  const auto level = [&](std::int32_t of) {
    return level_of_byte(table.bytes[static_cast<std::size_t>(of & 0xFF)], output.dtype);
  };
  const Clamp clamp{level(input.min()), level(input.max())};
  if (clamp.lo > clamp.hi) return std::nullopt;
  for (std::int32_t of = input.min(); of <= input.max(); ++of) {
    if (level(of) != std::clamp(of, clamp.lo, clamp.hi)) return std::nullopt;
  }
  return clamp;
}

// Narrows the clamp of a layer that has one. False where it has none.
bool clamp_layer(Operation& operation, const Clamp& clamp) {
  const auto own = clamp_of(operation);
  return own && set_clamp(operation, {std::clamp(own->lo, clamp.lo, clamp.hi),
                                      std::clamp(own->hi, clamp.lo, clamp.hi)});
}

// Layers by the tensor that they write; the input has none.
std::vector<Layer*> writers_of(Graph& graph) {
  std::vector<Layer*> writers(graph.tensors.size(), nullptr);
  for (Layer& layer : graph.layers) writers[layer.output] = &layer;
  return writers;
}

// How many operands of layers the output depends on are each tensor; the output itself is one more.
std::vector<int> reader_counts(const Graph& graph) {
  std::vector<int> readers(graph.tensors.size(), 0);
  ++readers[graph.output];
  for (auto layer = graph.layers.rbegin(); layer != graph.layers.rend(); ++layer) {
    if (readers[layer->output] == 0) continue;
    for (const TensorId input : layer->inputs) ++readers[input];
  }
  return readers;
}

void replace_clamping_tables(Graph& graph) {
  std::vector<int> readers = reader_counts(graph);
  const std::vector<Layer*> writers = writers_of(graph);
  std::vector<TensorId> same(graph.tensors.size());
  for (TensorId id = 0; id < same.size(); ++id) same[id] = id;
  for (Layer& layer : graph.layers) {
    for (TensorId& input : layer.inputs) input = same[input];
    const auto* table = std::get_if<LookupTable>(&layer.operation);
    if (table == nullptr) continue;
    const TensorId input = layer.inputs[0];
    const Value& value = graph.tensors[input];
    const auto clamp = clamp_of(*table, value, graph.tensors[layer.output]);
    if (!clamp) continue;
    if (readers[input] == 1 && writers[input] != nullptr &&
        clamp_layer(writers[input]->operation, *clamp)) {
      same[layer.output] = input;
      readers[input] = readers[layer.output];
    } else if (clamp->lo == value.zero_point && clamp->hi == value.max()) {
      layer.operation = Relu{};
    }
  }
  graph.output = same[graph.output];
}

// A graph in the making that takes another's layers one by one, in their order.
class GraphCopy {
 public:
  explicit GraphCopy(Graph& from) : id_of_(from.tensors.size(), 0) {
    result.name = std::move(from.name);
    result.host = from.host;
    result.input_value() = from.input_value();
  }

  std::vector<TensorId> inputs_of(const Layer& layer) const {
    std::vector<TensorId> inputs;
    for (const TensorId input : layer.inputs) inputs.push_back(id_of_[input]);
    return inputs;
  }
  void take(Layer& layer, const Value& output) {
    std::vector<TensorId> inputs = inputs_of(layer);
    id_of_[layer.output] = append(result, std::move(layer.name), std::move(layer.operation),
                                  std::move(inputs), output, std::move(layer.source));
  }
  // The tensor here of one there.
  TensorId& id_of(TensorId there) { return id_of_[there]; }

  Graph result;

 private:
  std::vector<TensorId> id_of_;
};

// Leaves out the layers, and tensors, that the output does not depend on.
Graph pruned(Graph graph) {
  const std::vector<int> readers = reader_counts(graph);
  GraphCopy copy(graph);
  for (Layer& layer : graph.layers) {
    if (readers[layer.output] > 0) copy.take(layer, graph.tensors[layer.output]);
  }
  return std::move(copy.result);
}

bool is_of_each_number(const Operation& operation) {
  return std::holds_alternative<LookupTable>(operation) || std::holds_alternative<Relu>(operation);
}

// The layer that writes the tensor, where it flattens pictures of several pixels; else null.
const Layer* flatten_before(const Graph& graph, TensorId tensor) {
  const auto writer = std::ranges::find(graph.layers, tensor, &Layer::output);
  if (writer == graph.layers.end() || !std::holds_alternative<Flatten>(writer->operation)) {
    return nullptr;
  }
  const ImageShape& shape = graph.tensors[writer->inputs[0]].shape;
  return shape.height * shape.width > 1 ? &*writer : nullptr;
}

// The shift that a requantizer is; nothing where it is none.
std::optional<std::uint8_t> shift_of(const Requantizer& requantizer) {
  const int shift = requantizer.shift - (kMultiplierBits - 1);
  if (requantizer.multiplier != kLeastMultiplier || shift < 0 || shift > kMaxShift) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(shift);
}

bool can_shift(Graph& graph) {
  TensorId last = graph.input;
  for (const Value& tensor : graph.tensors) {
    if (tensor.scale && !tensor.scale_exponent()) return false;
  }
  for (Layer& layer : graph.layers) {
    if (layer.inputs != std::vector<TensorId>{last}) return false;
    last = layer.output;
    if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
      const Window& w = conv->window;
      if (conv->groups != 1 || w.dilation_h != 1 || w.dilation_w != 1) return false;
      if (conv->weights.dtype != DType::kInt8) return false;
    } else if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
      if (fc->weights.dtype != DType::kInt8) return false;
    } else if (!row_of(layer.operation).selects_levels) {
      return false;
    }
    const Requantization* requantization = requantization_of(layer.operation);
    if (requantization == nullptr) continue;
    if (!std::ranges::all_of(requantization->requantizers,
                             [](const Requantizer& each) { return shift_of(each).has_value(); })) {
      return false;
    }
  }
  return true;
}

}  // namespace

Graph cleaned(Graph graph) {
  replace_clamping_tables(graph);
  return pruned(std::move(graph));
}

Graph with_tables_before_flattens(Graph graph) {
  const std::vector<int> readers = reader_counts(graph);
  GraphCopy copy(graph);
  Graph& result = copy.result;
  for (Layer& layer : graph.layers) {
    const Value& output = graph.tensors[layer.output];
    const bool moves = is_of_each_number(layer.operation) && readers[layer.inputs[0]] == 1;
    const Layer* found = moves ? flatten_before(result, copy.id_of(layer.inputs[0])) : nullptr;
    if (found == nullptr) {
      copy.take(layer, output);
      continue;
    }
    const Layer flatten = *found;
    Value value = output;
    value.shape = result.tensors[flatten.inputs[0]].shape;
    append(result, std::move(layer.name), std::move(layer.operation), flatten.inputs, value,
           std::move(layer.source));
    copy.id_of(layer.output) =
        append(result, flatten.name, flatten.operation, output, flatten.source);
  }
  result.output = copy.id_of(graph.output);
  return pruned(std::move(result));
}

namespace {

bool is_cut(const Layer& layer, std::int64_t most) {
  const auto* const pool = std::get_if<MaxPool>(&layer.operation);
  if (pool == nullptr) return false;
  const Window& window = pool->window;
  const std::int64_t longest = std::max(window.kernel_h, window.kernel_w);
  return longest > most && longest <= kMostCutPool && window.dilation_h == 1 &&
         window.dilation_w == 1;
}

// One axis of a window: what is left of it, of which parts are taken.
struct PoolAxis {
  std::int64_t kernel;
  std::int64_t before;
  std::int64_t after;

  // A part that reaches at most `reach` further than one position, with the pads that fit it.
  PoolAxis take(std::int64_t reach) {
    const std::int64_t part = std::min(kernel - 1, reach);
    const PoolAxis taken = {part + 1, std::min(before, part), std::min(after, part)};
    kernel -= part;
    before -= taken.before;
    after -= taken.after;
    return taken;
  }
};

// A window of k is one of k' and one of k - k' + 1 after it. Pads are shorter than a kernel, so
// that each part's pads are shorter than its own.
std::vector<Window> parts_of(const Window& window, std::int64_t most) {
  PoolAxis rows = {window.kernel_h, window.pad_top, window.pad_bottom};
  PoolAxis columns = {window.kernel_w, window.pad_left, window.pad_right};
  std::vector<Window> parts;
  while (rows.kernel > 1 || columns.kernel > 1) {
    const PoolAxis h = rows.take(most - 1);
    const PoolAxis w = columns.take(most - 1);
    parts.push_back({.kernel_h = h.kernel,
                     .kernel_w = w.kernel,
                     .pad_top = h.before,
                     .pad_left = w.before,
                     .pad_bottom = h.after,
                     .pad_right = w.after});
  }
  parts.back().stride_h = window.stride_h;
  parts.back().stride_w = window.stride_w;
  return parts;
}

}  // namespace

Graph with_small_max_pools(Graph graph, std::int64_t most) {
  const auto cuts = [&](const Layer& layer) { return is_cut(layer, most); };
  if (std::ranges::none_of(graph.layers, cuts)) return graph;
  std::set<std::string> names;
  for (const Layer& layer : graph.layers) names.insert(layer.name);
  GraphCopy copy(graph);
  for (Layer& layer : graph.layers) {
    const Value output = graph.tensors[layer.output];
    if (!cuts(layer)) {
      copy.take(layer, output);
      continue;
    }
    const std::vector<Window> parts = parts_of(std::get<MaxPool>(layer.operation).window, most);
    TensorId read = copy.id_of(layer.inputs[0]);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool is_last = i + 1 == parts.size();
      std::string name = layer.name;
      for (std::size_t n = i + 1; !is_last && !names.insert(name).second; ++n) {
        name = layer.name + "/" + std::to_string(n);
      }
      Value value = output;
      if (!is_last) {
        value = copy.result.tensors[read];
        value.shape.height += parts[i].pad_top + parts[i].pad_bottom - (parts[i].kernel_h - 1);
        value.shape.width += parts[i].pad_left + parts[i].pad_right - (parts[i].kernel_w - 1);
      }
      read = append(copy.result, name, MaxPool{parts[i]}, {read}, value, layer.source);
    }
    copy.id_of(layer.output) = read;
  }
  copy.result.output = copy.id_of(graph.output);
  return std::move(copy.result);
}

void use_shifts_where_all_can(Graph& graph) {
  if (!can_shift(graph)) return;
  for (Layer& layer : graph.layers) {
    Requantization* requantization = requantization_of(layer.operation);
    if (requantization == nullptr) continue;
    for (const Requantizer& each : requantization->requantizers) {
      requantization->shifts.push_back(*shift_of(each));
    }
    requantization->requantizers.clear();
    requantization->rounding = RoundingMode::kHalfEven;
  }
}

}  // namespace qsim
