// How much memory a command will need for a network, judged before it takes any of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/compile.h"
#include "core/machine/arch_config.h"
#include "core/network/graph.h"

namespace qsim::cli {

// Bytes that a command takes at most, beyond those of the network that is loaded, by what they are
// for (docs/reference/limits.md). Each is a sum over shapes; none is measured.
struct MemoryNeed {
  std::int64_t tensors = 0;  // the input, and what golden computes and packs
  std::int64_t program = 0;  // weights as the array takes them, commands and their times
  std::int64_t dram = 0;     // input and ofmaps as the accelerator has them, and its scratchpads
  std::int64_t files = 0;    // what is put together in memory before it is written
  // Room that has no memory: pages that are freed while the command works, and the part of a
  // growing text that is not yet written. Only ulimit counts it.
  std::int64_t unbacked = 0;

  std::int64_t bytes() const;  // all but `unbacked`, and a little for the process itself
};

// What a command needs for a graph that will be compiled as asked; mappings that are chosen here
// are known to that compilation. Throws Error (exit code 4) where the command has a program and the
// accelerator cannot run it.
using NeedOf = std::function<MemoryNeed(const Graph& graph, const ArchConfig& arch,
                                        const compiler::CompileOptions& asked)>;

// What `run` does with a network.
struct RunWork {
  bool moves_data = true;
  bool compares = true;
  bool dumps_layers = false;
  bool keeps_output = false;
  bool frees_ofmaps = false;  // the engine hands each over as soon as it is complete
};
NeedOf need_of_run(const RunWork& work);
NeedOf need_of_verify(std::int64_t goldens, std::int64_t engines);
NeedOf need_of_compile(bool writes_text);
NeedOf need_of_explain();
NeedOf need_of_export_vectors();
NeedOf need_of_eval(bool has_program);
// For golden alone, which keeps the last layer.
NeedOf need_of_golden();

// Throws Error (exit code 3) naming the model when that is more than there is. `more_bytes` are
// those of a series of pictures.
void require_memory_for(const std::string& model, const Graph& graph, const ArchConfig& arch,
                        const NeedOf& need, const compiler::CompileOptions& asked,
                        std::int64_t more_bytes = 0);

// The same for golden alone: what runs before a cut by --layers.
void require_memory_for_golden(const std::string& model, const Graph& graph);

}  // namespace qsim::cli
