#include "report/program_sheet.h"

#include "core/machine/dram_channel.h"

namespace qsim::report {
namespace {

struct LayerCounts {
  std::array<std::int64_t, kUnits> commands{};
  std::int64_t dram_bytes = 0;
};

std::uint64_t dram_bytes_of(const Command& command, const ArchConfig& arch) {
  if (const auto* load = std::get_if<Load>(&command.fields)) {
    return dram_transfer(*load, arch).bytes;
  }
  if (const auto* store = std::get_if<Store>(&command.fields)) {
    return dram_transfer(*store, arch).bytes;
  }
  return 0;
}

std::vector<LayerCounts> count_commands(const Program& program) {
  std::vector<LayerCounts> counts(program.layers.size());
  for (std::size_t u = 0; u < kUnits; ++u) {
    for (const Instruction& instruction : program.streams[u]) {
      const auto layer = static_cast<std::size_t>(instruction.origin.layer);
      if (layer >= counts.size()) continue;  // the verifier's business
      ++counts[layer].commands[u];
      counts[layer].dram_bytes +=
          static_cast<std::int64_t>(dram_bytes_of(instruction.command, program.arch));
    }
  }
  return counts;
}

}  // namespace

Sheet program_sheet(const Program& program, std::int64_t dram_bytes) {
  Sheet sheet;
  sheet.add("program", program.name);
  sheet.add("config", program.arch.name);
  sheet.add("commands", static_cast<std::int64_t>(program.command_count()));
  sheet.add("dram_bytes", dram_bytes);
  const std::vector<LayerCounts> counts = count_commands(program);
  SheetTable table{"layers", {"layer", "op", "mapping", "macs"}, {}};
  for (const std::string_view unit : kUnitNames) table.columns.emplace_back(unit);
  table.columns.emplace_back("dram_traffic_bytes");
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const ProgramLayer& layer = program.layers[i];
    std::vector<Cell> row = {layer.name, layer.operation, layer.mapping, layer.macs};
    for (const std::int64_t commands : counts[i].commands) row.emplace_back(commands);
    row.emplace_back(counts[i].dram_bytes);
    table.rows.push_back(std::move(row));
  }
  sheet.tables.push_back(std::move(table));
  return sheet;
}

}  // namespace qsim::report
