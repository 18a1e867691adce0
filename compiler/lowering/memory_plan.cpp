#include "compiler/lowering/memory_plan.h"

#include <map>

#include "compiler/lowering/network_mapping.h"
#include "compiler/lowering/tensor_lifetimes.h"
#include "core/base/checked_math.h"
#include "core/base/limits.h"

namespace qsim::compiler {
namespace {

void check_end(std::int64_t end, const std::string& what) {
  if (end <= kMaxDramBytes) return;
  throw_unsupported(what + " ends at byte " + std::to_string(end) +
                    " of DRAM; commands address 4294967296 bytes");
}

// Hands out aligned regions from `begin` on, one after the other.
class RegionAllocator {
 public:
  explicit RegionAllocator(std::int64_t begin) : next_(begin) {}

  std::int64_t take(std::int64_t bytes, const std::string& what) {
    const std::int64_t address = next_;
    next_ = round_up(checked_add(next_, bytes), kRegionAlignment);
    check_end(next_, what);
    return address;
  }

 private:
  std::int64_t next_;
};

// Which tensors have a region of DRAM together, and when each region is needed.
class TensorRegions {
 public:
  TensorRegions(const std::vector<FusedLayer>& layers, std::int64_t block) : block_(block) {
    add_region(layers.front().input_tensor, {0, layers.front().input, block}, 0, "the input");
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const FusedLayer& layer = layers[i];
      note_use(layer.input_tensor, i);
      for (const FusedLayer::Operand& operand : layer.more_inputs) note_use(operand.tensor, i);
      add_ofmap(layer, i);
    }
  }

  std::span<const TensorLifetime> lifetimes() const { return lifetimes_; }

  // Throws Error (exit code 4) for a region that no command can address.
  void place(const DramPlaces& places) {
    for (std::size_t r = 0; r < lifetimes_.size(); ++r) {
      check_end(round_up(checked_add(places.addresses[r], lifetimes_[r].bytes), kRegionAlignment),
                names_[r]);
    }
    for (auto& [id, part] : parts_) part.tensor.address += places.addresses[part.region];
  }
  // Precondition: place() has been called.
  const DramTensor& tensor(TensorId id) const { return parts_.at(id).tensor; }

 private:
  struct Part {
    std::size_t region;
    DramTensor tensor;  // its address counts from the region's first byte until place()
  };

  void add_region(TensorId id, const DramTensor& whole, std::size_t layer,
                  const std::string& name) {
    parts_[id] = {lifetimes_.size(), whole};
    lifetimes_.push_back({whole.size_bytes(), layer, layer});
    names_.push_back(name);
  }

  void note_use(TensorId id, std::size_t layer) {
    lifetimes_[parts_.at(id).region].last = layer;  // layers come in order
  }

  // A region of its own, or a part of a concatenation's; the first of its operands begins that.
  void add_ofmap(const FusedLayer& layer, std::size_t index) {
    const std::string name = layer_place(layer.name, layer.source);
    const DramTensor ofmap = {0, layer.output, block_};
    if (layer.slices.empty()) return add_region(layer.output_tensor, ofmap, index, name);
    const FusedLayer::Slice& outer = layer.slices.back();
    if (!parts_.contains(outer.whole)) {
      add_region(outer.whole, {0, outer.value, block_}, index, name);
    }
    const Part whole = parts_.at(outer.whole);
    const auto part_at = [&](std::int64_t first_channel, const Value& value) -> Part {
      return {whole.region, {whole.tensor.element_address(0, 0, 0, first_channel), value, block_}};
    };
    for (const FusedLayer::Slice& slice : layer.slices) {
      parts_[slice.whole] = part_at(outer.first_channel - slice.first_channel, slice.value);
    }
    parts_[layer.output_tensor] = part_at(outer.first_channel, layer.output);
    note_use(layer.output_tensor, index);
  }

  std::int64_t block_;
  std::map<TensorId, Part> parts_;
  std::vector<TensorLifetime> lifetimes_;  // by region
  std::vector<std::string> names_;         // by region: what is placed, for errors
};

bool is_chain(const std::vector<FusedLayer>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].more_inputs.empty() || !layers[i].slices.empty()) return false;
    if (i > 0 && layers[i].input_tensor != layers[i - 1].output_tensor) return false;
  }
  return true;
}

bool shares_regions(DramPlan plan, const std::vector<FusedLayer>& layers) {
  return plan == DramPlan::kLifetime || (plan == DramPlan::kAuto && !is_chain(layers));
}

PlannedLayer planned_layer(const FusedLayer& layer, const TensorRegions& regions,
                           const ArchConfig& arch) {
  PlannedLayer planned;
  planned.layer = &layer;
  planned.geometry = layer_geometry(layer, arch);
  planned.ifmap = regions.tensor(layer.input_tensor);
  for (const FusedLayer::Operand& operand : layer.more_inputs) {
    planned.more_ifmaps.push_back(regions.tensor(operand.tensor));
  }
  planned.ofmap = regions.tensor(layer.output_tensor);
  return planned;
}

}  // namespace

std::int64_t packed_weight_bytes(const LayerGeometry& g, const ArchConfig& arch) {
  std::int64_t folds = 0;
  for (std::int64_t block = 0; block < g.column_blocks; ++block) {
    folds += g.planes_of(block).size() * g.plane_weight_folds();
  }
  return checked_mul(folds, arch.array_rows * arch.array_cols);
}

MemoryPlan plan_memory(const std::vector<FusedLayer>& layers, const ArchConfig& arch,
                       const CompileOptions& options) {
  TensorRegions regions(layers, arch.block_channels());
  const DramPlaces apart = place_apart(regions.lifetimes());
  const bool shares = shares_regions(options.dram_plan, layers);
  const DramPlaces places = shares ? place_by_lifetime(regions.lifetimes()) : apart;
  regions.place(places);
  MemoryPlan plan;
  plan.input.tensor = regions.tensor(layers.front().input_tensor);
  plan.input.taps = layers.front().taps;
  for (const FusedLayer& layer : layers) {
    plan.layers.push_back(planned_layer(layer, regions, arch));
  }
  choose_mappings(plan.layers, arch, options);
  plan.writable_bytes = places.bytes;
  plan.separate_bytes = apart.bytes;
  plan.live_bytes = most_live_bytes(regions.lifetimes());
  plan.shares_regions = shares;
  RegionAllocator allocator(plan.writable_bytes);
  for (PlannedLayer& planned : plan.layers) {
    const std::string what = layer_place(planned.layer->name, planned.layer->source);
    planned.weights_bytes = packed_weight_bytes(planned.geometry, arch);
    planned.weights_address = allocator.take(planned.weights_bytes, what);
    planned.param_stride = round_up(arch.param_block_bytes(), arch.bus_bytes);
    planned.params_address = allocator.take(planned.params_bytes(), what);
    if (planned.layer->table) planned.table_address = allocator.take(kTableBytes, what);
  }
  return plan;
}

}  // namespace qsim::compiler
