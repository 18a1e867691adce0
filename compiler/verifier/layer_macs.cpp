#include "compiler/verifier/layer_macs.h"

#include "core/timing_model.h"

namespace qsim::verifier {

void check_macs(const Program& program, Violations& violations) {
  const auto pes = static_cast<std::uint64_t>(program.arch.array_rows * program.arch.array_cols);
  std::vector<std::uint64_t> streamed(program.layers.size());
  const CommandStream executes = program.stream(Unit::kExecute);
  for (std::size_t i = 0; i < executes.size(); ++i) {
    const ExecuteTerms terms = execute_terms(executes.fields<Execute>(i), program.arch);
    streamed[static_cast<std::size_t>(executes.origin(i).layer)] += terms.useful() * pes;
  }
  for (std::size_t l = 0; l < streamed.size(); ++l) {
    const std::int64_t macs = program.layers[l].macs;
    if (macs >= 0 && static_cast<std::uint64_t>(macs) <= streamed[l]) continue;
    violations.add("layer '" + program.layers[l].name + "' has " + std::to_string(macs) +
                   " useful MACs; its EXECUTEs stream " + std::to_string(streamed[l]));
  }
}

}  // namespace qsim::verifier
