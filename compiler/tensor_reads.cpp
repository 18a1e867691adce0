#include "compiler/tensor_reads.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace qsim::compiler {
namespace {

// A tensor in DRAM: 0 is the input, 1 + i the ofmap of program layer i.
using Stored = std::size_t;
using StoredSet = std::set<Stored>;

// What the graph layers of each program layer read from DRAM.
std::vector<StoredSet> reads_of_layers(const Graph& graph, const Program& program) {
  std::vector<Stored> ofmap_of(graph.layers.size(), 0);  // 0: none
  for (std::size_t p = 0; p < program.layers.size(); ++p) {
    ofmap_of[static_cast<std::size_t>(program.layers[p].graph_layer)] = p + 1;
  }
  std::vector<StoredSet> sources(graph.tensors.size());  // by tensor: where its bytes come from
  sources[graph.input] = {0};
  std::vector<StoredSet> reads(program.layers.size());
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    StoredSet inputs;
    for (const TensorId input : graph.layers[i].inputs) {
      inputs.insert(sources[input].begin(), sources[input].end());
    }
    if (ofmap_of[i] > 0) reads[ofmap_of[i] - 1] = inputs;
    // A layer that runs inside another, or takes no command, hands on what it reads.
    sources[graph.layers[i].output] = ofmap_of[i] > 0 ? StoredSet{ofmap_of[i]} : std::move(inputs);
  }
  return reads;
}

// The tensors in DRAM when a layer starts, if all layers run one after the other.
class Owners {
 public:
  explicit Owners(const Program& program) : program_(program) { put(program.input.tensor, 0); }

  void enter(std::size_t layer) {
    for (; next_ < layer; ++next_) put(program_.layers[next_].ofmap, next_ + 1);
  }

  struct Range {
    std::int64_t end;
    Stored tensor;
  };
  // Null where no tensor has this byte.
  const Range* at(std::int64_t address) const {
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin() || address >= std::prev(after)->second.end) return nullptr;
    return &std::prev(after)->second;
  }

 private:
  void put(const DramTensor& tensor, Stored number) {
    const std::int64_t end = tensor.address + tensor.size_bytes();
    auto first = ranges_.upper_bound(tensor.address);
    if (first != ranges_.begin() && std::prev(first)->second.end > tensor.address) --first;
    ranges_.erase(first, ranges_.lower_bound(end));
    ranges_[tensor.address] = {end, number};
  }

  const Program& program_;
  std::size_t next_ = 0;
  std::map<std::int64_t, Range> ranges_;
};

std::string tensor_name(const Program& program, Stored tensor) {
  return tensor == 0 ? "the input" : "the ofmap of '" + program.layers[tensor - 1].name + "'";
}

void check_run(const Program& program, const Owners& owners, const StoredSet& reads,
               std::size_t layer, std::int64_t address, std::int64_t end) {
  while (address < end) {
    const Owners::Range* range = owners.at(address);
    const auto where = [&] {
      return "a LOAD of layer '" + program.layers[layer].name + "' reads byte " +
             std::to_string(address) + " of DRAM, ";
    };
    QSIM_CHECK(range != nullptr, where() + "which is of no tensor then");
    QSIM_CHECK(reads.contains(range->tensor),
               where() + tensor_name(program, range->tensor) + ", which that layer does not read");
    address = range->end;
  }
}

}  // namespace

void check_tensor_reads(const Graph& graph, const Program& program) {
  const std::vector<StoredSet> reads = reads_of_layers(graph, program);
  Owners owners(program);
  const CommandStream loads = program.stream(Unit::kLoad);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto load = loads.fields<Load>(i);
    if (load.memory != static_cast<std::uint32_t>(LoadMemory::kActivation)) continue;
    const auto layer = static_cast<std::size_t>(loads.origin(i).layer);
    owners.enter(layer);
    const std::int64_t last = std::int64_t{load.dram_addr} +
                              (std::int64_t{load.groups} - 1) * load.group_stride +
                              (std::int64_t{load.runs} - 1) * load.run_stride + load.run_bytes;
    const Owners::Range* range = owners.at(load.dram_addr);
    if (range != nullptr && last <= range->end && reads[layer].contains(range->tensor)) continue;
    for (std::int64_t g = 0; g < load.groups; ++g) {
      for (std::int64_t r = 0; r < load.runs; ++r) {
        const std::int64_t address = load.dram_addr + g * load.group_stride + r * load.run_stride;
        check_run(program, owners, reads[layer], layer, address, address + load.run_bytes);
      }
    }
  }
}

}  // namespace qsim::compiler
