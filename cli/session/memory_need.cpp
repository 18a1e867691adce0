#include "cli/session/memory_need.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compiler/program_sizes.h"
#include "core/checked_math.h"
#include "files/memory.h"

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
  std::int64_t last_output = 0;
  std::int64_t output_files = 0;  // what --out makes of the last output before it is written
  std::int64_t scores = 0;        // of the classes of one picture
  ProgramSizes program;           // none where nothing is compiled
};

// How often each size is in memory, at most, at one moment of a command; measured (limits.md has
// the table).
struct Copies {
  double weights = 0;  // as the network has them or as the array takes them, whichever is more
  double largest_weights = 0;
  double largest_block = 0;  // packed before the network's are given back
  double conv_weights = 0;
  double largest_conv_weights = 0;
  double outputs = 0;
  double largest_output = 0;
  double last_output = 0;
  double output_files = 0;
  double scores = 0;
  double ofmaps = 0;    // of program layers
  double writable = 0;  // input and ofmaps in DRAM, with channels padded to the array
  double live = 0;      // of these what a run has at a time
  double commands = 0;
  double times = 0;
};

constexpr std::int64_t kProcessBytes = 24'000'000;  // libraries, tables, stacks
constexpr std::int64_t kCommandBytes = 46;          // with its share of the origins
constexpr std::int64_t kTimesBytes = 64;  // of a command: its times, its stall, its tokens
constexpr double kSecondTimes = 0.4;      // of these, the times of another engine
constexpr std::int64_t kInputs = 2;       // while it is made

constexpr Copies kGolden{.weights = 2, .largest_output = 2};

// The other engines keep the whole DRAM to the end of a run.
bool hands_over_early(const Options& options) {
  return options.command == CommandName::kRun && !options.no_data && options.engine == "systemc";
}

// While golden works, while the engine does, and at the end.
std::vector<Copies> moments_of_run(const Options& options) {
  Copies engine{.weights = 1, .largest_block = 1, .commands = 1, .times = 1};
  if (options.no_data) return {engine};
  Copies golden{.weights = 1, .largest_conv_weights = 1, .largest_output = 2, .ofmaps = 1};
  Copies end = engine;
  engine.last_output = end.last_output = end.scores = 1;
  end.output_files = options.out.empty() ? 0 : 1;
  (hands_over_early(options) ? engine.live : engine.writable) = 1;
  if (!options.dump_layers.empty()) {
    golden.ofmaps = 0;
    for (Copies* moment : {&golden, &engine, &end}) moment->outputs = 1;
    for (Copies* moment : {&engine, &end}) {
      moment->weights = 2;
      moment->largest_weights = 1;
    }
    return {golden, engine, end};
  }
  if (options.no_verify) return {engine, end};
  engine.ofmaps = 1;
  return {golden, engine, end};
}

// One set of tensors a backend of golden, one of times an engine.
Copies copies_of_verify(const Options& options) {
  const bool two_goldens = options.golden.find(',') != std::string::npos;
  const auto engines = static_cast<double>(options.engines.size());
  return {.weights = 2,
          .conv_weights = 1,
          .outputs = two_goldens ? 2.0 : 1.0,
          .largest_output = 1,
          .ofmaps = 1,
          .writable = 1,
          .commands = 1,
          .times = 1 + kSecondTimes * (engines - 1)};
}

std::vector<Copies> moments_of(const Options& options) {
  switch (options.command) {
    case CommandName::kRun:
      return moments_of_run(options);
    case CommandName::kVerify:
      return {copies_of_verify(options)};
    case CommandName::kCompile:
      return {{.weights = options.program_out.empty() ? 2 : 5.2,
               .commands = options.program_out.empty() ? 1.0 : 14.0}};
    case CommandName::kExportVectors:
      return {{.weights = 9.2, .outputs = 1, .ofmaps = 1, .writable = 6.2, .commands = 14}};
    default:
      return {kGolden};
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
  if (graph.layers.empty()) return sizes;
  const ImageShape& last = graph.layers.back().output.shape;
  sizes.last_output = element_count(last.nhwc());
  // int8 values, and once more as a file; or float32, four bytes each.
  sizes.output_files = checked_mul(graph.host.float_output ? 10 : 2, sizes.last_output);
  if (last.height == 1 && last.width == 1) sizes.scores = 16 * last.channels;
  return sizes;
}

std::int64_t need_bytes(const Sizes& sizes, const Copies& copies) {
  const auto times = [](double count, std::int64_t bytes) {
    return static_cast<std::int64_t>(std::ceil(count * static_cast<double>(bytes)));
  };
  const ProgramSizes& program = sizes.program;
  return kProcessBytes + kInputs * sizes.input +
         times(copies.weights, std::max(sizes.weights, program.constant_bytes)) +
         times(copies.largest_weights, sizes.largest_weights) +
         times(copies.largest_block, program.largest_block_bytes) +
         times(copies.conv_weights, sizes.conv_weights) +
         times(copies.largest_conv_weights, sizes.largest_conv_weights) +
         times(copies.outputs, sizes.outputs) + times(copies.largest_output, sizes.largest_output) +
         times(copies.last_output, sizes.last_output) +
         times(copies.output_files, sizes.output_files) + times(copies.scores, sizes.scores) +
         times(copies.ofmaps, program.ofmap_elems) +
         times(copies.writable, program.writable_bytes) + times(copies.live, program.live_bytes) +
         times(copies.commands, program.commands * kCommandBytes) +
         times(copies.times, program.commands * kTimesBytes);
}

void require_for(const std::string& model, std::int64_t bytes, std::int64_t given_back_bytes) {
  require_memory_in_all(bytes, given_back_bytes, "model '" + model + "'");
}

// Sizes of the graph, and of the program where one is made.
Sizes sizes_of(const Graph& graph, const ArchConfig& arch, const Options& options) {
  Sizes sizes = sizes_of(graph);
  const auto compiles = [](const Copies& copies) { return copies.commands > 0; };
  if (std::ranges::any_of(moments_of(options), compiles)) {
    sizes.program = program_sizes(graph, arch);
  }
  return sizes;
}

std::int64_t need_bytes(const Sizes& sizes, const Options& options) {
  std::int64_t most = 0;
  for (const Copies& copies : moments_of(options)) {
    most = std::max(most, need_bytes(sizes, copies));
  }
  return most;
}

// `run` packs weights into the program while it gives those of the network back; then it has room
// for the whole DRAM, of which it gives back what is dead.
std::int64_t given_back_bytes(const Sizes& sizes, const Options& options) {
  const auto has_weights_once = [](const Copies& copies) { return copies.weights < 2; };
  const bool once = std::ranges::all_of(moments_of(options), has_weights_once);
  const std::int64_t dram = sizes.program.writable_bytes - sizes.program.live_bytes;
  return std::max(once ? sizes.weights : 0, hands_over_early(options) ? dram : 0);
}

}  // namespace

std::int64_t memory_need_bytes(const Graph& graph, const ArchConfig& arch, const Options& options) {
  return need_bytes(sizes_of(graph, arch, options), options);
}

void require_memory_for(const std::string& model, const Graph& graph, const ArchConfig& arch,
                        const Options& options, std::int64_t more_bytes) {
  const Sizes sizes = sizes_of(graph, arch, options);
  require_for(model, checked_add(need_bytes(sizes, options), more_bytes),
              given_back_bytes(sizes, options));
}

void require_memory_for_golden(const std::string& model, const Graph& graph,
                               const Options& options) {
  require_for(model, need_bytes(sizes_of(graph), options.no_data ? Copies{} : kGolden), 0);
}

}  // namespace qsim
