#include "formats/onnx/importer/hosted_parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace qsim::formats {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

bool is_levels(const HostValue& value) {
  return value.array.known == HostArray::Known::kShape &&
         (value.array.tensor.dtype == DType::kInt8 || value.array.tensor.dtype == DType::kUint8);
}

std::vector<std::size_t> makers_of(const HostNetwork& network) {
  std::vector<std::size_t> makers(network.values.size(), kNone);
  for (std::size_t n = 0; n < network.nodes.size(); ++n) {
    for (const HostValueId id : network.nodes[n].outputs) {
      if (id != kAbsentValue) makers[id] = n;
    }
  }
  return makers;
}

// Collects the nodes that make a value, back to levels. What a QuantizeLinear writes for a Clip
// alone counts as its own numbers: the two make levels of fewer bits.
class Collector {
 public:
  Collector(const HostNetwork& network, const std::vector<std::size_t>& makers)
      : network_(network), makers_(makers), is_clipped_(network.values.size(), false) {
    std::vector<int> readers(network.values.size(), 0);
    for (const HostNode& node : network.nodes) {
      for (const HostValueId id : node.inputs) {
        if (id != kAbsentValue) ++readers[id];
      }
    }
    for (const HostValueId id : network.outputs) ++readers[id];
    for (const HostNode& node : network.nodes) {
      if (node.op != "Clip" || node.inputs.empty() || node.inputs[0] == kAbsentValue) continue;
      const HostValueId id = node.inputs[0];
      is_clipped_[id] = readers[id] == 1 && makers[id] != kNone &&
                        network.nodes[makers[id]].op == "QuantizeLinear";
    }
  }

  bool are_levels(HostValueId id) const {
    return is_levels(network_.values[id]) && !is_clipped_[id];
  }

  LevelsUnit collect(HostValueId output) {
    LevelsUnit unit;
    unit.output = output;
    std::set<std::size_t> nodes = {makers_[output]};
    std::vector<std::size_t> open = {makers_[output]};
    while (!open.empty()) {
      const HostNode& node = network_.nodes[open.back()];
      open.pop_back();
      for (const HostValueId id : node.inputs) {
        if (id == kAbsentValue) continue;
        if (are_levels(id)) {
          if (std::ranges::find(unit.sources, id) == unit.sources.end()) unit.sources.push_back(id);
        } else if (makers_[id] != kNone) {
          if (nodes.insert(makers_[id]).second) open.push_back(makers_[id]);
        } else if (!network_.values[id].array.has_values()) {
          unit.reason = "it reads '" + network_.values[id].name + "', which is not 8-bit numbers";
        }
      }
    }
    unit.nodes.assign(nodes.begin(), nodes.end());
    if (unit.sources.empty() && unit.reason.empty()) unit.reason = "it reads no 8-bit numbers";
    return unit;
  }

 private:
  const HostNetwork& network_;
  const std::vector<std::size_t>& makers_;
  std::vector<bool> is_clipped_;
};

// Puts units into parts, one after the other.
class Planner {
 public:
  Planner(const HostNetwork& network, std::vector<LevelsUnit>& units, std::set<HostValueId>& ends)
      : units_(units), ends_(ends), part_of_(network.values.size(), kNone) {
    mark_ends(network);
  }

  // False where a unit got a reason, or a value an end, that the parts before it did not know.
  bool plan() {
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (units_[u].reason.empty() && !place(u)) return false;
    }
    return true;
  }

  std::vector<PartPlan> take() && { return std::move(parts_); }

 private:
  // A value ends its part where the host reads it: for a unit of its own, or for an output that is
  // not levels.
  void mark_ends(const HostNetwork& network) {
    const std::vector<std::size_t> makers = makers_of(network);
    std::vector<std::size_t> open;
    std::vector<bool> is_host(network.nodes.size(), false);
    const auto add = [&](std::size_t node) {
      if (!is_host[node]) open.push_back(node);
      is_host[node] = true;
    };
    for (const LevelsUnit& unit : units_) {
      if (unit.reason.empty()) continue;
      for (const std::size_t node : unit.nodes) add(node);
    }
    for (const HostValueId id : network.outputs) {
      ends_.insert(id);
      if (!is_levels(network.values[id]) && makers[id] != kNone) add(makers[id]);
    }
    while (!open.empty()) {
      const HostNode& node = network.nodes[open.back()];
      open.pop_back();
      for (const HostValueId id : node.inputs) {
        if (id == kAbsentValue || network.values[id].array.has_values()) continue;
        if (is_levels(network.values[id])) {
          ends_.insert(id);
        } else if (makers[id] != kNone) {
          add(makers[id]);
        }
      }
    }
  }

  bool place(std::size_t u) {
    LevelsUnit& unit = units_[u];
    const std::size_t part = part_for(unit);
    if (part != kNone) {
      join(u, part);
      return true;
    }
    if (unit.sources.size() > 1) {
      unit.reason = "it reads several tensors, which no one part of the array has";
      return false;
    }
    const HostValueId source = unit.sources[0];
    if (part_of_[source] != kNone && parts_[part_of_[source]].output != source) {
      ends_.insert(source);  // the part that makes it must end there
      return false;
    }
    parts_.push_back({source, source, {}});
    open_.push_back(true);
    join(u, parts_.size() - 1);
    return true;
  }

  // An open part that has all that the unit reads. A unit that ends its part and reads the input
  // alone would cut off what has begun there.
  std::size_t part_for(const LevelsUnit& unit) const {
    for (std::size_t p = parts_.size(); p-- > 0;) {
      if (!open_[p]) continue;
      const auto has = [&](HostValueId id) { return parts_[p].input == id || part_of_[id] == p; };
      const auto is_input = [&](HostValueId id) { return parts_[p].input == id; };
      if (!std::ranges::all_of(unit.sources, has)) continue;
      if (ends_.contains(unit.output) && std::ranges::all_of(unit.sources, is_input)) continue;
      return p;
    }
    return kNone;
  }

  void join(std::size_t u, std::size_t p) {
    parts_[p].units.push_back(u);
    part_of_[units_[u].output] = p;
    parts_[p].output = units_[u].output;
    if (ends_.contains(units_[u].output)) open_[p] = false;
  }

  std::vector<LevelsUnit>& units_;
  std::set<HostValueId>& ends_;
  std::vector<std::size_t> part_of_;  // the part that makes a value
  std::vector<PartPlan> parts_;
  std::vector<bool> open_;
};

// Of a node that is in no unit.
std::string reason_of(const HostNetwork& network, const HostNode& node) {
  const auto is_known = [&](HostValueId id) {
    return id == kAbsentValue || network.values[id].array.has_shape();
  };
  if (!std::ranges::all_of(node.outputs, is_known)) return "its shape depends on the input";
  return "its numbers are not 8-bit";
}

}  // namespace

std::vector<LevelsUnit> levels_units(const HostNetwork& network) {
  const std::vector<std::size_t> makers = makers_of(network);
  Collector collector(network, makers);
  std::vector<LevelsUnit> units;
  for (const HostNode& node : network.nodes) {
    for (const HostValueId id : node.outputs) {
      if (id != kAbsentValue && collector.are_levels(id)) units.push_back(collector.collect(id));
    }
  }
  return units;
}

std::vector<PartPlan> plan_parts(const HostNetwork& network, std::vector<LevelsUnit>& units) {
  std::set<HostValueId> ends;
  for (;;) {  // each round but the last adds a reason or an end
    Planner planner(network, units, ends);
    if (planner.plan()) return std::move(planner).take();
  }
}

void add_steps(HostedNetwork& hosted, const std::vector<LevelsUnit>& units) {
  const HostNetwork& network = hosted.network;
  const std::vector<std::size_t> makers = makers_of(network);
  std::map<HostValueId, std::size_t> part_of;
  for (std::size_t p = 0; p < hosted.parts.size(); ++p) part_of[hosted.parts[p].output] = p;
  std::map<std::size_t, const LevelsUnit*> unit_of;
  for (const LevelsUnit& unit : units) {
    if (unit.reason.empty()) continue;
    for (const std::size_t n : unit.nodes) unit_of.emplace(n, &unit);
  }
  std::set<std::size_t> nodes;
  std::set<std::size_t> parts;
  std::vector<HostValueId> open = network.outputs;
  while (!open.empty()) {
    const HostValueId id = open.back();
    open.pop_back();
    if (network.values[id].array.has_values()) continue;
    if (const auto part = part_of.find(id); part != part_of.end()) {
      if (parts.insert(part->second).second) open.push_back(hosted.parts[part->second].input);
      continue;
    }
    if (makers[id] == kNone || !nodes.insert(makers[id]).second) continue;
    for (const HostValueId input : network.nodes[makers[id]].inputs) {
      if (input != kAbsentValue) open.push_back(input);
    }
  }
  std::map<std::size_t, std::size_t> part_after;  // by the node that writes its output
  for (const std::size_t p : parts) part_after[makers[hosted.parts[p].output]] = p;
  for (std::size_t n = 0; n < network.nodes.size(); ++n) {
    if (const auto part = part_after.find(n); part != part_after.end()) {
      hosted.steps.push_back({true, part->second});
    }
    if (!nodes.contains(n)) continue;
    const auto unit = unit_of.find(n);
    hosted.steps.push_back({false, hosted.host_steps.size()});
    hosted.host_steps.push_back(
        {n, unit == unit_of.end() ? reason_of(network, network.nodes[n]) : unit->second->reason});
  }
}

}  // namespace qsim::formats
