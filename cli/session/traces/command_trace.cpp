#include "cli/session/traces/command_trace.h"

#include "cli/session/inputs/named_layer.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "report/perfetto/run_trace.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

constexpr const char* kOption = "--trace-layers";
constexpr std::string_view kTo = "..";

bool has_layer(const Graph& graph, std::string_view name) {
  for (const Layer& layer : graph.layers) {
    if (layer.name == name) return true;
  }
  return false;
}

// Where FIRST ends and ".." begins. A name may have two dots of its own, so that position counts at
// which both sides are names; without one the first counts.
std::size_t end_of_first(const Graph& graph, std::string_view text) {
  for (std::size_t at = text.find(kTo); at != std::string_view::npos; at = text.find(kTo, at + 1)) {
    if (has_layer(graph, text.substr(0, at)) && has_layer(graph, text.substr(at + kTo.size()))) {
      return at;
    }
  }
  return text.find(kTo);
}

report::CycleWindow asked_window(const TraceOptions& options, const Program& program,
                                 const CommandTimes& times,
                                 const std::optional<LayerRange>& layers) {
  if (layers) {
    return report::window_of_layers(program, times, program_layer_of(layers->first, program),
                                    program_layer_of(layers->last, program));
  }
  const TraceWindow window = trace_window(options);
  return {window.first, window.last};
}

}  // namespace

std::optional<LayerRange> trace_layers(const TraceOptions& options, const std::string& model,
                                       const Graph& graph) {
  const std::string& text = options.trace_layers;
  if (text.empty()) return std::nullopt;
  const std::size_t dots = has_layer(graph, text) ? text.size() : end_of_first(graph, text);
  if (dots >= text.size()) {
    const std::size_t layer = layer_named(text, kOption, model, graph);
    return LayerRange{layer, layer};
  }
  const std::string first = text.substr(0, dots);
  const std::string last = text.substr(dots + kTo.size());
  const LayerRange range{layer_named(first, kOption, model, graph),
                         layer_named(last, kOption, model, graph)};
  if (range.first > range.last) {
    throw_bad_input("--trace-layers: '" + echoed(last) + "' comes before '" + echoed(first) +
                    "'; allowed: FIRST..LAST in the order of the network");
  }
  return range;
}

void write_command_trace(Context& context, const TraceOptions& options, const std::string& engine,
                         const std::string& model, const Program& program, const RunResult& result,
                         const std::optional<LayerRange>& layers) {
  if (trace_kind(options) != TraceKind::kCommands) return;
  const report::RunAccount run = report::account(program, result.times);
  const std::string name = printable(model + " on " + program.arch.name + ", " + engine);
  const std::string description = report::with_thousands(run.total_cycles) +
                                  " cycles; 1 ns of the trace is 1 cycle, of " +
                                  std::to_string(program.arch.clock_mhz) + " MHz";
  const std::unique_ptr<formats::FileReplacement> file =
      context.begin_file(options.trace, formats::FileReplacement::Writer::kOwn);
  report::TraceWriter writer([&file](std::string_view bytes) { file->append(bytes); });
  report::trace_run({name, description, program, result.times, run},
                    asked_window(options, program, result.times, layers), writer);
  writer.finish();
  file->sync();
  context.keep_file(*file);
}

}  // namespace qsim::cli
