#include "compiler/verifier/verify.h"

#include "compiler/verifier/checks.h"
#include "compiler/verifier/command_ranges.h"
#include "core/machine/timing_model.h"

namespace qsim::compiler {
namespace {

void check_arch(const Program& program, const ArchConfig& arch, verifier::Violations& violations) {
  try {
    validate(program.arch);
  } catch (const Error& error) {
    violations.add(error.what());
  }
  if (fingerprint(program.arch) == fingerprint(arch)) return;
  violations.add("the program was made for config '" + program.arch.name +
                 "', whose parameters differ from those of '" + arch.name + "'");
}

// A layer's useful MACs are no more than what its EXECUTEs stream through the array, every PE
// counted. The commands' fields must be good.
void check_macs(const Program& program, verifier::Violations& violations) {
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

}  // namespace

std::vector<std::string> verify(const Program& program, const ArchConfig& arch) {
  verifier::Violations violations(program);
  check_arch(program, arch, violations);
  if (!violations.empty()) return violations.take();
  check_regions(program, violations);
  check_fields(program, violations);
  if (!violations.empty()) return violations.take();
  check_ranges(program, violations);
  check_alignment(program, violations);
  const verifier::TokenOrder order(program, violations);
  if (!violations.empty()) return violations.take();
  check_hazards(program, order, violations);
  check_dram(program, order, violations);
  check_macs(program, violations);
  return violations.take();
}

}  // namespace qsim::compiler
