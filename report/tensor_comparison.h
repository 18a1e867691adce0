// Compares what an engine left in DRAM with trusted tensors (golden's, or a layer trace's) and
// names the first difference. A mismatch is data, never an exception.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/machine/engine.h"

namespace qsim::report {

struct LayerComparison {
  std::string layer;
  std::int64_t values = 0;
  std::int64_t mismatches = 0;
};

// The first value that differs: in the first layer that differs, in its tile that is stored first,
// the first value in the order n, y, x, c.
struct Divergence {
  std::string layer;
  std::optional<Origin> origin;  // the part of the ofmap whose STORE wrote it; absent: none did
  std::int64_t n = 0;
  std::int64_t y = 0;
  std::int64_t x = 0;
  std::int64_t c = 0;
  std::int32_t expected = 0;
  std::int32_t found = 0;
};

struct Comparison {
  std::vector<LayerComparison> layers;
  std::optional<Divergence> first;

  std::int64_t values() const;
  std::int64_t mismatches() const;
};

// The ofmaps of a program, one after the other in any order.
class OfmapComparison {
 public:
  explicit OfmapComparison(const Program& program);  // must outlive this object

  // Compares the ofmap of program layer `layer` with `expected` (both NHWC). Throws InternalError
  // for another shape or dtype and for a layer that has been compared.
  void add(std::size_t layer, const Tensor& expected, const Tensor& found);
  // The same for an ofmap whose bytes in DRAM are `dram` (TakeOfmap), of the ofmap's size: no
  // tensor is made of one that is as expected.
  void add(std::size_t layer, const Tensor& expected, std::span<const std::byte> dram);

  // Throws InternalError when a layer is missing.
  Comparison result() const;

 private:
  void note(std::size_t layer, const Tensor& expected, std::int64_t mismatches);

  const Program& program_;
  std::vector<std::optional<LayerComparison>> layers_;
  std::optional<Divergence> first_;
  std::size_t first_layer_ = 0;  // of first_
};

// Compares the ofmap of every program layer with golden[layer.graph_layer] (NHWC, one tensor per
// graph layer). Throws InternalError when the two sides differ in number, shape or dtype.
Comparison compare_ofmaps(const Program& program, const std::vector<Tensor>& golden,
                          const RunResult& result);

// Compares two sets of tensors, one per graph layer; a divergence has no origin.
Comparison compare_graph_layers(const Graph& graph, const std::vector<Tensor>& expected,
                                const std::vector<Tensor>& found);

// "conv2 tile 3 (n 0..1, y 0..8, x 0..16, c 32..48): at n 0, y 5, x 2, c 33 expected 17, found 18"
std::string divergence_text(const Divergence& divergence);

}  // namespace qsim::report
