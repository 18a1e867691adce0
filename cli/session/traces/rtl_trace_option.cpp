#include "cli/session/traces/rtl_trace_option.h"

#include "core/base/error.h"
#include "formats/files/files.h"

namespace qsim::cli {
namespace {

// A block of an FST file: a byte that says its type, eight that say how long it is without the
// first.
constexpr std::int64_t kFstBlockStart = 9;
constexpr unsigned kFstHeader = 0;
constexpr unsigned kFstGeometry = 3;

bool is_whole_fst(const std::filesystem::path& path) {
  const std::int64_t bytes = formats::file_bytes(path);
  bool has_header = false;
  bool has_geometry = false;
  std::int64_t at = 0;
  while (at + kFstBlockStart <= bytes) {
    const std::vector<std::byte> start = formats::read_file_range(path, at, kFstBlockStart);
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

std::optional<rtl::RtlTrace> rtl_trace_option(const TraceOptions& options) {
  if (trace_kind(options) != TraceKind::kSignals) return std::nullopt;
  const TraceWindow window = trace_window(options);
  return rtl::RtlTrace{options.trace, window.first, window.last};
}

void require_window_in_run(const TraceOptions& options, std::uint64_t cycles) {
  if (!trace_kind(options) || trace_window(options).first <= cycles) return;
  throw_bad_input("--trace-window: the run has " + std::to_string(cycles) + " cycles; the window " +
                  options.trace_window + " is empty, and " + options.trace +
                  " holds nothing of the run");
}

void require_whole_fst(const std::filesystem::path& path, const std::filesystem::path& target) {
  if (is_whole_fst(path)) return;
  throw_bad_input(target.string() +
                  ": cannot be written: the trace is incomplete; is the disk full?");
}

}  // namespace qsim::cli
