#include "cli/session/rtl_trace_option.h"

#include "cli/terminal/number_option.h"
#include "core/error.h"
#include "files/files.h"

namespace qsim {
namespace {

bool parse_cycle(std::string_view text, std::uint64_t& cycle) {
  const std::optional<std::uint64_t> number = decimal_number(text);
  cycle = number.value_or(0);
  return number.has_value();
}

// A block of an FST file: a byte that says its type, eight that say how long it is without the
// first.
constexpr std::int64_t kFstBlockStart = 9;
constexpr unsigned kFstHeader = 0;
constexpr unsigned kFstGeometry = 3;

bool is_whole_fst(const std::filesystem::path& path) {
  const std::int64_t bytes = file_bytes(path);
  bool has_header = false;
  bool has_geometry = false;
  std::int64_t at = 0;
  while (at + kFstBlockStart <= bytes) {
    const std::vector<std::byte> start = read_file_range(path, at, kFstBlockStart);
    std::uint64_t length = 0;
    for (std::size_t i = 1; i < start.size(); ++i) {
      length = length << 8 | std::to_integer<std::uint64_t>(start[i]);
    }
    if (length < 8 || length > static_cast<std::uint64_t>(bytes - at - 1)) return false;
    has_header = has_header || std::to_integer<unsigned>(start[0]) == kFstHeader;
    has_geometry = has_geometry || std::to_integer<unsigned>(start[0]) == kFstGeometry;
    at += 1 + static_cast<std::int64_t>(length);
  }
  return at == bytes && has_header && has_geometry;
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

void require_whole_fst(const std::filesystem::path& path, const std::filesystem::path& target) {
  if (is_whole_fst(path)) return;
  throw_bad_input(target.string() +
                  ": cannot be written: the trace is not whole; is the disk full?");
}

}  // namespace qsim
