#include "compiler/passes/refusal.h"

namespace qsim::compiler {

void throw_refusals(const Refusals& refusals) {
  if (refusals.empty()) return;
  std::string others;
  for (std::size_t i = 1; i < refusals.size(); ++i) {
    others += (i == 1 ? "" : "\n") + refusals[i].reason;
  }
  throw Error(ExitCode::kUnsupportedModel, refusals[0].reason, others);
}

}  // namespace qsim::compiler
