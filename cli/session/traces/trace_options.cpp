#include "cli/session/traces/trace_options.h"

#include <string_view>

#include "cli/session/engines/engines.h"
#include "cli/terminal/decimal_number.h"
#include "cli/terminal/usage_error.h"

namespace qsim::cli {
namespace {

bool parse_cycle(std::string_view text, std::uint64_t& cycle) {
  const std::optional<std::uint64_t> number = decimal_number(text);
  cycle = number.value_or(0);
  return number.has_value();
}

}  // namespace

std::optional<TraceKind> trace_kind(const TraceOptions& options) {
  if (options.trace.empty()) return std::nullopt;
  const std::string_view name = options.trace;
  const bool is_of_commands = name.ends_with(".perfetto-trace") || name.ends_with(".pftrace");
  return is_of_commands ? TraceKind::kCommands : TraceKind::kSignals;
}

TraceWindow trace_window(const TraceOptions& options) {
  TraceWindow window;
  const std::string_view text = options.trace_window;
  if (text.empty()) return window;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !parse_cycle(text.substr(0, colon), window.first) ||
      !parse_cycle(text.substr(colon + 1), window.last) || window.first >= window.last) {
    usage_error("--trace-window: found '" + options.trace_window +
                "'; allowed: A:B, the first cycle and the one after the last, A below B");
  }
  return window;
}

void check_trace(const TraceOptions& options, const std::string& engine) {
  const std::optional<TraceKind> kind = trace_kind(options);
  if (!kind && !options.trace_window.empty()) usage_error("--trace-window needs --trace");
  if (!kind && !options.trace_layers.empty()) usage_error("--trace-layers needs --trace");
  if (!kind) return;
  if (*kind == TraceKind::kSignals && !engine_row(engine).runs_rtl) {
    usage_error("--trace needs --engine " + engine_list(&EngineRow::runs_rtl, " or ") +
                " for signals, or a FILE that ends in .perfetto-trace or .pftrace for commands");
  }
  if (*kind == TraceKind::kSignals && !options.trace_layers.empty()) {
    usage_error(
        "--trace-layers needs a --trace of the commands: a FILE that ends in .perfetto-trace or "
        ".pftrace; take --trace-window for the signals");
  }
  if (!engine_row(engine).has_time) {
    usage_error("--trace does not work with --engine " + engine +
                ", which computes data and no times; take " +
                engine_list(&EngineRow::has_time, " or "));
  }
  if (!options.trace_layers.empty() && !options.trace_window.empty()) {
    usage_error("--trace-layers and --trace-window both give a window; leave one of them out");
  }
  trace_window(options);
}

}  // namespace qsim::cli
