#include "report/analysis/operand_accesses.h"

#include <algorithm>

#include "report/analysis/energy_events.h"

namespace qsim::report {
namespace {

// An operand's accesses while commands are added; cycles of the run.
class Window {
 public:
  void add(const CommandTime& time, std::uint64_t elems) {
    first_ = elems_ == 0 ? time.start : std::min(first_, time.start);
    done_ = std::max(done_, time.done);
    elems_ += elems;
  }
  // `begin`: of the layer's window.
  AccessWindow from(std::uint64_t begin) const {
    if (elems_ == 0) return {};
    return {first_ - begin, done_ - 1 - begin, elems_};
  }

 private:
  std::uint64_t first_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t elems_ = 0;
};

struct LayerWindows {
  Window sram_ifmap;
  Window sram_weights;
  Window sram_psums;
  Window dram_ifmap;
  Window dram_weights;
  Window dram_ofmap;
  std::uint64_t end = 0;
};

// Visits each command of a unit with its fields, its time and its layer's windows.
template <typename Fields, typename Visit>
void for_each(const Program& program, const CommandTimes& times, Unit unit,
              std::vector<LayerWindows>& layers, Visit visit) {
  const CommandStream stream = program.stream(unit);
  const std::vector<CommandTime>& of_unit = times[static_cast<std::size_t>(unit)];
  QSIM_CHECK(of_unit.size() == stream.size(), "each command has its times");
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const auto layer = static_cast<std::size_t>(stream.origin(i).layer);
    QSIM_CHECK(layer < layers.size(), "a command belongs to no layer");
    visit(stream.fields<Fields>(i), of_unit[i], layers[layer]);
  }
}

std::uint64_t bytes_of(std::uint64_t groups, std::uint64_t runs, std::uint64_t run_bytes) {
  return groups * runs * run_bytes;
}

}  // namespace

std::vector<OperandAccesses> operand_accesses(const Program& program, const CommandTimes& times) {
  std::vector<LayerWindows> layers(program.layers.size());
  for_each<Load>(program, times, Unit::kLoad, layers,
                 [](const Load& load, const CommandTime& time, LayerWindows& layer) {
                   const std::uint64_t bytes = bytes_of(load.groups, load.runs, load.run_bytes);
                   const auto memory = static_cast<LoadMemory>(load.memory);
                   if (memory == LoadMemory::kActivation) layer.dram_ifmap.add(time, bytes);
                   if (memory == LoadMemory::kWeight) layer.dram_weights.add(time, bytes);
                 });
  for_each<Execute>(program, times, Unit::kExecute, layers,
                    [&](const Execute& execute, const CommandTime& time, LayerWindows& layer) {
                      const EnergyEvents events = events_of(execute, program.arch);
                      layer.sram_ifmap.add(time, events.activation.read_bits / 8);
                      layer.sram_weights.add(time, events.weight.read_bits / 8);
                      layer.sram_psums.add(time, events.accumulator.write_bits / 32);
                    });
  for_each<Store>(program, times, Unit::kStore, layers,
                  [](const Store& store, const CommandTime& time, LayerWindows& layer) {
                    layer.dram_ofmap.add(time, bytes_of(store.groups, store.runs, store.run_bytes));
                    layer.end = std::max(layer.end, time.done);
                  });
  std::vector<OperandAccesses> accesses;
  std::uint64_t begin = 0;
  for (const LayerWindows& layer : layers) {
    accesses.push_back({layer.sram_ifmap.from(begin), layer.sram_weights.from(begin),
                        layer.sram_psums.from(begin), layer.dram_ifmap.from(begin),
                        layer.dram_weights.from(begin), layer.dram_ofmap.from(begin)});
    begin = layer.end;
  }
  return accesses;
}

}  // namespace qsim::report
