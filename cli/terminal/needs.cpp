#include "cli/terminal/needs.h"

#include "core/error.h"

namespace qsim {

void require_needs(std::span<const Need> needs,
                   const std::function<bool(const char* option)>& was_given) {
  for (const Need& need : needs) {
    if (need.is_met || !was_given(need.option)) continue;
    throw Error(ExitCode::kUsage, std::string(need.option) + " does nothing here: it needs " +
                                      need.what + "; leave it out");
  }
}

}  // namespace qsim
