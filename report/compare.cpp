#include "report/compare.h"

#include <cstring>

namespace qsim {
namespace {

// A box of an ofmap: half-open ranges.
struct Region {
  std::int64_t n0, n1, y0, y1, x0, x1, c0, c1;
};

std::int32_t value_at(const Tensor& tensor, std::size_t index) {
  return tensor.dtype == DType::kUint8 ? tensor.as<std::uint8_t>()[index]
                                       : tensor.as<std::int8_t>()[index];
}

std::size_t index_of(const Shape& shape, std::int64_t n, std::int64_t y, std::int64_t x,
                     std::int64_t c) {
  return static_cast<std::size_t>(((n * shape[1] + y) * shape[2] + x) * shape[3] + c);
}

std::int64_t count_mismatches(const Tensor& expected, const Tensor& found) {
  if (std::memcmp(expected.bytes.data(), found.bytes.data(), expected.bytes.size()) == 0) return 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < expected.bytes.size(); ++i) {
    count += expected.bytes[i] != found.bytes[i] ? 1 : 0;
  }
  return count;
}

std::optional<Divergence> first_in(const Region& region, const Tensor& expected,
                                   const Tensor& found) {
  for (std::int64_t n = region.n0; n < region.n1; ++n) {
    for (std::int64_t y = region.y0; y < region.y1; ++y) {
      for (std::int64_t x = region.x0; x < region.x1; ++x) {
        for (std::int64_t c = region.c0; c < region.c1; ++c) {
          const std::size_t i = index_of(expected.shape, n, y, x, c);
          if (expected.bytes[i] == found.bytes[i]) continue;
          return Divergence{
              "", std::nullopt, n, y, x, c, value_at(expected, i), value_at(found, i)};
        }
      }
    }
  }
  return std::nullopt;
}

Region whole(const Shape& shape) { return {0, shape[0], 0, shape[1], 0, shape[2], 0, shape[3]}; }

// The origin's box, cut to the tensor: channels of the last block may reach beyond it.
Region region_of(const Origin& origin, const Shape& shape) {
  return {origin.n0, std::min<std::int64_t>(origin.n1, shape[0]),
          origin.y0, std::min<std::int64_t>(origin.y1, shape[1]),
          origin.x0, std::min<std::int64_t>(origin.x1, shape[2]),
          origin.c0, std::min<std::int64_t>(origin.c1, shape[3])};
}

Divergence first_stored(const Program& program, std::size_t layer, const Tensor& expected,
                        const Tensor& found) {
  for (const Instruction& store : program.stream(Unit::kStore)) {
    if (store.origin.layer != static_cast<std::int32_t>(layer)) continue;
    auto divergence = first_in(region_of(store.origin, expected.shape), expected, found);
    if (!divergence) continue;
    divergence->origin = store.origin;
    return *divergence;
  }
  auto divergence = first_in(whole(expected.shape), expected, found);
  QSIM_CHECK(divergence.has_value(), "tensors that differ have a first difference");
  return *divergence;
}

void check_comparable(const std::string& layer, const Tensor& expected, const Tensor& found) {
  QSIM_CHECK(expected.shape == found.shape && expected.shape.size() == 4,
             "layer '" + layer + "': golden is " + shape_text(expected.shape) +
                 ", the engine's ofmap is " + shape_text(found.shape));
  QSIM_CHECK(expected.dtype == found.dtype && dtype_bytes(found.dtype) == 1,
             "layer '" + layer + "': golden is " + std::string(dtype_name(expected.dtype)) +
                 ", the engine's ofmap is " + std::string(dtype_name(found.dtype)));
}

}  // namespace

std::int64_t Comparison::values() const {
  std::int64_t sum = 0;
  for (const LayerComparison& layer : layers) sum += layer.values;
  return sum;
}

std::int64_t Comparison::mismatches() const {
  std::int64_t sum = 0;
  for (const LayerComparison& layer : layers) sum += layer.mismatches;
  return sum;
}

Comparison compare_ofmaps(const Program& program, const std::vector<Tensor>& golden,
                          const RunResult& result) {
  QSIM_CHECK(result.ofmaps.size() == program.layers.size(),
             std::to_string(result.ofmaps.size()) + " ofmaps for " +
                 std::to_string(program.layers.size()) + " layers");
  Comparison comparison;
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const ProgramLayer& layer = program.layers[i];
    const auto graph_layer = static_cast<std::size_t>(layer.graph_layer);
    QSIM_CHECK(graph_layer < golden.size(), "no golden tensor for layer '" + layer.name + "'");
    const Tensor& expected = golden[graph_layer];
    const Tensor& found = result.ofmaps[i];
    check_comparable(layer.name, expected, found);
    const std::int64_t mismatches = count_mismatches(expected, found);
    comparison.layers.push_back({layer.name, expected.elems(), mismatches});
    if (mismatches == 0 || comparison.first) continue;
    comparison.first = first_stored(program, i, expected, found);
    comparison.first->layer = layer.name;
  }
  return comparison;
}

Comparison compare_graph_layers(const Graph& graph, const std::vector<Tensor>& expected,
                                const std::vector<Tensor>& found) {
  QSIM_CHECK(expected.size() == graph.layers.size() && found.size() == graph.layers.size(),
             "one tensor per graph layer");
  Comparison comparison;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const std::string& name = graph.layers[i].name;
    check_comparable(name, expected[i], found[i]);
    const std::int64_t mismatches = count_mismatches(expected[i], found[i]);
    comparison.layers.push_back({name, expected[i].elems(), mismatches});
    if (mismatches == 0 || comparison.first) continue;
    comparison.first = first_in(whole(expected[i].shape), expected[i], found[i]);
    comparison.first->layer = name;
  }
  return comparison;
}

std::string divergence_text(const Divergence& divergence) {
  const auto range = [](const char* axis, std::int64_t begin, std::int64_t end) {
    return std::string(", ") + axis + " " + std::to_string(begin) + ".." + std::to_string(end);
  };
  std::string text = divergence.layer;
  if (divergence.origin) {
    const Origin& o = *divergence.origin;
    text += " tile " + std::to_string(o.tile) + " (n " + std::to_string(o.n0) + ".." +
            std::to_string(o.n1) + range("y", o.y0, o.y1) + range("x", o.x0, o.x1) +
            range("c", o.c0, o.c1) + ")";
  }
  return text + ": at n " + std::to_string(divergence.n) + ", y " + std::to_string(divergence.y) +
         ", x " + std::to_string(divergence.x) + ", c " + std::to_string(divergence.c) +
         " expected " + std::to_string(divergence.expected) + ", found " +
         std::to_string(divergence.found);
}

}  // namespace qsim
