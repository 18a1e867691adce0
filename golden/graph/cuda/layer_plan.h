// Which layers of a graph run as one step on the device, and with which numbers. Plain host code:
// no CUDA, no addresses. docs/reference/golden.md has the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/network/graph.h"
#include "golden/common/buffer_plan.h"
#include "golden/graph/cuda/graph_executor.h"

namespace qsim::golden::cuda {

enum class StepKind : std::uint8_t {
  kConv,
  kMaxPool,
  kRelu,
  kFlatten,
  kAveragePool,
  kAdd,
  kConcat,
  kLookupTable,
  kPRelu
};

// The addition that a convolution's kernel does with its ofmap: the step's second input is the
// other operand.
struct Addition {
  Add add;      // with every ReLU after it in lo and hi
  Value other;  // the operand that memory has
  Value sum;
  bool other_is_first = false;  // of the layer's two operands
};

// The graph layers `layers`, in the graph's order, which one kernel computes. Only the ofmap of the
// last one is written to memory.
struct Step {
  StepKind kind = StepKind::kConv;
  std::vector<std::size_t> layers;
  std::vector<TensorId> inputs;  // what the kernel reads
  TensorId output = 0;           // what it writes: the output of the last of `layers`
  Value input;                   // of inputs[0], in the shape that the kernel reads it in
  Value result;                  // of `output`
  Window window;                 // of kConv, kMaxPool and kAveragePool

  // kConv, which a fully connected layer is as well: 1x1 on 1x1 pictures.
  std::size_t weights_layer = 0;
  std::int64_t groups = 1;
  // Wide weights are sums of int8 parts: the reduction goes through the window for each of them.
  int weight_parts = 1;
  // Parts of wide weights, and the weights of a picture whose CHW flatten is folded away in the
  // order H, W, C; empty: the layer's own.
  std::vector<std::int8_t> own_weights;
  Value ofmap;                       // before pooling and addition
  Requantization requantization;     // with every ReLU before the addition in lo and hi
  bool pool = false;                 // a 2x2 max-pool with stride 2, without pads, on even sizes
  std::optional<Addition> addition;  // never with `pool`

  Flatten::Order order = Flatten::Order::kHwc;  // of kFlatten
  AveragePool average;                          // of kAveragePool
  Add add;                                      // of kAdd, with every ReLU after it in lo and hi

  std::size_t first() const { return layers.front(); }
  std::size_t last() const { return layers.back(); }
};

// The steps in an order in which each reads what earlier ones have written; together they cover
// every layer of the valid `graph` once. With kEvery each layer is a step.
std::vector<Step> plan_layers(const Graph& graph, CudaKeep keep);

// What the steps read and write, for plan_buffers().
std::vector<StepTensors> step_tensors(std::span<const Step> steps);

// [Cout][weight_parts][kernel_h][kernel_w][Cin / groups] and [Cout] of a kConv step of the plan of
// `graph`.
std::span<const std::int8_t> weights_of(const Graph& graph, const Step& step);
std::span<const std::int32_t> bias_of(const Graph& graph, const Step& step);

// "conv1+relu1+pool1"
std::string layer_names(const Graph& graph, const Step& step);
// Multiply-accumulates of the step's layers.
std::int64_t step_macs(const Graph& graph, const Step& step);
// Inputs, weights, bias and output, each counted once.
std::int64_t step_bytes(const Graph& graph, const Step& step);

}  // namespace qsim::golden::cuda
