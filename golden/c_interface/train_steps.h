// How a call runs that is steps of other calls (golden/kernels/train/layer_steps.h, chain_steps.h).
#pragma once

#include <algorithm>
#include <vector>

#include "golden/c_interface/train_views.h"
#include "golden/kernels/train/chain_calls.h"
#include "golden/kernels/train/layer_steps.h"

namespace qsim::golden::c_interface {

// A step's workspace is in spare memory where that is large enough at any address.
inline bool fits(const train::Spare& spare, std::size_t bytes) {
  return spare.bytes >= bytes + 255;
}

inline std::byte* aligned(std::byte* memory) {
  const std::uintptr_t gap = (256 - reinterpret_cast<std::uintptr_t>(memory) % 256) % 256;
  return memory + gap;
}

template <typename Steps>
void enqueue_steps(const Call& call, const Steps& steps) {
  const std::size_t scratch = scratch_bytes(steps);
  std::size_t most = 0;
  each_step(steps, nullptr, [&](const auto& step, const train::Spare& spare) {
    const std::size_t bytes = train::cuda::workspace_bytes(step);
    if (!fits(spare, bytes)) most = std::max(most, bytes);
  });
  if (call.answers_query(scratch + most)) return;
  call.require_workspace(scratch + most);
  auto* const workspace = static_cast<std::byte*>(call.run().workspace);
  std::byte* const own = workspace == nullptr ? nullptr : workspace + scratch;
  each_step(steps, workspace, [&](const auto& step, const train::Spare& spare) {
    const bool spares = fits(spare, train::cuda::workspace_bytes(step));
    train::cuda::enqueue(step, spares ? aligned(spare.memory) : own, call.run().stream);
  });
}

// Answers a query, computes the steps on the CPU, or enqueues them on the tensors' GPU.
template <typename Steps>
void run_steps(const Call& call, const Steps& steps) {
  if (call.is_cuda()) return on_device(call, [&] { enqueue_steps(call, steps); });
  if (call.answers_query(0)) return;
  std::vector<std::byte> scratch(scratch_bytes(steps));
  CallThreads threads(call.run());
  each_step(steps, scratch.data(),
            [&](const auto& step, const train::Spare&) { compute(step, threads.team()); });
}

}  // namespace qsim::golden::c_interface
