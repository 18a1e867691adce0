// A network as the nodes of its ONNX file, for what the array cannot do: tensors of any rank and
// type, and operators in the order in which they run. Golden's host (golden/host) computes it;
// formats/onnx/importer/host_importer.h reads it from a file. ADR 0025 (docs/adr/software.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/tensor.h"

namespace qsim {

// A tensor of a host, or as much of it as is known before the network runs.
struct HostArray {
  enum class Known : std::uint8_t { kNothing, kShape, kValues };
  Known known = Known::kNothing;
  Tensor tensor = {};  // dtype and shape from kShape on, bytes of kValues alone

  bool has_shape() const { return known != Known::kNothing; }
  bool has_values() const { return known == Known::kValues; }
};

// An index of HostNetwork::values.
using HostValueId = std::size_t;
inline constexpr HostValueId kAbsentValue = static_cast<HostValueId>(-1);  // an optional input

struct HostValue {
  std::string name;      // in the file
  HostArray array = {};  // a constant has its values; others what is known before a run
};

struct HostNetwork;
// A graph inside a node (of If, Loop and Scan). Its inputs are those that the operator gives it,
// then the values of the graphs around it that it reads.
struct HostBody {
  std::shared_ptr<const HostNetwork> network;
  std::vector<std::size_t> captured = {};  // of the node's inputs: the network's last inputs

  bool operator==(const HostBody&) const = default;  // the same network, not an equal one
};

using HostAttribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                                   std::vector<float>, std::vector<std::string>, Tensor, HostBody>;

// An attribute of QLinearAdd and QLinearAveragePool that no file has: levels and zero_points count
// as so much larger.
inline constexpr const char* kLevelsOffset = "levels_offset";

struct HostNode {
  std::string name;    // the file's, or "Add_3"
  std::string op;      // "Add"
  std::string domain;  // "" for ONNX's own
  int opset = 0;       // of that domain
  std::string source;  // what errors call it: "net.onnx: node 'add1' (Add)"
  int index = 0;       // in the file
  std::map<std::string, HostAttribute, std::less<>> attributes = {};
  // kAbsentValue for one that is left out; those that its graphs read come last.
  std::vector<HostValueId> inputs = {};
  std::vector<HostValueId> outputs = {};  // the same
};

// Each value but the inputs and the constants is an output of one node, which comes before the
// nodes that read it.
struct HostNetwork {
  std::string name;
  std::vector<HostValue> values;
  std::vector<HostValueId> inputs;
  std::vector<HostValueId> outputs;
  std::vector<HostNode> nodes;
};

// Whether all that the node writes is known before a run, so that it need not run.
bool is_folded(const HostNetwork& network, const HostNode& node);

// Whether an operator of ONNX's main domain gives a tensor's elements, in their order, a new shape.
bool only_reshapes(std::string_view op);

}  // namespace qsim
