// What the passes make of a Graph and lowering takes: convolutions in the order in which the
// accelerator runs them, each with its ReLU, pooling and flattening inside. Refers to the Graph's
// weights.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/passes/window_counts.h"
#include "core/machine/arch_config.h"
#include "core/machine/dram_layout.h"
#include "core/machine/isa/adder_block.h"
#include "core/machine/isa/commands.h"
#include "core/network/graph.h"
#include "core/numerics/requantizer.h"

namespace qsim::compiler {

struct FusedLayer {
  enum class Kind : std::uint8_t {
    kConvolution,
    kFullyConnected,  // gemm_m = batch; reads a picture in DRAM order
    kIdentity,  // a max-pool, ReLU or average pool by itself: each channel itself, or its sums
    kConcat,    // the channels of several tensors, one after the other: 1x1, as kIdentity
    kAdd,       // two tensors, each as kIdentity, which POST adds
  };

  // A tensor that the layer reads.
  struct Operand {
    TensorId tensor;
    Value value;
  };
  // Channels of a concatenation, from `first_channel` on.
  struct Slice {
    TensorId whole;
    Value value;  // of the whole
    std::int64_t first_channel;
  };

  Kind kind = Kind::kConvolution;
  std::string name;
  std::string source;         // of the graph layer with that name, for errors (layer_place())
  std::string operation;      // "conv2d+relu+max_pool"
  TensorId input_tensor = 0;  // of the graph, as are the next two; no Flatten writes it
  TensorId output_tensor = 0;
  std::int32_t graph_layer = 0;  // the ofmap is this graph layer's output (before a last Flatten)
  std::int64_t macs = 0;

  Value input;                       // as it lies in DRAM; taps, if any, are channels already
  std::vector<Operand> more_inputs;  // of kConcat and kAdd: the operands but the first
  Value output;                      // shape after pooling
  // The concatenations of which the ofmap is a part in DRAM, each a part of the next one.
  std::vector<Slice> slices;
  Window window;
  std::int64_t conv_height = 1;  // psum positions, before pooling
  std::int64_t conv_width = 1;
  Window pool;  // 1x1, stride 1 when nothing is pooled

  // [Cout][kernel_h][kernel_w][depth / groups]; empty for kIdentity. For kFullyConnected the depth
  // is the flattened picture in the order of `flatten`.
  std::span<const std::int8_t> weights;
  std::span<const std::int16_t> wide_weights;  // in their place, where they are int16
  // The array multiplies int8: a wide weight is a sum of so many, each with a fold of its own.
  std::int64_t weight_parts = 1;
  std::int64_t groups = 1;
  std::int32_t weights_layer = 0;  // the graph layer that has these weights; kIdentity has none
  std::int64_t depth = 0;
  Flatten::Order flatten = Flatten::Order::kHwc;
  std::optional<TapPacking> taps;  // first layer only: the host lays the window's taps side by side

  std::vector<std::int32_t> bias;         // [Cout], with the input's zero_point folded in
  std::vector<Requantizer> requantizers;  // [Cout], all of one rounding, which is POST's
  // Of an average pool whose windows count several numbers of positions: then it has the
  // requantizers of each number, [counts->counts.size()][Cout], and nothing is pooled.
  std::optional<WindowCounts> counts;
  std::optional<PsumAdder> adder;  // of kAdd, whose requantizers give the rounding alone
  // What POST makes of each level, by its carried byte as an unsigned number.
  std::optional<std::array<std::int8_t, kTableBytes>> table;
  std::vector<std::string> tables;  // the graph layers that the table is of: "act' (sigmoid)"
  std::int32_t pad_value = 0;       // carried zero_point of the ifmap
  std::int32_t zero_point = 0;      // of the ofmap, carried; so are lo and hi
  std::int32_t lo = -128;
  std::int32_t hi = 127;
};

}  // namespace qsim::compiler
