// ONNX files as the host reads them: whatever protobuf bytes say, the reader and each operator
// answer or throw an Error; in a run each tensor has the type and the shape that were known before
// it. Networks of modest size alone: an operator takes what its sizes say.
#include <algorithm>
#include <memory>

#include "formats/onnx/importer/host_importer.h"
#include "formats/onnx/importer/model_file.h"
#include "golden/host/host_costs.h"
#include "golden/host/host_executor.h"
#include "golden/host/host_operators.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

using namespace formats;
namespace {

constexpr std::int64_t kMostElements = 1 << 12;
constexpr double kMostWork = 1 << 22;
constexpr std::size_t kMostNodes = 64;
constexpr std::int64_t kBatch = 2;

using Arrays = std::vector<const HostArray*>;

// The elements of a shape; of one that 64 bits do not count, more than are modest.
std::int64_t counted(const Shape& shape) {
  std::int64_t elements = kMostElements + 1;
  static_cast<void>(accepted([&] { elements = element_count(shape); }));
  return elements;
}

// Whether what the node writes, and the products of what it reads, are of modest size. The shapes
// of its outputs are asked for with one input more, of which there is no value.
bool is_modest(const HostNode& node, Arrays inputs) {
  double work = 1;
  for (const HostArray* input : inputs) {
    if (input == nullptr || !input->has_shape()) continue;
    if (counted(input->tensor.shape) > kMostElements) return false;
    work *= std::max(1.0, static_cast<double>(counted(input->tensor.shape)));
  }
  if (work > kMostWork) return false;
  HostArray scalar;
  scalar.known = HostArray::Known::kShape;
  scalar.tensor.dtype = DType::kFloat32;
  inputs.push_back(&scalar);
  std::vector<HostArray> outputs;
  // One that takes no further input makes nothing larger than the product of what it reads.
  if (!accepted([&] { outputs = golden::run_host_node(node, inputs); })) return true;
  return std::ranges::all_of(outputs, [](const HostArray& output) {
    return !output.has_shape() || counted(output.tensor.shape) <= kMostElements;
  });
}

// What fold_and_shape() finds, or nothing where a node is large or refused.
bool can_be_folded(HostNetwork network) {
  for (const HostNode& node : network.nodes) {
    Arrays inputs;
    for (const HostValueId id : node.inputs) {
      inputs.push_back(id == kAbsentValue ? nullptr : &network.values[id].array);
    }
    if (!is_modest(node, inputs)) return false;
    std::vector<HostArray> outputs;
    if (!accepted([&] { outputs = golden::run_host_node(node, inputs); })) return false;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] != kAbsentValue) {
        network.values[node.outputs[i]].array = std::move(outputs[i]);
      }
    }
  }
  return true;
}

Tensor small_numbers(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  golden::with_type(dtype, [&]<typename T>() {
    const auto values = golden::elements<T>(tensor);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<T>(dtype == DType::kBool ? i % 2 : i * 7 % 5);
    }
  });
  return tensor;
}

// Runs node after node; stops before a large one and at a refusal.
void check_run(const HostNetwork& network) {
  std::vector<HostArray> arrays;
  for (const HostValue& value : network.values) arrays.push_back(value.array);
  for (const HostValueId id : network.inputs) {
    if (!arrays[id].has_shape() || element_count(arrays[id].tensor.shape) > kMostElements) return;
    arrays[id] = {HostArray::Known::kValues,
                  small_numbers(arrays[id].tensor.dtype, arrays[id].tensor.shape)};
  }
  golden::HostRun run(network);
  for (const HostValueId id : network.inputs) run.set(id, arrays[id].tensor);
  for (const HostNode& node : network.nodes) {
    Arrays inputs;
    for (const HostValueId id : node.inputs) {
      inputs.push_back(id == kAbsentValue ? nullptr : &arrays[id]);
    }
    if (!is_modest(node, inputs) || !accepted([&] { run.run(node); })) return;
    for (const HostValueId id : node.outputs) {
      if (id == kAbsentValue) continue;
      const HostArray& known = network.values[id].array;
      const Tensor& found = run.get(id);
      require(!known.has_shape() ||
                  (known.tensor.dtype == found.dtype && known.tensor.shape == found.shape),
              node.source + ": writes another type or shape than was known");
      require(static_cast<std::int64_t>(found.bytes.size()) ==
                  found.elems() * static_cast<std::int64_t>(dtype_bytes(found.dtype)),
              node.source + ": the bytes do not fill the shape");
      arrays[id] = {HostArray::Known::kValues, found};
    }
  }
}

}  // namespace

bool fuzz_one(Bytes input) {
  static Folder folder;
  // A neighbour for models whose tensors lie in a file of their own.
  static const auto kWeights = folder.file("weights.bin", std::string(64, '\x05'));
  const auto path = folder.file("model.onnx", text_of(input));
  HostNetwork network;
  const auto read = [&] {
    network =
        import_host_network(*read_model_file(std::make_shared<const HeldFile>(path)), {kBatch, {}});
  };
  if (!accepted(read) || network.nodes.size() > kMostNodes || !can_be_folded(network)) return false;
  golden::fold_and_shape(network);
  for (const HostNode& node : network.nodes) {
    require(golden::host_operations(network, node) >= 0, "negative work");
    require(golden::host_bytes(network, node) >= 0, "negative bytes");
  }
  check_run(network);
  return true;
}

}  // namespace qsim::fuzz
