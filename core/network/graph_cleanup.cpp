#include "core/network/graph_cleanup.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/checked_math.h"
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

// One axis of a window: what is left of it, of which parts are taken.
struct PoolAxis {
  std::int64_t kernel;
  std::int64_t before;
  std::int64_t after;
  std::int64_t stride = 1;
  std::int64_t size = 1;  // of what it reads
  bool is_whole = false;  // one long window reads all: it may have any stride

  // A window of stride s1 * s2 is one of stride s1, and one of stride s2 over its results: with
  // s1 <= k1 < 2 * s1 and k = k1 + (k2 - 1) * s1 they read the same positions. Takes the first,
  // with s1 up to `most`: all its windows that begin on the axis. A window of 1 where none is
  // wanted, and nothing where there is none.
  std::optional<PoolAxis> take_stride(std::int64_t most) {
    is_whole = is_whole || (kernel > kMostCutPool && size + before + after == kernel);
    const bool is_free = is_whole && kernel > most;
    if (!is_free && stride <= most) {
      return kernel <= kMostCutPool ? std::optional(PoolAxis{1, 0, 0}) : std::nullopt;
    }
    std::int64_t first = most;
    while (!is_free && stride % first != 0) --first;
    if (first == 1 || kernel < first) return std::nullopt;
    const std::int64_t results = (size + before + after - kernel) / stride + 1;
    PoolAxis part = {first + kernel % first, 0, 0, first};
    kernel /= first;
    stride = is_free ? 1 : stride / first;
    const std::int64_t later = std::min(before / first, kernel - 1);
    part.before = std::exchange(before, later) - later * first;
    const std::int64_t wanted = (results - 1) * stride + kernel - before;
    const std::int64_t padded = part.before + size;
    size = std::min(wanted, ceil_div(padded, first));
    part.after = std::max<std::int64_t>(0, (size - 1) * first + part.kernel - padded);
    after = wanted - size;
    return part;
  }

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
void add_parts(PoolAxis rows, PoolAxis columns, std::int64_t most, std::vector<Window>& parts) {
  const std::int64_t stride_h = rows.stride;
  const std::int64_t stride_w = columns.stride;
  do {
    const PoolAxis h = rows.take(most - 1);
    const PoolAxis w = columns.take(most - 1);
    parts.push_back({.kernel_h = h.kernel,
                     .kernel_w = w.kernel,
                     .pad_top = h.before,
                     .pad_left = w.before,
                     .pad_bottom = h.after,
                     .pad_right = w.after});
  } while (rows.kernel > 1 || columns.kernel > 1);
  parts.back().stride_h = stride_h;
  parts.back().stride_w = stride_w;
}

// What a max-pool makes of a picture; a size below 1 where a window is larger than an axis.
ImageShape behind(const Window& pool, ImageShape shape) {
  shape.height += pool.pad_top + pool.pad_bottom - pool.kernel_h + pool.stride_h;
  shape.width += pool.pad_left + pool.pad_right - pool.kernel_w + pool.stride_w;
  shape.height /= pool.stride_h;
  shape.width /= pool.stride_w;
  return shape;
}

// The chain of a max-pool; empty where it stays.
std::vector<Window> parts_of(const Window& window, const ImageShape& input, std::int64_t most) {
  const auto is_large = [&](const Window& w) {
    return std::max({w.kernel_h, w.kernel_w, w.stride_h, w.stride_w}) > most;
  };
  if (!is_large(window) || window.dilation_h != 1 || window.dilation_w != 1) return {};
  PoolAxis rows = {window.kernel_h, window.pad_top, window.pad_bottom, window.stride_h,
                   input.height};
  PoolAxis columns = {window.kernel_w, window.pad_left, window.pad_right, window.stride_w,
                      input.width};
  std::vector<Window> parts;
  for (;;) {
    const std::optional<PoolAxis> h = rows.take_stride(most);
    const std::optional<PoolAxis> w = columns.take_stride(most);
    if (!h || !w) return {};
    if (h->stride == 1 && w->stride == 1) break;
    add_parts(*h, *w, most, parts);
  }
  add_parts(rows, columns, most, parts);
  return parts;
}

}  // namespace

Graph with_small_max_pools(Graph graph, std::int64_t most) {
  const auto parts_of_layer = [&](const Layer& layer) {
    const auto* const pool = std::get_if<MaxPool>(&layer.operation);
    if (pool == nullptr) return std::vector<Window>();
    return parts_of(pool->window, graph.tensors[layer.inputs[0]].shape, most);
  };
  if (std::ranges::all_of(graph.layers, &std::vector<Window>::empty, parts_of_layer)) return graph;
  std::set<std::string> names;
  for (const Layer& layer : graph.layers) names.insert(layer.name);
  GraphCopy copy(graph);
  for (Layer& layer : graph.layers) {
    const Value output = graph.tensors[layer.output];
    const std::vector<Window> parts = parts_of_layer(layer);
    if (parts.empty()) {
      copy.take(layer, output);
      continue;
    }
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
        value.shape = behind(parts[i], value.shape);
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
