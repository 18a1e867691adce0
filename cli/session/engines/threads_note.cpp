#include "cli/session/engines/threads_note.h"

#include <thread>

namespace qsim::cli {

void note_fewer_threads(Context& context, std::int64_t asked, std::int64_t started) {
  const std::int64_t wanted = asked > 0 ? asked : std::thread::hardware_concurrency();
  if (started >= wanted) return;
  context.note(std::to_string(started) + " of " + std::to_string(wanted) +
               " threads run: the system starts no more (ulimit -u, -v, -d); the work goes on " +
               "with these");
}

}  // namespace qsim::cli
