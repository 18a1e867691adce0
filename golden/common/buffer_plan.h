// Which activations of a network share memory: a buffer is free again after the last step that
// reads it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/network/graph.h"

namespace qsim::golden {

// What one step of an executor reads and writes.
struct StepTensors {
  std::vector<TensorId> inputs;
  TensorId output = 0;
};

// The buffers that the steps write. A chain has two, which take turns.
struct BufferPlan {
  std::vector<std::size_t> buffers;  // by step, the number of the buffer that it writes
  std::size_t count = 0;
  // By step, the buffers that no later step reads: its inputs' and, where nobody reads it, its own.
  std::vector<std::vector<std::size_t>> freed;
};

// A step writes the free buffer of the lowest number, which is none that it reads. The last step's
// is never freed. A tensor that no step writes has no buffer. Each tensor is written by one step at
// most, before the steps that read it.
BufferPlan plan_buffers(std::span<const StepTensors> steps);

}  // namespace qsim::golden
