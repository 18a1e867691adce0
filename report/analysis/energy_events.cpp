#include "report/analysis/energy_events.h"

#include "core/base/error.h"

namespace qsim::report {
namespace {

std::size_t layer_of(const Program& program, const CommandStream& stream, std::size_t index) {
  const auto layer = static_cast<std::size_t>(stream.origin(index).layer);
  QSIM_CHECK(layer < program.layers.size(), "a command belongs to no layer");
  return layer;
}

template <typename Fields>
void add_stream(std::vector<EnergyEvents>& layers, const Program& program, Unit unit) {
  const CommandStream stream = program.stream(unit);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    layers[layer_of(program, stream, i)] += events_of(stream.fields<Fields>(i), program.arch);
  }
}

}  // namespace

std::vector<EnergyEvents> energy_events(const Program& program) {
  std::vector<EnergyEvents> layers(program.layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].useful_macs = static_cast<std::uint64_t>(program.layers[i].macs);
  }
  add_stream<Load>(layers, program, Unit::kLoad);
  add_stream<Execute>(layers, program, Unit::kExecute);
  add_stream<Post>(layers, program, Unit::kPost);
  add_stream<Store>(layers, program, Unit::kStore);
  return layers;
}

}  // namespace qsim::report
