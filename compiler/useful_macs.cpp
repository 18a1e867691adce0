#include "compiler/useful_macs.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "core/base/bit_set.h"
#include "core/base/error.h"

namespace qsim::compiler {
namespace {

// Neighbouring rows or columns [begin, end).
struct Run {
  std::int64_t begin;
  std::int64_t end;
};
using Positions = std::vector<Run>;  // of one axis: what is needed, ascending, apart

void append(Positions& positions, Run run) {
  if (run.begin >= run.end) return;
  if (!positions.empty() && run.begin <= positions.back().end) {
    positions.back().end = std::max(positions.back().end, run.end);
  } else {
    positions.push_back(run);
  }
}

// The positions of a max-pool's input that the needed positions of its output read.
Positions read_by_pool(const Positions& outputs, std::int64_t kernel, std::int64_t stride,
                       std::int64_t pad, std::int64_t size) {
  Positions inputs;
  for (const Run& run : outputs) {
    for (std::int64_t out = run.begin; out < run.end; ++out) {
      const std::int64_t in = out * stride - pad;
      append(inputs, {std::max<std::int64_t>(0, in), std::min(size, in + kernel)});
    }
  }
  return inputs;
}

// The graph layers that run as one program layer, the last one first.
using FusedLayers = std::vector<std::size_t>;

// Multiply-accumulates of one psum; 0 for a layer without weights.
std::int64_t macs_of_a_psum(const Layer& layer) {
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
    return conv->weights.shape[1] * conv->weights.shape[2] * conv->weights.shape[3];
  }
  if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) return fc->weights.shape[1];
  return 0;
}

// What each program layer runs: back from the graph layer whose ofmap it stores to the first that
// reads the network's input, a stored ofmap, or what a Flatten or Concat writes.
std::vector<FusedLayers> fused_layers(const Graph& graph, const Program& program) {
  std::vector<std::size_t> inner(graph.tensors.size(), graph.layers.size());  // tensor's writer
  for (std::size_t l = 0; l < graph.layers.size(); ++l) {
    // A concatenation may be no program layer: its operands are.
    const Operation& operation = graph.layers[l].operation;
    if (std::holds_alternative<Flatten>(operation) || std::holds_alternative<Concat>(operation)) {
      continue;
    }
    inner[graph.layers[l].output] = l;
  }
  for (const ProgramLayer& layer : program.layers) {
    inner[graph.layers[static_cast<std::size_t>(layer.graph_layer)].output] = graph.layers.size();
  }
  std::vector<FusedLayers> fused;
  for (const ProgramLayer& layer : program.layers) {
    FusedLayers layers;
    for (auto l = static_cast<std::size_t>(layer.graph_layer); l < graph.layers.size();
         l = inner[graph.layers[l].inputs[0]]) {
      layers.push_back(l);
    }
    fused.push_back(std::move(layers));
  }
  return fused;
}

// The psums of one picture and one block of channels: which positions are needed.
class NeededPsums {
 public:
  NeededPsums(const Graph& graph, const FusedLayers& layers)
      : graph_(graph),
        layers_(layers),
        width_(shape().width),
        marked_(static_cast<std::size_t>(shape().height * width_)) {}

  // Marks what rows and columns of the ofmap need, going back through the fused max-pools.
  void mark(Positions rows, Positions cols) {
    for (const std::size_t l : layers_) {
      const Window* pool = window_of(graph_.layers[l].operation);
      if (pool == nullptr || l == layers_.back()) continue;
      const Window& w = *pool;
      const ImageShape& in = graph_.input_of(l).shape;
      rows = read_by_pool(rows, w.kernel_h, w.stride_h, w.pad_top, in.height);
      cols = read_by_pool(cols, w.kernel_w, w.stride_w, w.pad_left, in.width);
    }
    for (const Run& run : rows) {
      for (std::int64_t y = run.begin; y < run.end; ++y) mark_row(y, cols);
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(marked_.count()); }

 private:
  const ImageShape& shape() const { return graph_.output_of(layers_.back()).shape; }

  void mark_row(std::int64_t y, const Positions& cols) {
    for (const Run& run : cols) {
      marked_.set(static_cast<std::size_t>(y * width_ + run.begin),
                  static_cast<std::size_t>(y * width_ + run.end));
    }
  }

  const Graph& graph_;
  const FusedLayers& layers_;
  std::int64_t width_;
  BitSet marked_;
};

// Picture, first channel, end of the channels.
using Block = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

void check_origin(const Program& program, const Origin& origin) {
  const ImageShape& ofmap =
      program.layers[static_cast<std::size_t>(origin.layer)].ofmap.value.shape;
  QSIM_CHECK(origin.n0 >= 0 && origin.n1 <= ofmap.batch && origin.y0 >= 0 &&
                 origin.y1 <= ofmap.height && origin.x0 >= 0 && origin.x1 <= ofmap.width &&
                 origin.c0 >= 0,
             origin_text(program, origin) + " is outside its layer's ofmap");
}

}  // namespace

std::vector<std::uint64_t> useful_macs_by_origin(const Graph& graph, const Program& program) {
  std::vector<std::uint64_t> macs(program.layers.size(), 0);
  const std::vector<FusedLayers> fused = fused_layers(graph, program);
  std::map<Block, NeededPsums> needed;  // of one layer at a time
  const CommandStream stores = program.stream(Unit::kStore);
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const Origin o = stores.origin(i);
    const auto layer = static_cast<std::size_t>(o.layer);
    QSIM_CHECK(layer < program.layers.size() && (i == 0 || stores.origin(i - 1).layer <= o.layer),
               "STORE " + std::to_string(i) + " is of no layer, or of one before the last");
    check_origin(program, o);
    const ImageShape& ofmap = graph.output_of(fused[layer].front()).shape;
    for (std::int64_t n = o.n0; n < o.n1; ++n) {
      const Block block{n, o.c0, std::min<std::int64_t>(o.c1, ofmap.channels)};
      NeededPsums& psums = needed.try_emplace(block, graph, fused[layer]).first->second;
      psums.mark({Run{o.y0, o.y1}}, {Run{o.x0, o.x1}});
    }
    if (i + 1 < stores.size() && stores.origin(i + 1).layer == o.layer) continue;
    const std::int64_t each = macs_of_a_psum(graph.layers[fused[layer].back()]);
    for (const auto& [block, psums] : needed) {
      const std::int64_t channels = std::get<2>(block) - std::get<1>(block);
      macs[layer] += static_cast<std::uint64_t>(psums.count() * channels * each);
    }
    needed.clear();
  }
  return macs;
}

void check_useful_macs(const Graph& graph, const Program& program) {
  const std::vector<std::uint64_t> counted = useful_macs_by_origin(graph, program);
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const ProgramLayer& layer = program.layers[i];
    QSIM_CHECK(counted[i] == static_cast<std::uint64_t>(layer.macs),
               "layer '" + layer.name + "' has " + std::to_string(layer.macs) +
                   " useful MACs; its STOREs' origins come to " + std::to_string(counted[i]));
  }
}

}  // namespace qsim::compiler
