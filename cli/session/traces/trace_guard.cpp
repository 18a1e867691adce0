#include "cli/session/traces/trace_guard.h"

#include <string>

#include <signal.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/files/temporary_files.h"

namespace qsim::cli {
namespace {

// For the handler, which can be given nothing and may take no memory.
struct Guarded {
  std::string temporary;
  std::string hierarchy;  // the writer's second file
  std::string lock;
  std::string line;
};
Guarded* guarded = nullptr;

void on_bus_error(int) {
  if (guarded != nullptr) {
    ::unlink(guarded->temporary.c_str());
    ::unlink(guarded->hierarchy.c_str());
    ::unlink(guarded->lock.c_str());
    const ssize_t written = ::write(STDERR_FILENO, guarded->line.data(), guarded->line.size());
    static_cast<void>(written);
  }
  ::_exit(static_cast<int>(ExitCode::kBadInput));
}

}  // namespace

TraceGuard::TraceGuard(const formats::FileReplacement& trace) {
  const std::filesystem::path& temporary = trace.temporary();
  guarded = new Guarded{temporary, formats::with_suffix(temporary, formats::kHierarchySuffix),
                        formats::with_suffix(temporary, formats::kLockSuffix),
                        "qsim: error: " + printable(trace.target().string()) +
                            ": cannot be written: the trace is incomplete; is the disk full?\n"};
  struct sigaction action {};
  action.sa_handler = on_bus_error;
  ::sigaction(SIGBUS, &action, nullptr);
}

TraceGuard::~TraceGuard() {
  ::signal(SIGBUS, SIG_DFL);
  delete guarded;
  guarded = nullptr;
}

}  // namespace qsim::cli
