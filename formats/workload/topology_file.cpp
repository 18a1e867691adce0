#include "formats/workload/topology_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "core/base/checked_math.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "core/base/text_line.h"
#include "formats/files/files.h"

namespace qsim::formats {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::array<std::string_view, 8> kConvColumns = {
    "layer name",   "IFMAP height", "IFMAP width", "filter height",
    "filter width", "channels",     "num filter",  "strides"};
constexpr std::array<std::string_view, 4> kGemmColumns = {"layer name", "M", "N", "K"};

struct Field {
  std::string_view text;   // without blanks around it
  std::size_t column = 1;  // of the text, from 1
};

std::vector<Field> fields_of(std::string_view line) {
  std::vector<Field> fields;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    std::string_view text = line.substr(at, end - at);
    const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
    text.remove_prefix(first);
    while (!text.empty() && kBlanks.find(text.back()) != std::string_view::npos) {
      text.remove_suffix(1);
    }
    fields.push_back({text, at + first + 1});
    at = end + 1;
  }
  while (!fields.empty() && fields.back().text.empty()) fields.pop_back();
  return fields;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// What a row says, before it is a convolution.
struct Row {
  std::string name;
  std::int64_t ifmap_h = 1;
  std::int64_t ifmap_w = 1;
  std::int64_t filter_h = 1;
  std::int64_t filter_w = 1;
  std::int64_t channels = 1;
  std::int64_t filters = 1;
  std::int64_t stride = 1;
  std::int64_t batch = 1;
};

// Positions of a filter along one axis: the last may hang over the end.
std::int64_t positions(std::int64_t ifmap, std::int64_t filter, std::int64_t stride) {
  return ceil_div(ifmap - filter, stride) + 1;
}

// One axis of a convolution.
struct Axis {
  std::int64_t size = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t pad_end = 0;
};

Axis axis_of(std::int64_t ifmap, std::int64_t filter, std::int64_t stride) {
  const std::int64_t last = (positions(ifmap, filter, stride) - 1) * stride;
  return {ifmap, filter, stride, std::max<std::int64_t>(0, last + filter - ifmap)};
}

// An axis with one position: its elements are channels of one pixel.
std::int64_t take_channels(Axis& axis) {
  if (axis.size != axis.kernel) return 1;
  const std::int64_t channels = axis.size;
  axis = {};
  return channels;
}

TopologyLayer layer_of(const Row& row, std::string place) {
  Axis height = axis_of(row.ifmap_h, row.filter_h, row.stride);
  Axis width = axis_of(row.ifmap_w, row.filter_w, row.stride);
  const std::int64_t taken = checked_mul(take_channels(height), take_channels(width));
  // A column of pixels lies in DRAM as a row of them, in longer runs.
  if (width.size == 1 && width.kernel == 1) std::swap(height, width);
  TopologyLayer layer;
  layer.name = row.name;
  layer.place = std::move(place);
  layer.input = {row.batch, height.size, width.size, checked_mul(row.channels, taken)};
  layer.window = {height.kernel,  width.kernel, height.stride, width.stride, 0, 0,
                  height.pad_end, width.pad_end};
  layer.out_channels = row.filters;
  return layer;
}

class TopologyReader {
 public:
  explicit TopologyReader(const std::filesystem::path& path) : source_(path.string()) {
    topology_.name = path.stem().string();
  }

  Topology read(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      ++line_;
      const std::vector<Field> fields = fields_of(text.substr(at, end - at));
      if (line_ == 1) {
        read_header(fields);
      } else if (fields.size() > 1) {  // a name alone is a heading
        read_row(fields);
      }
      at = end + 1;
    }
    if (topology_.layers.empty()) {
      throw_bad_input(source_ + ": has no layer; expected a header and a row for each layer");
    }
    return std::move(topology_);
  }

 private:
  TextPosition here() const { return {&source_, line_}; }

  void read_header(const std::vector<Field>& fields) {
    is_gemm_ = fields.size() >= kGemmColumns.size() && lower(fields[1].text) == "m" &&
               lower(fields[2].text) == "n" && lower(fields[3].text) == "k";
    const bool is_conv = fields.size() >= kConvColumns.size() && !is_digits(fields[1].text);
    if (!is_gemm_ && !is_conv) {
      fail_at(here(), 1, "no header of a SCALE-Sim topology",
              "'Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, "
              "Num Filter, Strides,' or 'Layer, M, N, K,'");
    }
    const std::size_t columns = sizes().size();
    if (fields.size() > columns) extra_ = lower(fields[columns].text);
  }

  std::span<const std::string_view> sizes() const {
    return is_gemm_ ? std::span<const std::string_view>(kGemmColumns)
                    : std::span<const std::string_view>(kConvColumns);
  }

  std::int64_t number(const std::vector<Field>& fields, std::size_t index,
                      std::string_view what) const {
    const Field& field = fields[index];
    std::int64_t value = 0;
    const char* end = field.text.data() + field.text.size();
    const bool is_number =
        is_digits(field.text) && std::from_chars(field.text.data(), end, value).ec == std::errc();
    if (!is_number || value < 1 || value > kMaxWorkloadDim) {
      fail_at(here(), field.column, std::string(what) + " '" + echoed(field.text) + "'",
              "a number from 1 to " + std::to_string(kMaxWorkloadDim) + ", in decimal digits");
    }
    return value;
  }

  void read_row(const std::vector<Field>& fields) {
    const std::span<const std::string_view> names = sizes();
    if (fields.size() < names.size()) {
      fail_at(here(), fields.back().column, "a row of " + std::to_string(fields.size()) + " values",
              std::to_string(names.size()) + ", the last of them the " +
                  std::string(is_gemm_ ? "K of the product" : "strides"));
    }
    Row row = is_gemm_ ? gemm_row(fields) : conv_row(fields);
    if (fields.size() > names.size()) read_extra(fields, names.size(), row);
    const std::string name(fields[0].text);
    // As in SCALE-Sim: a name with DP in it is a layer for each channel.
    const bool is_depthwise = !is_gemm_ && name.find("DP") != std::string::npos;
    const std::int64_t copies = is_depthwise ? row.channels : 1;
    if (is_depthwise) row.channels = 1;
    for (std::int64_t i = 0; i < copies; ++i) {
      add(row, is_depthwise ? name + "Channel_" + std::to_string(i) : name);
    }
  }

  // M x K by K x N: M pixels of K channels, N filters of one tap.
  Row gemm_row(const std::vector<Field>& fields) const {
    Row row;
    row.ifmap_w = number(fields, 1, "M");
    row.filters = number(fields, 2, "N");
    row.channels = number(fields, 3, "K");
    return row;
  }

  Row conv_row(const std::vector<Field>& fields) const {
    Row row;
    row.ifmap_h = number(fields, 1, kConvColumns[1]);
    row.ifmap_w = number(fields, 2, kConvColumns[2]);
    row.filter_h = number(fields, 3, kConvColumns[3]);
    row.filter_w = number(fields, 4, kConvColumns[4]);
    row.channels = number(fields, 5, kConvColumns[5]);
    row.filters = number(fields, 6, kConvColumns[6]);
    row.stride = number(fields, 7, kConvColumns[7]);
    if (row.filter_h > row.ifmap_h) refuse_filter(fields[3], "height", row.ifmap_h);
    if (row.filter_w > row.ifmap_w) refuse_filter(fields[4], "width", row.ifmap_w);
    return row;
  }

  [[noreturn]] void refuse_filter(const Field& field, const std::string& side,
                                  std::int64_t ifmap) const {
    fail_at(here(), field.column, "a filter " + side + " of " + std::string(field.text),
            "at most the IFMAP " + side + ", " + std::to_string(ifmap));
  }

  // The column after the sizes: a sparsity, or a batch size where the header says so. What else is
  // there SCALE-Sim does not read.
  void read_extra(const std::vector<Field>& fields, std::size_t index, Row& row) const {
    const Field& field = fields[index];
    if (field.text.empty()) return;
    if (extra_ == "batch size") {
      row.batch = number(fields, index, "batch size");
      return;
    }
    const std::size_t colon = field.text.find(':');
    const bool is_ratio = colon != std::string_view::npos &&
                          is_digits(field.text.substr(0, colon)) &&
                          is_digits(field.text.substr(colon + 1));
    if (extra_ != "sparsity" && !is_ratio) return;
    if (is_ratio && field.text.substr(0, colon) == field.text.substr(colon + 1)) return;
    fail_at(here(), field.column, "the sparsity '" + echoed(field.text) + "'",
            "1:1, since qsim computes dense layers: it skips no zero weight");
  }

  void add(Row row, const std::string& name) {
    if (static_cast<std::int64_t>(topology_.layers.size()) == kMaxLayers) {
      throw_bad_input(source_ + ": has more than " + std::to_string(kMaxLayers) +
                      " layers; allowed: 1 to " + std::to_string(kMaxLayers));
    }
    row.name = unique(name.empty() ? "layer" + std::to_string(topology_.layers.size() + 1) : name);
    const std::string place = source_ + ":" + std::to_string(line_) + ":1";
    topology_.layers.push_back(with_place(place, [&] { return layer_of(row, place); }));
    topology_.layers.back().is_first = topology_.layers.size() == 1;
  }

  // The name, or with #2, #3, ... the first that no row above has.
  std::string unique(const std::string& name) {
    std::string result = name;
    int& count = times_[name];
    do {
      if (++count > 1) result = name + "#" + std::to_string(count);
    } while (!names_.insert(result).second);
    return result;
  }

  std::string source_;
  std::int64_t line_ = 0;
  bool is_gemm_ = false;
  std::string extra_;                 // the header's word after the sizes, in small letters
  std::map<std::string, int> times_;  // how often a name was asked for
  std::set<std::string> names_;       // of the layers
  Topology topology_;
};

}  // namespace

std::size_t first_alike(const Topology& topology, std::size_t layer) {
  const auto sizes_of = [](const TopologyLayer& one) {
    return std::tie(one.input, one.window, one.out_channels, one.is_first);
  };
  const auto& layers = topology.layers;
  std::size_t first = 0;
  while (!(sizes_of(layers[first]) == sizes_of(layers[layer]))) ++first;
  return first;
}

bool is_topology_file(const std::filesystem::path& path) { return path.extension() == ".csv"; }

Topology read_topology(const std::filesystem::path& path) {
  std::string text = read_text_file(path, kMaxYamlBytes);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a byte order mark
  return TopologyReader(path).read(text);
}

}  // namespace qsim::formats
