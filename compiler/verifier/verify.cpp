#include "compiler/verifier/verify.h"

#include "compiler/verifier/command_fields.h"
#include "compiler/verifier/command_ranges.h"
#include "compiler/verifier/dram_regions.h"
#include "compiler/verifier/dram_transfers.h"
#include "compiler/verifier/layer_macs.h"
#include "compiler/verifier/memory_hazards.h"
#include "compiler/verifier/token_order.h"

namespace qsim {
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

}  // namespace qsim
