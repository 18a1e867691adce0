#include "sim/cli/memory_need.h"

#include <algorithm>
#include <cmath>

#include "core/checked_math.h"
#include "core/io/memory.h"

namespace qsim {
namespace {

// Bytes of a network.
struct Sizes {
  std::int64_t weights = 0;          // of all layers
  std::int64_t largest_weights = 0;  // of one layer
  std::int64_t ofmaps = 0;           // of all graph layers, and the input
  std::int64_t commands = 0;         // a bound of their number
};

// How often each size is in memory, at most; measured for each command (limits.md has the table).
struct Copies {
  double weights;
  double largest_weights;
  double ofmaps;
  double commands;  // 1 where there is a program
};

constexpr std::int64_t kProcessBytes = 24'000'000;  // libraries, tables, stacks
constexpr std::int64_t kCommandBytes = 320;         // with its origin, its times, its row in queues

Copies copies_of(const Options& options) {
  switch (options.command) {
    case CommandName::kRun:
      if (!options.dump_layers.empty()) return {2, 1, 1.25, 1};
      if (options.no_data) return {1, 0, 0.1, 1};
      return {1, 0, options.no_verify ? 0.7 : 1, 1};
    case CommandName::kVerify:
      return {2, 0, 2, 1};
    case CommandName::kCompile:
      return options.program_out.empty() ? Copies{2, 0, 0, 1} : Copies{5.2, 0, 0, 2};
    case CommandName::kExportVectors:
      return {9.2, 0, 1.4, 3};
    case CommandName::kGoldenRun:
    case CommandName::kGoldenBench:
      return {2, 0, 1, 0};
    default:
      return {1, 0, 0, 0};
  }
}

// Each tile is a few commands, and loads of as many weight slots as its output channels need.
std::int64_t commands_of(const ImageShape& out, std::int64_t depth, const ArchConfig& arch) {
  const std::int64_t pixels = out.batch * out.height * out.width;
  const std::int64_t runs = pixels == 1 ? 1 : 2 * ceil_div(pixels, arch.accumulator_half_words());
  const std::int64_t slot_bytes = arch.weight_slot_words() * arch.array_cols;
  const std::int64_t loads =
      ceil_div(depth * arch.array_cols, std::max<std::int64_t>(1, slot_bytes));
  return ceil_div(out.channels, arch.array_cols) * runs * (2 + 2 * loads);
}

Sizes sizes_of(const Graph& graph, const ArchConfig& arch) {
  Sizes sizes;
  sizes.ofmaps = element_count(graph.input.shape.nhwc());
  for (const Layer& layer : graph.layers) {
    const ImageShape& out = layer.output.shape;
    sizes.ofmaps = checked_add(sizes.ofmaps, element_count(out.nhwc()));
    const Tensor* weights = nullptr;
    if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) weights = &conv->weights;
    if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) weights = &fc->weights;
    if (weights == nullptr) continue;
    const std::int64_t bytes = weights->elems();
    sizes.weights += bytes;
    sizes.largest_weights = std::max(sizes.largest_weights, bytes);
    sizes.commands += commands_of(out, bytes / out.channels, arch);
  }
  return sizes;
}

}  // namespace

std::int64_t memory_need_bytes(const Graph& graph, const ArchConfig& arch, const Options& options) {
  const Sizes sizes = sizes_of(graph, arch);
  const Copies copies = copies_of(options);
  const auto times = [](double count, std::int64_t bytes) {
    return static_cast<std::int64_t>(std::ceil(count * static_cast<double>(bytes)));
  };
  return kProcessBytes + times(copies.weights, sizes.weights) +
         times(copies.largest_weights, sizes.largest_weights) + times(copies.ofmaps, sizes.ofmaps) +
         times(copies.commands, sizes.commands * kCommandBytes);
}

void require_memory_for(const std::string& model, const Graph& graph, const ArchConfig& arch,
                        const Options& options) {
  require_memory_in_all(memory_need_bytes(graph, arch, options), "model '" + model + "'");
}

}  // namespace qsim
