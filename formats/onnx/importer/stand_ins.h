// Nodes that stand for others of a part: what the array has no operator for, written as what it
// has.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/onnx/importer/hosted_importer.h"
#include "formats/onnx/importer/hosted_parts.h"
#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

// In the place of a unit's nodes between levels.
struct StandIn {
  std::set<std::size_t> kept;  // of the unit's nodes, in HostNetwork::nodes
  std::vector<onnx::NodeProto> nodes;
  std::vector<std::pair<std::string, onnx::TensorProto>> constants;
  int index = 0;  // the file's number that `nodes` have

  void add_to(ModelGraph& part) const;
};

// A table in the place of a unit that is a function of one level. `fused_nodes` are the network's,
// as ONNX Runtime runs them. Nothing for another unit.
std::optional<StandIn> table_stand_in(const HostNetwork& network,
                                      const std::vector<HostNode>& fused_nodes,
                                      const LevelsUnit& unit, const LevelsFunction& function);

// A depthwise convolution of 1x1 in the place of a unit that multiplies each channel of pictures by
// a number and adds one (BatchNormalization, Mul and Add of constants), before clamps. Its weights
// are 127 with a scale a channel, so that a bias is rounded to less than a hundredth of what a
// level of the input counts; bytes may be a step from those of float32. Nothing for another unit.
std::optional<StandIn> affine_stand_in(const HostNetwork& network, const LevelsUnit& unit);

}  // namespace qsim::formats
