// Rounds each layer of the producers' files twice on the same input, as `float32` and as
// `half_even`, and proves in whole numbers that the two differ by 1 at most, and only where the
// exact value is nearly half way between two levels.
//
// usage: near_ties FOLDER
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "cli/host_tensors/host_layout.h"
#include "core/base/error.h"
#include "core/network/layer_arithmetic.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "formats/traces/npy.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/importer/quantized_files.h"

namespace qsim {

using namespace cli;
using namespace formats;
namespace {

namespace fs = std::filesystem;
__extension__ typedef __int128 Wide;

constexpr int kSkipped = 77;

struct Counts {
  std::int64_t values = 0;
  std::int64_t differ = 0;
  std::int64_t unproved = 0;  // differ by more than 1, or too far from a tie
  std::int64_t wrong = 0;     // golden's byte is not that of the sums here
  double nearest_to_bound = 0;
};

std::int64_t level_at(const Tensor& tensor, std::size_t index) {
  if (tensor.dtype == DType::kUint8) return tensor.as<std::uint8_t>()[index];
  return tensor.as<std::int8_t>()[index];
}

std::int64_t weight_at(const Tensor& weights, std::size_t index) {
  if (weights.dtype == DType::kInt16) return weights.as<std::int16_t>()[index];
  return weights.as<std::int8_t>()[index];
}

Wide magnitude(Wide value) { return value < 0 ? -value : value; }

// How far `value` is from the nearest odd multiple of `half`.
Wide distance_from_tie(Wide value, Wide half) {
  const Wide rest = magnitude(value) % (2 * half);
  return magnitude(rest - half);
}

// A layer of one file: its operands' values and levels, and its ofmap with rounding float32.
struct Case {
  const Graph& graph;
  const std::vector<Tensor>& tensors;  // of the graph, by TensorId
  std::size_t layer;
  Counts& counts;

  const Layer& own() const { return graph.layers[layer]; }
  const Value& input(std::size_t operand = 0) const { return graph.input_of(layer, operand); }
  const Tensor& levels(std::size_t operand = 0) const { return tensors[own().inputs[operand]]; }
  const Value& output() const { return graph.output_of(layer); }
  std::int64_t ofmap(std::size_t index) const { return level_at(tensors[own().output], index); }
  // The level without its zero_point; 0 outside the picture.
  std::int64_t centred(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const ImageShape& s = input().shape;
    if (y < 0 || x < 0 || y >= s.height || x >= s.width) return 0;
    const auto index =
        static_cast<std::size_t>(((n * s.height + y) * s.width + x) * s.channels + c);
    return level_at(levels(), index) - input().zero_point;
  }

  // Both roundings' levels. They may differ where `distance` is at most `bound`.
  void compare(std::size_t index, std::int64_t float32, std::int64_t half_even, Wide distance,
               Wide bound) const {
    ++counts.values;
    counts.wrong += float32 == ofmap(index) ? 0 : 1;
    if (float32 == half_even) return;
    ++counts.differ;
    const double share = static_cast<double>(distance) / static_cast<double>(bound);
    counts.nearest_to_bound = std::max(counts.nearest_to_bound, share);
    counts.unproved += distance <= bound && std::abs(float32 - half_even) == 1 ? 0 : 1;
  }

  // t * scale. float32 rounds t and the product to 24 bits: each moves the product by 2^-24 of
  // itself at most, so both by (2^-23 + 2^-48) of it.
  void compare_product(std::size_t index, std::int64_t t, Requantizer requantizer, std::int32_t lo,
                       std::int32_t hi) const {
    const auto level = [&](RequantizerRounding rounding) {
      requantizer.rounding = rounding;
      return std::int64_t{clamp_to(rounded_product(t, requantizer) + output().zero_point, lo, hi)};
    };
    const Wide product = Wide{t} * requantizer.multiplier;
    const Wide half = requantizer.shift == 0 ? 0 : Wide{1} << (requantizer.shift - 1);
    const Wide distance = half == 0 ? 0 : distance_from_tie(product, half);
    const Wide bound = magnitude(product) * ((Wide{1} << 25) + 1);  // times 2^48
    compare(index, level(RequantizerRounding::kFloat32), level(RequantizerRounding::kHalfEven),
            distance << 48, bound);
  }
};

struct At {
  std::int64_t n, y, x, c;
};

template <typename Visit>
void for_each_output(const ImageShape& shape, Visit visit) {
  std::size_t index = 0;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) {
        for (std::int64_t c = 0; c < shape.channels; ++c) visit(index++, At{n, y, x, c});
      }
    }
  }
}

void compare_layer(const Case& layer, const Conv2d& conv) {
  const Window& w = conv.window;
  const std::int64_t depth = conv.weights.shape[3];
  const std::int64_t group_outputs = layer.output().shape.channels / conv.groups;
  for_each_output(layer.output().shape, [&](std::size_t index, const At& at) {
    std::int64_t sum = conv.bias.as<std::int32_t>()[static_cast<std::size_t>(at.c)];
    auto weight = static_cast<std::size_t>(at.c * w.kernel_h * w.kernel_w * depth);
    for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
      for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
        for (std::int64_t ci = 0; ci < depth; ++ci) {
          sum += weight_at(conv.weights, weight++) *
                 layer.centred(at.n, at.y * w.stride_h + ky * w.dilation_h - w.pad_top,
                               at.x * w.stride_w + kx * w.dilation_w - w.pad_left,
                               at.c / group_outputs * depth + ci);
        }
      }
    }
    const Requantization& r = conv.requantization;
    layer.compare_product(index, sum, r.requantizer(at.c), r.lo, r.hi);
  });
}

void compare_layer(const Case& layer, const FullyConnected& fc) {
  const std::int64_t depth = fc.weights.shape[1];
  for_each_output(layer.output().shape, [&](std::size_t index, const At& at) {
    std::int64_t sum = fc.bias.as<std::int32_t>()[static_cast<std::size_t>(at.c)];
    for (std::int64_t ci = 0; ci < depth; ++ci) {
      sum += weight_at(fc.weights, static_cast<std::size_t>(at.c * depth + ci)) *
             layer.centred(at.n, 0, 0, ci);
    }
    const Requantization& r = fc.requantization;
    layer.compare_product(index, sum, r.requantizer(at.c), r.lo, r.hi);
  });
}

void compare_layer(const Case& layer, const AveragePool& pool) {
  const Window& w = pool.window;
  for_each_output(layer.output().shape, [&](std::size_t index, const At& at) {
    std::int64_t sum = 0;
    for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
      for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
        sum += layer.centred(at.n, at.y * w.stride_h + ky - w.pad_top,
                             at.x * w.stride_w + kx - w.pad_left, at.c);
      }
    }
    const std::int64_t count = average_count(pool, layer.input().shape, at.y, at.x);
    layer.compare_product(index, sum,
                          average_requantizer(pool, layer.input(), layer.output(), count).value(),
                          pool.lo, pool.hi);
  });
}

// The exact sum in units of 2^-39. float32 rounds five times: rb * zb, that plus ra * za, the
// constant, the constant plus b * rb, and the sum; each moves it by 2^-24 of what it rounds, and
// 1 + 2^-20 bounds how the later steps see the earlier roundings.
void compare_layer(const Case& layer, const Add& add) {
  Add exactly = add;
  exactly.rounding = RequantizerRounding::kHalfEven;
  const Adder float32 = adder_of(add, layer.input(0), layer.input(1), layer.output()).value();
  const Adder exact = adder_of(exactly, layer.input(0), layer.input(1), layer.output()).value();
  const Wide zero_point = Wide{layer.output().zero_point} << kAdderFractionBits;
  const Wide a_zero = Wide{exact.a_ratio} * layer.input(0).zero_point;
  const Wide b_zero = Wide{exact.b_ratio} * layer.input(1).zero_point;
  for_each_output(layer.output().shape, [&](std::size_t index, const At&) {
    const auto a = static_cast<std::int32_t>(level_at(layer.levels(0), index));
    const auto b = static_cast<std::int32_t>(level_at(layer.levels(1), index));
    const Wide constant = zero_point - a_zero - b_zero;
    const Wide b_part = Wide{b} * exact.b_ratio + constant;
    const Wide sum = Wide{a} * exact.a_ratio + b_part;
    const Wide rounded = magnitude(b_zero) + magnitude(a_zero + b_zero) + magnitude(constant) +
                         magnitude(b_part) + magnitude(sum);
    const Wide bound = rounded * ((Wide{1} << 20) + 1);  // times 2^44
    const Wide distance = distance_from_tie(sum, Wide{1} << (kAdderFractionBits - 1)) << 44;
    const std::int32_t zero = layer.output().zero_point;
    layer.compare(index, add_levels(a, b, float32, zero, add.lo, add.hi),
                  add_levels(a, b, exact, zero, add.lo, add.hi), distance, bound);
  });
}

template <typename Other>
void compare_layer(const Case&, const Other&) {}

fs::path input_of(const fs::path& file) {
  fs::path own = file;
  own.replace_extension(".input.npy");
  if (fs::exists(own)) return own;
  const std::string name = file.filename().string();
  return file.parent_path() / (name.substr(0, name.find('.')) + ".input.npy");
}

struct Report {
  std::map<std::string, Counts> operators;
  std::int64_t files = 0;
  std::int64_t outputs = 0;  // bytes of the networks' outputs
  std::int64_t outputs_differ = 0;
  std::int64_t largest_output_difference = 0;
};

// False for a file that the importer refuses.
bool add_file(const fs::path& file, Report& report) {
  const Tensor numbers = read_npy(input_of(file));
  const auto import = [&](std::optional<RequantizerRounding> rounding) {
    return import_onnx(file, ImportOptions{numbers.shape[0], rounding});
  };
  Graph graph;
  try {
    graph = import(RequantizerRounding::kFloat32);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel) throw;
    return false;
  }
  const Tensor input = input_from_host(numbers, input_form(graph), file.string());
  std::vector<Tensor> tensors(graph.tensors.size());
  tensors[graph.input] = input;
  std::vector<Tensor> ofmaps = golden::run_graph(graph, input, golden::Path::kPlain);
  for (std::size_t i = 0; i < ofmaps.size(); ++i) {
    tensors[graph.layers[i].output] = std::move(ofmaps[i]);
  }
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Operation& operation = graph.layers[i].operation;
    const Case layer{graph, tensors, i, report.operators[std::string(operation_name(operation))]};
    std::visit([&](const auto& each) { compare_layer(layer, each); }, operation);
  }
  const Tensor once =
      golden::run_graph(import(RequantizerRounding::kHalfEven), input, golden::Path::kPlain).back();
  ++report.files;
  for (std::size_t i = 0; i < once.bytes.size(); ++i) {
    const std::int64_t difference =
        std::abs(level_at(once, i) - level_at(tensors[graph.output], i));
    ++report.outputs;
    report.outputs_differ += difference != 0 ? 1 : 0;
    report.largest_output_difference = std::max(report.largest_output_difference, difference);
  }
  return true;
}

int print(const Report& report) {
  std::int64_t faults = 0;
  std::int64_t differ = 0;
  for (const auto& [name, counts] : report.operators) {
    if (counts.values == 0) continue;
    faults += counts.unproved + counts.wrong;
    differ += counts.differ;
    std::cout << name << ": " << counts.values << " values, " << counts.differ
              << " differ, each by 1 and within the bound of a tie but " << counts.unproved
              << " (largest share of the bound " << counts.nearest_to_bound << "); " << counts.wrong
              << " are not golden's\n";
  }
  std::cout << report.files << " files: of " << report.outputs << " bytes of outputs "
            << report.outputs_differ << " differ, by at most " << report.largest_output_difference
            << "\n";
  return faults == 0 && differ > 0 && report.files > 90 ? 0 : 1;
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: near_ties FOLDER\n";
    return 2;
  }
  if (!std::filesystem::is_directory(argv[1])) {
    std::cout << "skipped: no folder " << argv[1] << ", which the tests onnx.* make\n";
    return qsim::kSkipped;
  }
  qsim::Report report;
  for (const auto& file : qsim::quantized_files(argv[1])) qsim::add_file(file, report);
  return qsim::print(report);
}
