// Writes layer traces; layer_trace_reader.cpp is its inverse.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "core/network/graph_order.h"
#include "formats/files/files.h"
#include "formats/settings/graph_words.h"
#include "formats/text/yaml.h"
#include "formats/traces/layer_trace.h"
#include "formats/traces/npy.h"

namespace qsim::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxStemChars = 80;
constexpr const char* kInputFile = "input.npy";

// "3_conv2": unique by the index, and harmless as a file name.
std::string file_stem(std::size_t index, const std::string& layer_name) {
  std::string stem = std::to_string(index) + "_" + layer_name.substr(0, kMaxStemChars);
  std::replace_if(
      stem.begin(), stem.end(),
      [](unsigned char c) { return (std::isalnum(c) == 0 || c > 0x7f) && c != '-' && c != '.'; },
      '_');
  return stem;
}

template <typename Range>
std::string list_text(const Range& values) {
  std::string text = "[";
  for (const auto& value : values) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  }
  return text + "]";
}

std::string quantization_text(const Value& value, const std::string& indent) {
  std::string text = indent + "zero_point: " + std::to_string(value.zero_point) + "\n";
  const auto exponent = value.scale_exponent();
  if (exponent && std::abs(*exponent) <= kMaxScaleExponent) {
    text += indent + "scale_exponent: " + std::to_string(*exponent) + "\n";
  } else if (value.scale) {
    text += indent + "scale: " + scale_text(*value.scale) + "\n";
  }
  return text;
}

// A layer's line of trace.yaml.
std::string line_of(std::string_view key, std::string_view value) {
  return "    " + std::string(key) + ": " + std::string(value) + "\n";
}

std::string scales_text(const std::vector<Requantizer>& requantizers) {
  std::string text;
  for (const Requantizer& requantizer : requantizers) {
    text += (text.empty() ? "[" : ", ") + requantizer_scale_text(requantizer);
  }
  return line_of("scales", text + "]");
}

// Absent where a layer reads what the layer before it wrote.
std::string inputs_text(const Graph& graph, const std::vector<std::string>& names,
                        std::size_t index) {
  const Layer& layer = graph.layers[index];
  const TensorId before = index == 0 ? graph.input : graph.layers[index - 1].output;
  if (layer.inputs == std::vector<TensorId>{before}) return "";
  std::string text;
  for (const TensorId input : layer.inputs) {
    text += (text.empty() ? "[" : ", ") + yaml_quoted(names[input]);
  }
  return "    inputs: " + text + "]\n";
}

// trace.yaml, and the tensors beside it by their files' names.
struct TraceFiles {
  std::string yaml;
  std::vector<std::pair<std::string, const Tensor*>> tensors;
};

// Writes the attributes of a layer's operation, and adds its tensors.
class OperationWriter {
 public:
  OperationWriter(std::string stem, TraceFiles& files) : stem_(std::move(stem)), files_(files) {}

  template <typename Op>
  void operator()(const Op& operation) const {
    Op::attributes(operation, [&](std::string_view key, const auto& value) { write(key, value); });
  }

  // Adds `tensor` as <stem>.<key>.npy and the line that names it.
  void tensor(std::string_view key, const Tensor* tensor) const {
    const std::string name = stem_ + "." + std::string(key) + ".npy";
    QSIM_CHECK(is_layer_trace_file(name), name + " is no name of a layer trace's file");
    files_.tensors.emplace_back(name, tensor);
    line(key, yaml_quoted(name));
  }

 private:
  void line(std::string_view key, std::string_view value) const {
    files_.yaml += line_of(key, value);
  }

  void write(std::string_view key, const Tensor& value) const { tensor(key, &value); }
  void write(std::string_view, const Window& w) const {
    using List = std::vector<std::int64_t>;
    line("kernel", list_text(List{w.kernel_h, w.kernel_w}));
    line("stride", list_text(List{w.stride_h, w.stride_w}));
    line("pads", list_text(List{w.pad_top, w.pad_left, w.pad_bottom, w.pad_right}));
    if (w.dilation_h == 1 && w.dilation_w == 1) return;
    line("dilation", list_text(List{w.dilation_h, w.dilation_w}));
  }
  void write(std::string_view, const Requantization& r) const {
    if (r.is_dyadic()) {
      write("rounding", r.requantizers[0].rounding);
      files_.yaml += scales_text(r.requantizers);
    } else {
      line("rounding", word_of(kRoundingWords, r.rounding));
      line("shifts", list_text(r.shifts));
    }
    write("lo", r.lo);
    write("hi", r.hi);
  }
  void write(std::string_view key, RequantizerRounding rounding) const {
    line(key, word_of(kRequantizerRoundingWords, rounding));
  }
  void write(std::string_view key, std::int32_t bound) const { line(key, std::to_string(bound)); }
  void write(std::string_view key, std::int64_t count) const {
    if (count != 1) line(key, std::to_string(count));
  }
  void write(std::string_view key, bool flag) const { line(key, flag ? "true" : "false"); }
  void write(std::string_view key, const std::string& text) const { line(key, yaml_quoted(text)); }
  void write(std::string_view key, Flatten::Order order) const {
    line(key, word_of(kFlattenOrderWords, order));
  }
  void write(std::string_view key, const std::array<std::uint8_t, 256>& table) const {
    line(key, list_text(table));
  }
  // Reals have no layer trace.
  void write(std::string_view, Activation::Kind) const {}
  void write(std::string_view, float) const {}

  std::string stem_;
  TraceFiles& files_;
};

std::string header_text(const Graph& graph) {
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  const HostInterface& host = graph.host;
  return "schema: " + std::string(kLayerTraceSchema) + "\nname: " + yaml_quoted(graph.name) +
         "\ninput:\n  file: " + kInputFile + "\n" + quantization_text(graph.input_value(), "  ") +
         "host:\n  layout: " + std::string(word_of(kLayoutWords, host.layout)) +
         "\n  float_input: " + flag(host.float_input) +
         "\n  float_output: " + flag(host.float_output) +
         "\n  flat_output: " + flag(host.flat_output) + "\nlayers:\n";
}

// `inputs` calls the network's input "input"; a layer of that name would take its place.
void require_names_of_tensors(const Graph& graph) {
  if (is_chain(graph)) return;
  for (const Layer& layer : graph.layers) {
    if (layer.name != kInputName) continue;
    throw_bad_input(layer_place(layer.name, layer.source) +
                    ": a layer trace of a network with branches has no room for a layer called "
                    "'input'; rename it");
  }
}

// Of the layers' ofmaps, `ofmap` gives that of a layer.
template <typename Ofmap>
TraceFiles trace_files(const fs::path& folder, const Graph& graph, Ofmap ofmap) {
  QSIM_CHECK(!graph.is_real(), graph.name + ": a float network has no layer trace");
  require_names_of_tensors(graph);
  const std::vector<std::string> names = names_of_tensors(graph);
  TraceFiles files;
  files.yaml = header_text(graph);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const OperationWriter writer(file_stem(i, layer.name), files);
    files.yaml += "  - name: " + yaml_quoted(layer.name) +
                  "\n    op: " + std::string(operation_name(layer.operation)) + "\n";
    files.yaml += inputs_text(graph, names, i);
    std::visit(writer, layer.operation);
    files.yaml += quantization_text(graph.output_of(i), "    ");
    writer.tensor("ofmap", ofmap(i));
  }
  if (std::ssize(files.yaml) > kMaxTraceYamlBytes) {
    throw_bad_input((folder / kLayerTraceFile).string() + ": would have " +
                    std::to_string(files.yaml.size()) + " bytes; allowed: " +
                    std::to_string(kMaxTraceYamlBytes) + "; take fewer layers, with --layers");
  }
  return files;
}

bool ends_with_part(const std::string& name) {
  for (const std::string part : {".weights.npy", ".bias.npy", ".slopes.npy", ".ofmap.npy"}) {
    if (name.ends_with(part)) return true;
  }
  return false;
}

}  // namespace

bool is_layer_trace_file(const std::string& name) {
  if (name == kLayerTraceFile || name == kInputFile) return true;
  const std::size_t digits = name.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string::npos && name[digits] == '_' && ends_with_part(name);
}

void write_layer_trace(const fs::path& folder, const Graph& graph, const Tensor& input,
                       const std::vector<Tensor>& ofmaps) {
  write_layer_trace(folder, graph, input, ofmaps, write_file_atomically);
}

void require_layer_trace_fits(const fs::path& folder, const Graph& graph) {
  trace_files(folder, graph, [](std::size_t) { return nullptr; });
}

void write_layer_trace(const fs::path& folder, const Graph& graph, const Tensor& input,
                       const std::vector<Tensor>& ofmaps, const FileWriter& write_file) {
  QSIM_CHECK(ofmaps.size() == graph.layers.size(), "one ofmap a layer");
  const TraceFiles files =
      trace_files(folder, graph, [&ofmaps](std::size_t layer) { return &ofmaps[layer]; });
  make_folder(folder);
  remove_file(folder / kLayerTraceFile);  // of an older trace, whose tensors are replaced
  write_file(folder / kInputFile, npy_bytes(input));
  std::set<std::string> names = {kInputFile};
  for (const auto& [name, tensor] : files.tensors) {
    write_file(folder / name, npy_bytes(*tensor));
    names.insert(name);
  }
  remove_other_files(folder, is_layer_trace_file, names);
  write_file(folder / kLayerTraceFile, files.yaml);
}

}  // namespace qsim::formats
