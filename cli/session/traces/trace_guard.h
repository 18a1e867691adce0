// What happens when the disk fills while a trace is written. The FST writer maps its files into
// memory, and a page that has no room on the disk then ends the process with SIGBUS, not with an
// error.
#pragma once

#include "formats/files/file_replacement.h"

namespace qsim::cli {

// While it lives, SIGBUS says what happened, removes the unfinished files and ends the process with
// exit code 3. One at a time.
class TraceGuard {
 public:
  explicit TraceGuard(const formats::FileReplacement& trace);
  ~TraceGuard();
  TraceGuard(const TraceGuard&) = delete;
  TraceGuard& operator=(const TraceGuard&) = delete;
};

}  // namespace qsim::cli
