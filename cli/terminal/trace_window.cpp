#include "cli/terminal/trace_window.h"

#include <string_view>

#include "cli/terminal/decimal_number.h"
#include "core/error.h"

namespace qsim {
namespace {

bool parse_cycle(std::string_view text, std::uint64_t& cycle) {
  const std::optional<std::uint64_t> number = decimal_number(text);
  cycle = number.value_or(0);
  return number.has_value();
}

}  // namespace

std::optional<TraceWindow> trace_window(const Options& options) {
  const auto refuse = [](const std::string& message) { throw Error(ExitCode::kUsage, message); };
  if (options.trace.empty()) {
    if (!options.trace_window.empty()) refuse("--trace-window needs --trace");
    return std::nullopt;
  }
  if (options.engine != "rtl") refuse("--trace needs --engine rtl");
  TraceWindow window;
  const std::string_view text = options.trace_window;
  if (text.empty()) return window;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !parse_cycle(text.substr(0, colon), window.first) ||
      !parse_cycle(text.substr(colon + 1), window.last) || window.first >= window.last) {
    refuse("--trace-window: found '" + options.trace_window +
           "'; allowed: A:B, the first cycle and the one after the last, A below B");
  }
  return window;
}

}  // namespace qsim
