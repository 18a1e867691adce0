#include "golden/common/team_parts.h"

#include <exception>
#include <mutex>

namespace qsim::golden {

void run_parts(ThreadTeam& team, std::size_t parts, const std::function<void(std::size_t)>& work) {
  std::mutex mutex;
  std::exception_ptr thrown;
  std::size_t first = parts;
  team.run(parts, [&](std::size_t part) {
    try {
      work(part);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (part < first) {
        first = part;
        thrown = std::current_exception();
      }
    }
  });
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace qsim::golden
