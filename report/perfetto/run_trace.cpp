#include "report/perfetto/run_trace.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/printable.h"
#include "report/perfetto/command_tracks.h"
#include "report/perfetto/counters.h"

namespace qsim {
namespace {

std::string_view dataflow_of(const Program& program, std::size_t execute) {
  const auto fields = program.stream(Unit::kExecute).fields<Execute>(execute);
  return kDataflowNames[fields.dataflow];
}

// By layer, of its first EXECUTE.
std::vector<std::string_view> layer_dataflows(const Program& program) {
  std::vector<std::string_view> dataflows(program.layers.size(), "none");
  const CommandStream executes = program.stream(Unit::kExecute);
  for (std::size_t i = executes.size(); i-- > 0;) {
    dataflows[static_cast<std::size_t>(executes.origin(i).layer)] = dataflow_of(program, i);
  }
  return dataflows;
}

void trace_layers(const TracedRun& run, const CycleWindow& window, TraceTrack group,
                  TraceWriter& writer) {
  const TraceTrack track = writer.track(
      group, "layers", "from the end of the layer before to the done of the layer's last STORE");
  const std::vector<std::string_view> dataflows = layer_dataflows(run.program);
  for (std::size_t i = 0; i < run.account.layers.size(); ++i) {
    const LayerAccount& layer = run.account.layers[i];
    const std::optional<CycleInterval> part = part_in(window, {layer.begin_cycle, layer.end_cycle});
    if (!part) continue;
    const ProgramLayer& named = run.program.layers[i];
    TraceArgs args(writer);
    args.word("operation", printable(named.operation))
        .word("dataflow", dataflows[i])
        .text("mapping", printable(named.mapping))
        .number("cycles", layer.cycles())
        .number("macs", layer.macs)
        .real("utilization", utilization(layer.macs, layer.cycles(), run.program.arch))
        .word("limited_by", limited_by(layer.path.cycles).name)
        .number("dram_read_bytes", layer.dram_read_bytes)
        .number("dram_write_bytes", layer.dram_write_bytes);
    writer.slice(track, part->begin, part->end, "layer", printable(named.name), args);
  }
}

}  // namespace

CycleWindow window_of_layers(const Program& program, const CommandTimes& times, std::size_t first,
                             std::size_t last) {
  CycleWindow window{std::numeric_limits<std::uint64_t>::max(), 0};
  for (std::size_t u = 0; u < kUnits; ++u) {
    const CommandStream stream = program.streams[u];
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const auto layer = static_cast<std::size_t>(stream.origin(i).layer);
      if (layer < first || layer > last) continue;
      window.first = std::min(window.first, times[u][i].start);
      window.last = std::max(window.last, times[u][i].free);
    }
  }
  return window;
}

void trace_run(const TracedRun& run, const CycleWindow& window, TraceWriter& writer) {
  const TraceTrack group = writer.group(run.name, run.description);
  trace_layers(run, window, group, writer);
  trace_commands(run, window, group, writer);
  trace_dram_bytes(run, window, group, writer);
  trace_resident_bytes(run, window, group, writer);
}

}  // namespace qsim
