#include "cli/session/engines/memory_need.h"

#include <algorithm>
#include <set>

#include "compiler/program_sizes.h"
#include "core/base/checked_math.h"
#include "core/machine/command_streams.h"
#include "core/machine/engine.h"
#include "core/network/graph_order.h"
#include "core/network/graph_shapes.h"
#include "formats/files/memory.h"

namespace qsim::cli {

using compiler::CompileOptions;
using compiler::program_sizes;
using compiler::ProgramSizes;
namespace {

// For code and tables that are touched only when they are used, stacks, and the rest of pages.
constexpr std::int64_t kProcessBytes = 16'000'000;
// A command with an origin of its own; its times, also as tokens and stalls.
constexpr std::int64_t kCommandMemory = sizeof(EncodedCommand) + sizeof(Origin);
constexpr std::int64_t kTimesBytes = 2 * sizeof(CommandTime);
// What the verifier knows of a command: four numbers of other commands, a unit, its signals. Taken
// before a run takes the commands' times, which are more.
constexpr std::int64_t kVerifierBytes = 32;
// Bytes as hexadecimal digits with line ends, and a line for each command.
constexpr std::int64_t text_bytes(std::int64_t bytes, std::int64_t commands) {
  return bytes * 9 / 4 + commands * 256;
}

// Bytes of a network.
struct Sizes {
  std::int64_t input = 0;
  std::int64_t weights = 0;
  std::int64_t largest_weights = 0;
  std::int64_t conv_weights = 0;  // golden packs them
  std::int64_t largest_conv_weights = 0;
  std::int64_t outputs = 0;  // of all layers
  std::int64_t largest_output = 0;
  std::int64_t last_output = 0;
  std::int64_t scores = 0;  // of the classes of one picture
  std::int64_t most_live_outputs = 2;

  // Outputs that a later layer still reads, and the one that is computed; a chain has two.
  std::int64_t in_work() const { return checked_mul(most_live_outputs, largest_output); }
};

// How many outputs golden keeps at a time: each until its last reader is done.
std::int64_t most_live_outputs(const Graph& graph) {
  const auto readers = readers_of_tensors(graph);
  std::int64_t live = 0;
  std::int64_t most = 2;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    most = std::max(most, ++live);
    std::set<TensorId> done;
    for (const TensorId input : graph.layers[i].inputs) {
      if (input != graph.input && readers[input].back() == i) done.insert(input);
    }
    live -= std::ssize(done);
  }
  return most;
}

Sizes sizes_of(const Graph& graph) {
  Sizes sizes;
  sizes.most_live_outputs = most_live_outputs(graph);
  sizes.input = element_count(graph.input_value().shape.nhwc());
  for (const Layer& layer : graph.layers) {
    sizes.last_output = element_count(graph.tensors[layer.output].shape.nhwc());
    sizes.outputs = checked_add(sizes.outputs, sizes.last_output);
    sizes.largest_output = std::max(sizes.largest_output, sizes.last_output);
    if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
      sizes.weights += fc->weights.elems();
      sizes.largest_weights = std::max(sizes.largest_weights, fc->weights.elems());
    } else if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
      sizes.weights += conv->weights.elems();
      sizes.conv_weights += conv->weights.elems();
      sizes.largest_conv_weights = std::max(sizes.largest_conv_weights, conv->weights.elems());
    }
  }
  sizes.largest_weights = std::max(sizes.largest_weights, sizes.largest_conv_weights);
  if (graph.layers.empty()) return sizes;
  const ImageShape& last = graph.output_value().shape;
  if (last.height == 1 && last.width == 1)
    sizes.scores = 2 * std::int64_t{sizeof(double)} * last.channels;
  return sizes;
}

MemoryNeed golden_need(const Sizes& sizes) {
  return {.tensors = 2 * sizes.input + sizes.conv_weights + sizes.in_work()};
}

std::int64_t scratchpad_bytes(const ArchConfig& arch) {
  return 1024 * (arch.act_scratchpad_kib + arch.weight_scratchpad_kib + arch.accumulator_kib +
                 arch.output_scratchpad_kib);
}

// A text grows by copying itself to twice its room: the old one, and as much of the new as is
// written.
void add_text(MemoryNeed& need, std::int64_t bytes) {
  need.files += 2 * bytes;
  need.unbacked += bytes;
}

// The program's weights take the place of the graph's, block by block.
void add_program_in_place(MemoryNeed& need, const Sizes& sizes, const ProgramSizes& program) {
  need.program += std::max<std::int64_t>(0, program.constant_bytes - sizes.weights) +
                  program.largest_block_bytes;
  need.unbacked = std::min(sizes.weights, program.constant_bytes);
}

MemoryNeed run_need(const RunWork& work, const Graph& graph, const ArchConfig& arch,
                    const CompileOptions& asked) {
  const Sizes sizes = sizes_of(graph);
  const ProgramSizes program = program_sizes(graph, arch, asked);
  MemoryNeed need;
  need.program = program.commands * (kCommandMemory + kTimesBytes);
  if (!work.moves_data) return need;
  need.tensors = 2 * sizes.input;
  if (work.dumps_layers) {
    need.program += program.constant_bytes;
    need.files = sizes.largest_weights + sizes.largest_output;  // one file of the trace at a time
  } else {
    add_program_in_place(need, sizes, program);
  }
  if (work.dumps_layers || work.compares) {
    need.tensors += sizes.largest_conv_weights + sizes.in_work() +
                    (work.dumps_layers ? sizes.outputs : program.ofmap_elems);
  }
  need.tensors += sizes.last_output + sizes.scores;
  // The pages of an ofmap that was handed over are freed.
  need.dram = scratchpad_bytes(arch) +
              (work.frees_ofmaps ? program.resident_bytes : program.writable_bytes);
  if (work.frees_ofmaps)
    need.unbacked = std::max(need.unbacked, program.writable_bytes - program.resident_bytes);
  // Once as 8-bit values or float32, and once as the bytes of the file.
  if (work.keeps_output) need.files += (graph.host.float_output ? 8 : 2) * sizes.last_output;
  return need;
}

MemoryNeed verify_need(std::int64_t goldens, std::int64_t engines, const Graph& graph,
                       const ArchConfig& arch, const CompileOptions& asked) {
  const Sizes sizes = sizes_of(graph);
  const ProgramSizes program = program_sizes(graph, arch, asked);
  MemoryNeed need;
  need.tensors = 2 * sizes.input + sizes.conv_weights + sizes.in_work() + goldens * sizes.outputs +
                 program.ofmap_elems;
  need.program =
      program.constant_bytes + program.commands * (kCommandMemory + engines * kTimesBytes);
  need.dram = scratchpad_bytes(arch) + program.writable_bytes;
  return need;
}

MemoryNeed compile_need(bool writes_text, const Graph& graph, const ArchConfig& arch,
                        const CompileOptions& asked) {
  const ProgramSizes program = program_sizes(graph, arch, asked);
  MemoryNeed need;
  if (!has_tensors(graph)) {
    need.program = program.commands * kCommandMemory;
    return need;
  }
  need.program = program.commands * (kCommandMemory + kVerifierBytes);
  add_program_in_place(need, sizes_of(graph), program);
  if (writes_text) {
    add_text(need, text_bytes(program.constant_bytes, program.commands));
  }
  return need;
}

// One program at a time, without constants.
MemoryNeed explain_need(const Graph& graph, const ArchConfig& arch, const CompileOptions& asked) {
  MemoryNeed need;
  need.program = program_sizes(graph, arch, asked).commands * (kCommandMemory + kTimesBytes);
  return need;
}

// The interpreter and the SystemC engine have a DRAM each; the whole image is kept from before and
// after the run.
MemoryNeed export_need(const Graph& graph, const ArchConfig& arch, const CompileOptions& asked) {
  const Sizes sizes = sizes_of(graph);
  const ProgramSizes program = program_sizes(graph, arch, asked);
  const std::int64_t image = program.writable_bytes + program.constant_bytes;
  MemoryNeed need;
  need.tensors = 2 * sizes.input + sizes.conv_weights + sizes.in_work() + sizes.outputs +
                 2 * program.ofmap_elems;
  need.program = program.constant_bytes + program.commands * (kCommandMemory + kTimesBytes);
  need.dram = 2 * (scratchpad_bytes(arch) + program.writable_bytes);
  need.files = 2 * image;
  add_text(need, text_bytes(image, program.commands));
  return need;
}

// One engine after the other; the graph stays for the next.
MemoryNeed eval_need(bool has_program, const Graph& graph, const ArchConfig& arch,
                     const CompileOptions& asked) {
  const Sizes sizes = sizes_of(graph);
  MemoryNeed need = golden_need(sizes);
  if (!has_program) return need;
  const ProgramSizes program = program_sizes(graph, arch, asked);
  need.tensors = std::max(need.tensors, 2 * sizes.input + sizes.last_output);
  need.program = program.constant_bytes + program.commands * (kCommandMemory + kTimesBytes);
  need.dram = scratchpad_bytes(arch) + program.writable_bytes;
  return need;
}

void require_for(const std::string& model, const MemoryNeed& need, std::int64_t more_bytes) {
  formats::require_memory(checked_add(need.bytes(), more_bytes), "model '" + model + "'",
                          need.unbacked);
}

}  // namespace

std::int64_t MemoryNeed::bytes() const {
  return kProcessBytes + checked_add(checked_add(tensors, program), checked_add(dram, files));
}

NeedOf need_of_run(const RunWork& work) { return std::bind_front(run_need, work); }

NeedOf need_of_verify(std::int64_t goldens, std::int64_t engines) {
  return std::bind_front(verify_need, goldens, engines);
}

NeedOf need_of_compile(bool writes_text) { return std::bind_front(compile_need, writes_text); }

NeedOf need_of_explain() { return explain_need; }

NeedOf need_of_export_vectors() { return export_need; }

NeedOf need_of_eval(bool has_program) { return std::bind_front(eval_need, has_program); }

NeedOf need_of_golden() {
  return [](const auto& graph, const auto&, const auto&) { return golden_need(sizes_of(graph)); };
}

void require_memory_for(const std::string& model, const Graph& graph, const ArchConfig& arch,
                        const NeedOf& need, const CompileOptions& asked, std::int64_t more_bytes) {
  require_for(model, {}, 0);  // what the search for mappings takes, before it does
  require_for(model, need(graph, arch, asked), more_bytes);
}

void require_memory_for_golden(const std::string& model, const Graph& graph) {
  require_for(model, golden_need(sizes_of(graph)), 0);
}

}  // namespace qsim::cli
