// How large a program will be, by shapes alone: what is known before anything is computed.
#pragma once

#include <cstdint>

#include "compiler/lowering/compile_options.h"
#include "core/machine/arch_config.h"
#include "core/network/graph.h"

namespace qsim::compiler {

struct ProgramSizes {
  std::int64_t writable_bytes = 0;  // of DRAM: the input and all ofmaps, channels padded to blocks
  // The most of them that a run holds at a time, when it frees what no command reads any more: the
  // tensors that one layer needs where tensors are apart, all where tensors share bytes.
  std::int64_t resident_bytes = 0;
  std::int64_t constant_bytes = 0;       // weights and parameters, padded to the array
  std::int64_t largest_block_bytes = 0;  // weights of array_cols output channels of one layer
  std::int64_t ofmap_elems = 0;          // of all program layers, without the padding
  std::int64_t commands = 0;
};

// Throws Error (exit code 4) as compile() does for layers that the accelerator cannot run.
ProgramSizes program_sizes(const Graph& graph, const ArchConfig& arch,
                           const CompileOptions& options = {});

}  // namespace qsim::compiler
