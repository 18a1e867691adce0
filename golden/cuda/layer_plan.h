// Which layers of a graph run as one step on the device, and with which numbers. Plain host code:
// no CUDA, no addresses. docs/reference/golden_cuda.md has the rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/graph.h"
#include "golden/cuda/graph_executor.h"

namespace qsim::golden::cuda {

enum class StepKind : std::uint8_t { kConv, kMaxPool, kRelu, kFlatten };

// The graph layers first..last, which one kernel computes. Only the ofmap of layer `last` is
// written to memory.
struct Step {
  StepKind kind = StepKind::kConv;
  std::size_t first = 0;
  std::size_t last = 0;
  Value input;    // what the kernel reads; the bytes are those of the layer before `first`
  Value output;   // what it writes, with the shape of layer `last`'s output
  Window window;  // of kConv and kMaxPool

  // kConv, which a fully connected layer is as well: 1x1 on 1x1 pictures.
  std::size_t weights_layer = 0;
  // In the order H, W, C of a picture whose CHW flatten is folded away; empty: the layer's own.
  std::vector<std::int8_t> permuted_weights;
  Value ofmap;                    // before pooling
  Requantization requantization;  // with every ReLU of the step in lo and hi
  bool pool = false;              // a 2x2 max-pool with stride 2, without pads, on even sizes

  Flatten::Order order = Flatten::Order::kHwc;  // of kFlatten
};

// The steps in order; together they cover every layer of the valid `graph` once. With kEvery each
// layer is a step.
std::vector<Step> plan_layers(const Graph& graph, CudaKeep keep);

// [Cout][kernel_h][kernel_w][Cin] and [Cout] of a kConv step of the plan of `graph`.
std::span<const std::int8_t> weights_of(const Graph& graph, const Step& step);
std::span<const std::int32_t> bias_of(const Graph& graph, const Step& step);

// "conv1+relu1+pool1"
std::string layer_names(const Graph& graph, const Step& step);
// Multiply-accumulates of the step's layers.
std::int64_t step_macs(const Graph& graph, const Step& step);
// Input, weights, bias and output, each counted once.
std::int64_t step_bytes(const Graph& graph, const Step& step);

}  // namespace qsim::golden::cuda
