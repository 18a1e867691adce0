#include "compiler/lowering/memory_plan.h"

#include <algorithm>

#include "compiler/lowering/mapper.h"
#include "core/checked_math.h"
#include "core/limits.h"
#include "core/nearest_name.h"
#include "core/printable.h"

namespace qsim {
namespace {

constexpr std::int64_t kRegionAlignment = 4096;  // a burst never needs to cross a 4 KiB line

// Hands out aligned regions, one after the other.
class RegionAllocator {
 public:
  std::int64_t take(std::int64_t bytes, const std::string& what) {
    const std::int64_t address = next_;
    next_ = round_up(checked_add(next_, bytes), kRegionAlignment);
    if (next_ > kMaxDramBytes) {
      throw_unsupported(what + " ends at byte " + std::to_string(next_) +
                        " of DRAM; commands address 4294967296 bytes");
    }
    return address;
  }
  std::int64_t end() const { return next_; }

 private:
  std::int64_t next_ = 0;
};

std::string in_front(const std::string& place) { return place.empty() ? "" : place + ": "; }

// Every mapping is of a layer that there is.
void require_layers(const std::vector<LayerMapping>& mappings,
                    const std::vector<FusedLayer>& layers) {
  std::vector<std::string_view> names;
  for (const FusedLayer& layer : layers) names.push_back(layer.name);
  for (const LayerMapping& given : mappings) {
    if (std::find(names.begin(), names.end(), given.layer) != names.end()) continue;
    const std::string_view near = nearest_name(given.layer, names);
    throw_bad_input(in_front(given.place) + "the program has no layer '" + echoed(given.layer) +
                    "'" + (near.empty() ? "" : "; did you mean '" + echoed(near) + "'?"));
  }
}

// The mapping that the user gives for a layer, or the chosen one.
Mapping mapping_for(const PlannedLayer& planned, const ArchConfig& arch,
                    const CompileOptions& options) {
  const FusedLayer& layer = *planned.layer;
  for (const LayerMapping& given : options.mappings) {
    if (given.layer != layer.name) continue;
    const std::optional<MappingFault> fault = find_fault(planned.geometry, given.mapping, arch);
    if (!fault) return given.mapping;
    std::string place = given.place;
    for (std::size_t i = 0; i < given.field_places.size(); ++i) {
      if (mapping_fields()[i].name == fault->field) place = given.field_places[i];
    }
    throw_bad_input(in_front(place) + "the mapping does not fit layer '" + echoed(layer.name) +
                    "': " + fault_text(*fault));
  }
  MapperOptions mapper;
  mapper.dataflow = options.dataflow.value_or(mapper.dataflow);
  const std::vector<std::int64_t> key = layer_key(planned, arch, mapper);
  const auto known = options.known->find(key);
  if (known != options.known->end()) return known->second;
  return options.known->emplace(key, map_layer(planned, arch, mapper).mapping).first->second;
}

}  // namespace

std::int64_t packed_weight_bytes(const LayerGeometry& g, const ArchConfig& arch) {
  std::int64_t folds = 0;
  for (std::int64_t block = 0; block < g.column_blocks; ++block) {
    folds += g.planes_of(block, arch).size() * g.window.kernel_h * g.window.kernel_w;
  }
  return checked_mul(folds, arch.array_rows * arch.array_cols);
}

MemoryPlan plan_memory(const std::vector<FusedLayer>& layers, const ArchConfig& arch,
                       const CompileOptions& options) {
  require_layers(options.mappings, layers);
  MemoryPlan plan;
  RegionAllocator allocator;
  plan.input.tensor = {0, layers.front().input, arch.block_channels()};
  plan.input.taps = layers.front().taps;
  plan.input.tensor.address = allocator.take(plan.input.tensor.size_bytes(), "the input");
  for (const FusedLayer& layer : layers) {
    PlannedLayer planned;
    planned.layer = &layer;
    planned.geometry = layer_geometry(layer, arch);
    planned.ifmap = plan.layers.empty() ? plan.input.tensor : plan.layers.back().ofmap;
    planned.ofmap = {0, layer.output, arch.block_channels()};
    planned.ofmap.address =
        allocator.take(planned.ofmap.size_bytes(), layer_place(layer.name, layer.source));
    planned.mapping = mapping_for(planned, arch, options);
    plan.layers.push_back(planned);
  }
  plan.writable_bytes = allocator.end();
  for (PlannedLayer& planned : plan.layers) {
    const std::string what = layer_place(planned.layer->name, planned.layer->source);
    planned.weights_bytes = packed_weight_bytes(planned.geometry, arch);
    planned.weights_address = allocator.take(planned.weights_bytes, what);
    planned.param_stride = round_up(arch.param_block_bytes(), arch.bus_bytes);
    planned.params_address =
        allocator.take(planned.param_stride * planned.geometry.column_blocks, what);
  }
  return plan;
}

}  // namespace qsim
