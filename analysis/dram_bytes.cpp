#include "analysis/dram_bytes.h"

#include <map>
#include <string>

#include "core/dram_channel.h"
#include "core/error.h"

namespace qsim {
namespace {

std::size_t layer_of(const Program& program, Unit unit, std::size_t index) {
  const Origin origin = program.stream(unit).origin(index);
  const auto layer = static_cast<std::size_t>(origin.layer);
  QSIM_CHECK(layer < program.layers.size(),
             std::string(kUnitNames[static_cast<std::size_t>(unit)]) + " command " +
                 std::to_string(index) + " belongs to no layer");
  return layer;
}

// The layer whose name is before the last dot of "conv1.weights".
std::map<std::string, std::size_t> layers_by_name(const Program& program) {
  std::map<std::string, std::size_t> layers;
  for (std::size_t i = 0; i < program.layers.size(); ++i) layers[program.layers[i].name] = i;
  return layers;
}

std::string text(const LayerDramBytes& bytes) {
  return std::to_string(bytes.read) + " read and " + std::to_string(bytes.written) + " written";
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

std::vector<LayerDramBytes> dram_bytes_of_traffic(const Program& program,
                                                  const DramTraffic& traffic) {
  std::vector<LayerDramBytes> layers(program.layers.size());
  if (layers.empty()) return layers;
  layers[0].read = traffic.input_read;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].written = traffic.ofmaps[i].written;
    if (i + 1 < layers.size()) layers[i + 1].read += traffic.ofmaps[i].read;
  }
  const std::map<std::string, std::size_t> by_name = layers_by_name(program);
  for (std::size_t i = 0; i < program.segments.size(); ++i) {
    if (traffic.segments_read[i] == 0) continue;
    const std::string& name = program.segments[i].name;
    const auto layer = by_name.find(name.substr(0, name.rfind('.')));
    QSIM_CHECK(layer != by_name.end(), "segment " + name + " is read and belongs to no layer");
    layers[layer->second].read += traffic.segments_read[i];
  }
  return layers;
}

void check_dram_bytes(const Program& program, const DramTraffic& traffic) {
  const std::vector<LayerDramBytes> asked = dram_bytes_of_commands(program);
  const std::vector<LayerDramBytes> moved = dram_bytes_of_traffic(program, traffic);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    QSIM_CHECK(asked[i] == moved[i], "DRAM bytes of layer '" + program.layers[i].name +
                                         "': its commands ask for " + text(asked[i]) +
                                         ", the engine moved " + text(moved[i]));
  }
}

}  // namespace qsim
