#include "sim/cli/rtl_trace_option.h"

#include <charconv>

#include "core/error.h"

namespace qsim {
namespace {

bool parse_cycle(std::string_view text, std::uint64_t& cycle) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), cycle);
  return error == std::errc() && stop == text.data() + text.size();
}

}  // namespace

std::optional<RtlTrace> rtl_trace_option(const Options& options) {
  const auto refuse = [](const std::string& message) { throw Error(ExitCode::kUsage, message); };
  if (options.trace.empty()) {
    if (!options.trace_window.empty()) refuse("--trace-window needs --trace");
    return std::nullopt;
  }
  if (options.engine != "rtl") refuse("--trace needs --engine rtl");
  RtlTrace trace{options.trace};
  const std::string_view window = options.trace_window;
  if (window.empty()) return trace;
  const std::size_t colon = window.find(':');
  if (colon == std::string_view::npos || !parse_cycle(window.substr(0, colon), trace.first) ||
      !parse_cycle(window.substr(colon + 1), trace.last) || trace.first >= trace.last) {
    refuse("--trace-window: found '" + options.trace_window +
           "'; allowed: A:B, the first cycle and the one after the last, A below B");
  }
  return trace;
}

void require_window_in_run(const Options& options, std::uint64_t cycles) {
  const std::optional<RtlTrace> trace = rtl_trace_option(options);
  if (!trace || trace->first <= cycles) return;
  throw_bad_input("--trace-window: the run has " + std::to_string(cycles) + " cycles; the window " +
                  options.trace_window + " is empty, and " + options.trace +
                  " holds nothing of the run");
}

}  // namespace qsim
