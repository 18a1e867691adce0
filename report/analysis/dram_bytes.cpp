#include "report/analysis/dram_bytes.h"

#include <map>
#include <string>

#include "core/base/error.h"
#include "core/machine/dram_channel.h"

namespace qsim::report {
namespace {

std::size_t layer_of(const Program& program, Unit unit, std::size_t index) {
  const Origin origin = program.stream(unit).origin(index);
  const auto layer = static_cast<std::size_t>(origin.layer);
  QSIM_CHECK(layer < program.layers.size(),
             std::string(kUnitNames[static_cast<std::size_t>(unit)]) + " command " +
                 std::to_string(index) + " belongs to no layer");
  return layer;
}

// Where a tensor or segment lies, and which it is: the input, then the ofmaps, then the segments.
struct Region {
  std::int64_t end = 0;
  std::size_t index = 0;
};

// The regions of a program by their first byte, as a layer finds them. Tensors may share bytes: of
// those that begin before the layer, the last one has them.
class Regions {
 public:
  explicit Regions(const Program& program) : program_(program), layers_(program.layers.size()) {
    add(program.input.tensor, 0);
    for (std::size_t i = 0; i < program.segments.size(); ++i) {
      const DramSegment& segment = program.segments[i];
      put(segment.address, segment.address + std::ssize(segment.bytes), layers_ + 1 + i);
    }
  }

  // The regions that the LOADs of `layer` find. Layers come in order.
  void enter(std::size_t layer) {
    for (; next_ < layer; ++next_) add(program_.layers[next_].ofmap, next_ + 1);
  }

  const Region& at(std::int64_t address) const {
    const auto after = regions_.upper_bound(address);
    QSIM_CHECK(after != regions_.begin() && address < std::prev(after)->second.end,
               "a command moves DRAM bytes of no tensor at " + std::to_string(address));
    return std::prev(after)->second;
  }
  // The layer whose ofmap it is, or else the number of layers.
  std::size_t ofmap(const Region& region) const {
    return region.index == 0 || region.index > layers_ ? layers_ : region.index - 1;
  }
  bool is_segment(const Region& region) const { return region.index > layers_; }
  std::size_t segment(const Region& region) const { return region.index - layers_ - 1; }

 private:
  void add(const DramTensor& tensor, std::size_t index) {
    put(tensor.address, tensor.address + tensor.size_bytes(), index);
  }
  // Replaces the regions that have bytes of it.
  void put(std::int64_t begin, std::int64_t end, std::size_t index) {
    auto first = regions_.upper_bound(begin);
    if (first != regions_.begin() && std::prev(first)->second.end > begin) --first;
    regions_.erase(first, regions_.lower_bound(end));
    regions_[begin] = {end, index};
  }

  const Program& program_;
  std::size_t layers_;
  std::size_t next_ = 0;  // the first layer whose ofmap is not there yet
  std::map<std::int64_t, Region> regions_;
};

bool is_inside(const DramTensor& tensor, std::int64_t address) {
  return address >= tensor.address && address < tensor.address + tensor.size_bytes();
}

std::uint64_t& bytes_read(DramTraffic& traffic, const Regions& regions, const Region& region) {
  if (regions.is_segment(region)) return traffic.segments_read[regions.segment(region)];
  if (region.index == 0) return traffic.input_read;
  return traffic.ofmaps[regions.ofmap(region)].read;
}

// The bytes of one LOAD. Most lie in one region: its first and its last run say so.
void add_load(const Load& load, const Regions& regions, DramTraffic& traffic) {
  const std::int64_t last = load.dram_addr + std::int64_t{load.groups - 1} * load.group_stride +
                            std::int64_t{load.runs - 1} * load.run_stride;
  const Region& region = regions.at(load.dram_addr);
  if (regions.at(last).index == region.index) {
    bytes_read(traffic, regions, region) += std::uint64_t{load.groups} * load.runs * load.run_bytes;
    return;
  }
  for (std::uint32_t g = 0; g < load.groups; ++g) {
    for (std::uint32_t r = 0; r < load.runs; ++r) {
      const std::int64_t address =
          load.dram_addr + std::int64_t{g} * load.group_stride + std::int64_t{r} * load.run_stride;
      bytes_read(traffic, regions, regions.at(address)) += load.run_bytes;
    }
  }
}

// "NAME.weights": NAME is a layer's name, which may have dots.
std::string layer_name_of(const DramSegment& segment) {
  return segment.name.substr(0, segment.name.rfind('.'));
}

void check_equal(const std::string& what, std::uint64_t asked, std::uint64_t moved) {
  QSIM_CHECK(asked == moved, "DRAM bytes of " + what + ": the commands ask for " +
                                 std::to_string(asked) + ", the engine moved " +
                                 std::to_string(moved));
}

// Each command of a layer is before those of later layers, reads its own constants and writes its
// own ofmap.
void check_origins(const Program& program) {
  const Regions regions(program);
  for (const Unit unit : {Unit::kLoad, Unit::kStore}) {
    const CommandStream stream = program.stream(unit);
    std::size_t last = 0;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const std::size_t layer = layer_of(program, unit, i);
      const std::string place = "a command of layer '" + program.layers[layer].name + "' ";
      QSIM_CHECK(layer >= last,
                 place + "is after one of layer '" + program.layers[last].name + "'");
      last = layer;
      if (unit == Unit::kStore) {
        QSIM_CHECK(is_inside(program.layers[layer].ofmap, stream.fields<Store>(i).dram_addr),
                   place + "writes another tensor");
        continue;
      }
      const Load load = stream.fields<Load>(i);
      if (load.dram_addr < program.writable_bytes) continue;
      const Region& region = regions.at(load.dram_addr);
      const DramSegment& segment = program.segments[regions.segment(region)];
      QSIM_CHECK(layer_name_of(segment) == program.layers[layer].name,
                 place + "reads " + segment.name);
    }
  }
}

}  // namespace

std::vector<LayerDramBytes> dram_bytes_of_commands(const Program& program) {
  std::vector<LayerDramBytes> layers(program.layers.size());
  const CommandStream loads = program.stream(Unit::kLoad);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    layers[layer_of(program, Unit::kLoad, i)].read +=
        dram_transfer(loads.fields<Load>(i), program.arch).bytes;
  }
  const CommandStream stores = program.stream(Unit::kStore);
  for (std::size_t i = 0; i < stores.size(); ++i) {
    layers[layer_of(program, Unit::kStore, i)].written +=
        dram_transfer(stores.fields<Store>(i), program.arch).bytes;
  }
  return layers;
}

DramTraffic dram_traffic_of_commands(const Program& program) {
  Regions regions(program);
  DramTraffic traffic;
  traffic.ofmaps.resize(program.layers.size());
  traffic.segments_read.resize(program.segments.size());
  const CommandStream loads = program.stream(Unit::kLoad);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    regions.enter(layer_of(program, Unit::kLoad, i));
    add_load(loads.fields<Load>(i), regions, traffic);
  }
  const CommandStream stores = program.stream(Unit::kStore);
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const Store store = stores.fields<Store>(i);
    const std::size_t layer = layer_of(program, Unit::kStore, i);
    traffic.ofmaps[layer].written += dram_transfer(store, program.arch).bytes;
  }
  return traffic;
}

void check_dram_bytes(const Program& program, const DramTraffic& traffic) {
  check_origins(program);
  const DramTraffic asked = dram_traffic_of_commands(program);
  check_equal("the input", asked.input_read, traffic.input_read);
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const std::string what = "layer '" + program.layers[i].name + "'s ofmap";
    check_equal(what + " read", asked.ofmaps[i].read, traffic.ofmaps[i].read);
    check_equal(what + " written", asked.ofmaps[i].written, traffic.ofmaps[i].written);
  }
  for (std::size_t i = 0; i < program.segments.size(); ++i) {
    check_equal(program.segments[i].name, asked.segments_read[i], traffic.segments_read[i]);
  }
}

}  // namespace qsim::report
