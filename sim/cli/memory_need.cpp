#include "sim/cli/memory_need.h"

#include <algorithm>
#include <cmath>

#include "compiler/program_sizes.h"
#include "core/checked_math.h"
#include "core/io/memory.h"

namespace qsim {
namespace {

// Bytes of a network.
struct Sizes {
  std::int64_t input = 0;
  std::int64_t weights = 0;  // of all layers
  std::int64_t largest_weights = 0;
  std::int64_t conv_weights = 0;  // what golden packs
  std::int64_t largest_conv_weights = 0;
  std::int64_t outputs = 0;  // of all graph layers
  std::int64_t largest_output = 0;
  ProgramSizes program;  // none where nothing is compiled
};

// How often each size is in memory, at most; measured for each command (limits.md has the table).
struct Copies {
  double weights = 0;  // as the network has them or as the array takes them, whichever is more
  double largest_weights = 0;
  double conv_weights = 0;
  double largest_conv_weights = 0;
  double outputs = 0;
  double largest_output = 0;
  double ofmaps = 0;    // of program layers
  double writable = 0;  // input and ofmaps in DRAM, with channels padded to the array
  double commands = 0;
};

constexpr std::int64_t kProcessBytes = 24'000'000;  // libraries, tables, stacks
constexpr std::int64_t kCommandBytes = 320;         // with its origin, its times, its row in queues
constexpr std::int64_t kInputs = 2;                 // while it is made

constexpr Copies kGolden{.weights = 2, .largest_output = 2};

Copies copies_of_run(const Options& options) {
  if (options.no_data) return {.weights = 1, .commands = 1};
  Copies copies{.weights = 1, .largest_output = 1, .writable = 1, .commands = 1};
  if (!options.no_verify) {
    copies.largest_conv_weights = 1;
    copies.largest_output = 2;
    copies.ofmaps = 1;
  }
  if (!options.dump_layers.empty()) {
    copies.weights = 2;
    copies.largest_weights = 1;
    copies.outputs = 1;
    copies.ofmaps = 0;
  }
  return copies;
}

Copies copies_of(const Options& options) {
  switch (options.command) {
    case CommandName::kRun:
      return copies_of_run(options);
    case CommandName::kVerify:
      return {.weights = 2,
              .conv_weights = 1,
              .outputs = 1,
              .largest_output = 1,
              .ofmaps = 1,
              .writable = 1,
              .commands = 1};
    case CommandName::kCompile:
      return {.weights = options.program_out.empty() ? 2 : 5.2,
              .commands = options.program_out.empty() ? 1.0 : 2.0};
    case CommandName::kExportVectors:
      return {.weights = 9.2, .outputs = 1, .ofmaps = 1, .writable = 6.2, .commands = 3};
    default:
      return kGolden;
  }
}

Sizes sizes_of(const Graph& graph) {
  Sizes sizes;
  sizes.input = element_count(graph.input.shape.nhwc());
  for (const Layer& layer : graph.layers) {
    const std::int64_t output = element_count(layer.output.shape.nhwc());
    sizes.outputs = checked_add(sizes.outputs, output);
    sizes.largest_output = std::max(sizes.largest_output, output);
    if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
      sizes.weights += fc->weights.elems();
      sizes.largest_weights = std::max(sizes.largest_weights, fc->weights.elems());
    }
    const auto* conv = std::get_if<Conv2d>(&layer.operation);
    if (conv == nullptr) continue;
    sizes.weights += conv->weights.elems();
    sizes.conv_weights += conv->weights.elems();
    sizes.largest_conv_weights = std::max(sizes.largest_conv_weights, conv->weights.elems());
  }
  sizes.largest_weights = std::max(sizes.largest_weights, sizes.largest_conv_weights);
  return sizes;
}

std::int64_t need_bytes(const Sizes& sizes, const Copies& copies) {
  const auto times = [](double count, std::int64_t bytes) {
    return static_cast<std::int64_t>(std::ceil(count * static_cast<double>(bytes)));
  };
  return kProcessBytes + kInputs * sizes.input +
         times(copies.weights, std::max(sizes.weights, sizes.program.constant_bytes)) +
         times(copies.largest_weights, sizes.largest_weights) +
         times(copies.conv_weights, sizes.conv_weights) +
         times(copies.largest_conv_weights, sizes.largest_conv_weights) +
         times(copies.outputs, sizes.outputs) + times(copies.largest_output, sizes.largest_output) +
         times(copies.ofmaps, sizes.program.ofmap_elems) +
         times(copies.writable, sizes.program.writable_bytes) +
         times(copies.commands, sizes.program.commands * kCommandBytes);
}

void require_for(const std::string& model, std::int64_t bytes, std::int64_t given_back_bytes) {
  require_memory_in_all(bytes, given_back_bytes, "model '" + model + "'");
}

// `run` packs weights into the program while it gives those of the network back.
std::int64_t given_back_bytes(const Graph& graph, const Options& options) {
  return copies_of(options).weights < 2 ? sizes_of(graph).weights : 0;
}

}  // namespace

std::int64_t memory_need_bytes(const Graph& graph, const ArchConfig& arch, const Options& options) {
  Sizes sizes = sizes_of(graph);
  const Copies copies = copies_of(options);
  if (copies.commands > 0) sizes.program = program_sizes(graph, arch);
  return need_bytes(sizes, copies);
}

void require_memory_for(const std::string& model, const Graph& graph, const ArchConfig& arch,
                        const Options& options, std::int64_t more_bytes) {
  require_for(model, checked_add(memory_need_bytes(graph, arch, options), more_bytes),
              given_back_bytes(graph, options));
}

void require_memory_for_golden(const std::string& model, const Graph& graph,
                               const Options& options) {
  require_for(model, need_bytes(sizes_of(graph), options.no_data ? Copies{} : kGolden), 0);
}

}  // namespace qsim
