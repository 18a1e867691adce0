#include "report/graph_sheet.h"

#include <algorithm>
#include <initializer_list>

#include "core/network/graph_order.h"
#include "formats/settings/graph_words.h"

namespace qsim::report {

using formats::word_of;
namespace {

std::string value_text(const Value& value) {
  std::string text = shape_text(value.shape.nhwc()) + " " + std::string(dtype_name(value.dtype)) +
                     " zero_point " + std::to_string(value.zero_point);
  if (const auto exponent = value.scale_exponent()) {
    text += " scale 2^" + std::to_string(-*exponent);
  } else if (value.scale) {
    text += " scale " + formats::scale_text(*value.scale);
  }
  return text;
}

std::string pair_text(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + "x" + std::to_string(b);
}

// One number where all are equal: "s2", "p1,0,1,0".
std::string list_text(char letter, std::initializer_list<std::int64_t> numbers) {
  std::string text(1, letter);
  const bool all_equal = std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t number) {
    return number == *numbers.begin();
  });
  if (all_equal) return text + std::to_string(*numbers.begin());
  for (const std::int64_t number : numbers) {
    text += (text.size() == 1 ? "" : ",") + std::to_string(number);
  }
  return text;
}

std::string window_text(const Window& window) {
  return pair_text(window.kernel_h, window.kernel_w) + " " +
         list_text('s', {window.stride_h, window.stride_w}) + " " +
         list_text('p', {window.pad_top, window.pad_left, window.pad_bottom, window.pad_right}) +
         (window.dilation_h == 1 && window.dilation_w == 1
              ? ""
              : " " + list_text('d', {window.dilation_h, window.dilation_w}));
}

std::string window_text(const Conv2d& conv) {
  return window_text(conv.window) + (conv.groups == 1 ? "" : " g" + std::to_string(conv.groups));
}

std::string ofmap_text(const ImageShape& shape) {
  return pair_text(shape.batch, shape.height) + "x" + pair_text(shape.width, shape.channels);
}

// The least and the greatest of a layer's requantizers, as scales.
std::string scales_text(const std::vector<Requantizer>& requantizers) {
  const auto [low, high] = std::ranges::minmax_element(requantizers, {}, exact_scale);
  const auto text = [](const Requantizer& r) { return formats::requantizer_scale_text(r); };
  return "scale " + text(*low) + (*low == *high ? "" : ".." + text(*high)) +
         (requantizers.size() > 1 ? "/channel" : "");
}

std::string shift_text(const Requantization& requantization) {
  if (requantization.is_dyadic()) return scales_text(requantization.requantizers);
  const auto [low, high] =
      std::minmax_element(requantization.shifts.begin(), requantization.shifts.end());
  std::string text = std::to_string(*low);
  if (*low != *high) text += ".." + std::to_string(*high);
  return text + (requantization.shifts.size() > 1 ? "/channel" : "");
}

struct OperationWords {
  std::string window = "-";
  std::string shift = "-";
  std::string rounding = "-";
};

OperationWords words_of(const std::string& window, const Requantization& requantization) {
  const std::string_view rounding =
      requantization.is_dyadic()
          ? word_of(formats::kRequantizerRoundingWords, requantization.requantizers[0].rounding)
          : word_of(formats::kRoundingWords, requantization.rounding);
  return {window, shift_text(requantization), std::string(rounding)};
}

OperationWords words_of(const Operation& operation) {
  if (const auto* conv = std::get_if<Conv2d>(&operation)) {
    return words_of(window_text(*conv), conv->requantization);
  }
  if (const auto* fc = std::get_if<FullyConnected>(&operation)) {
    return words_of("-", fc->requantization);
  }
  OperationWords words;
  if (const Window* window = window_of(operation)) words.window = window_text(*window);
  if (const auto rounding = requantizer_rounding(operation)) {
    words.rounding = word_of(formats::kRequantizerRoundingWords, *rounding);
  }
  return words;
}

std::int64_t weight_bytes(const Operation& operation) {
  if (const auto* conv = std::get_if<Conv2d>(&operation)) return conv->weights.elems();
  if (const auto* fc = std::get_if<FullyConnected>(&operation)) return fc->weights.elems();
  return 0;
}

std::string inputs_text(const Layer& layer, const std::vector<std::string>& names) {
  std::string text;
  for (const TensorId id : layer.inputs) text += (text.empty() ? "" : ", ") + names[id];
  return text;
}

}  // namespace

Sheet graph_sheet(const Graph& graph) {
  Sheet sheet;
  sheet.add("graph", graph.name);
  sheet.add("input", value_text(graph.input_value()));
  sheet.add("output", value_text(graph.output_value()));
  sheet.add("layout", std::string(word_of(formats::kLayoutWords, graph.host.layout)));
  sheet.add("float_input", graph.host.float_input);
  sheet.add("float_output", graph.host.float_output);
  SheetTable table{"layers",
                   {"layer", "op", "ofmap", "dtype", "zero_point", "window", "shift", "rounding",
                    "weights", "macs"},
                   {}};
  // Where each layer reads the one before, the rows say so by their order.
  const bool has_branches = !is_chain(graph);
  if (has_branches) table.columns.insert(table.columns.begin() + 2, "inputs");
  const std::vector<std::string> names = names_of_tensors(graph);
  std::int64_t weights = 0;
  std::int64_t macs = 0;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const Value& ofmap = graph.output_of(i);
    const OperationWords words = words_of(layer.operation);
    const std::int64_t layer_weights = weight_bytes(layer.operation);
    table.rows.push_back({layer.name, std::string(operation_name(layer.operation)),
                          ofmap_text(ofmap.shape), std::string(dtype_name(ofmap.dtype)),
                          std::int64_t{ofmap.zero_point}, words.window, words.shift, words.rounding,
                          layer_weights, layer_macs(graph, i)});
    if (has_branches) {
      table.rows.back().insert(table.rows.back().begin() + 2, inputs_text(layer, names));
    }
    weights += layer_weights;
    macs += layer_macs(graph, i);
  }
  sheet.add("weights", weights);
  sheet.add("macs", macs);
  sheet.tables.push_back(std::move(table));
  return sheet;
}

}  // namespace qsim::report
