#include "report/tensor_comparison.h"

#include <cstring>

#include "core/base/printable.h"

namespace qsim::report {
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

void check_comparable(const std::string& layer, const Tensor& expected, const Shape& found_shape,
                      DType found_dtype) {
  QSIM_CHECK(expected.shape == found_shape && expected.shape.size() == 4,
             "layer '" + layer + "': golden is " + shape_text(expected.shape) +
                 ", the engine's ofmap is " + shape_text(found_shape));
  QSIM_CHECK(expected.dtype == found_dtype && dtype_bytes(found_dtype) == 1,
             "layer '" + layer + "': golden is " + std::string(dtype_name(expected.dtype)) +
                 ", the engine's ofmap is " + std::string(dtype_name(found_dtype)));
}

// The first divergence of a layer whose two tensors are comparable and differ.
Divergence first_of_layer(const Program& program, std::size_t layer, const Tensor& expected,
                          const Tensor& found) {
  Divergence divergence = first_stored(program, layer, expected, found);
  divergence.layer = program.layers[layer].name;
  return divergence;
}

bool equals(const Tensor& expected, const DramTensor& ofmap, std::span<const std::byte> dram) {
  const ImageShape& shape = ofmap.value.shape;
  std::vector<std::byte> row(static_cast<std::size_t>(shape.width * shape.channels));
  const std::byte* at = expected.bytes.data();
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t y = 0; y < shape.height; ++y, at += row.size()) {
      unpack_row(ofmap, dram, n, y, row);
      if (std::memcmp(at, row.data(), row.size()) != 0) return false;
    }
  }
  return true;
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

OfmapComparison::OfmapComparison(const Program& program)
    : program_(program), layers_(program.layers.size()) {}

void OfmapComparison::add(std::size_t layer, const Tensor& expected,
                          std::span<const std::byte> dram) {
  const ProgramLayer& program_layer = program_.layers[layer];
  const DramTensor& ofmap = program_layer.ofmap;
  check_comparable(program_layer.name, expected, ofmap.value.shape.nhwc(), ofmap.value.dtype);
  if (equals(expected, ofmap, dram)) {
    note(layer, expected, 0);
  } else {
    add(layer, expected, unpack(ofmap, dram));
  }
}

void OfmapComparison::add(std::size_t layer, const Tensor& expected, const Tensor& found) {
  check_comparable(program_.layers[layer].name, expected, found.shape, found.dtype);
  const std::int64_t mismatches = count_mismatches(expected, found);
  note(layer, expected, mismatches);
  if (mismatches == 0 || (first_ && first_layer_ < layer)) return;
  first_ = first_of_layer(program_, layer, expected, found);
  first_layer_ = layer;
}

void OfmapComparison::note(std::size_t layer, const Tensor& expected, std::int64_t mismatches) {
  const std::string& name = program_.layers[layer].name;
  QSIM_CHECK(!layers_[layer], "layer '" + name + "' has been compared");
  layers_[layer] = LayerComparison{name, expected.elems(), mismatches};
}

Comparison OfmapComparison::result() const {
  Comparison comparison;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    QSIM_CHECK(layers_[i], "layer '" + program_.layers[i].name + "' was not compared");
    comparison.layers.push_back(*layers_[i]);
  }
  comparison.first = first_;
  return comparison;
}

Comparison compare_ofmaps(const Program& program, const std::vector<Tensor>& golden,
                          const RunResult& result) {
  QSIM_CHECK(result.ofmaps.size() == program.layers.size(),
             std::to_string(result.ofmaps.size()) + " ofmaps for " +
                 std::to_string(program.layers.size()) + " layers");
  OfmapComparison comparison(program);
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const ProgramLayer& layer = program.layers[i];
    const auto graph_layer = static_cast<std::size_t>(layer.graph_layer);
    QSIM_CHECK(graph_layer < golden.size(), "no golden tensor for layer '" + layer.name + "'");
    comparison.add(i, golden[graph_layer], result.ofmaps[i]);
  }
  return comparison.result();
}

Comparison compare_graph_layers(const Graph& graph, const std::vector<Tensor>& expected,
                                const std::vector<Tensor>& found) {
  QSIM_CHECK(expected.size() == graph.layers.size() && found.size() == graph.layers.size(),
             "one tensor per graph layer");
  Comparison comparison;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const std::string& name = graph.layers[i].name;
    check_comparable(name, expected[i], found[i].shape, found[i].dtype);
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
  std::string text = echoed(divergence.layer);
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

}  // namespace qsim::report
