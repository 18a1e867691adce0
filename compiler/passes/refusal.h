// What keeps layers from running on an accelerator, collected so that the user reads all of it at
// once.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/machine/arch_config.h"

namespace qsim::compiler {

// One layer's reason, and what to do.
struct Refusal {
  std::string reason;  // "net.onnx: node 'add1' (QLinearAdd): an addition; ..."
  std::string remedy;  // "take requantizer: dyadic"

  bool operator==(const Refusal&) const = default;
};

// What a caller has to offer where a layer is refused.
struct Remedies {
  bool may_snap = false;  // --snap can be given, and is not
  // The name of a configuration that is `arch` but for requantizer: dyadic; "" for none. May be
  // null.
  std::string (*dyadic_config)(const ArchConfig& arch) = nullptr;
};

using Refusals = std::vector<Refusal>;

// What can be done about a layer that no configuration runs: golden has no such limits.
inline constexpr const char* kGoldenRunsIt = "`qsim golden run` runs it, without the accelerator";

// Runs `check`. An Error of an unsupported model becomes a refusal, unless its reason is there
// already; any other is thrown on.
template <typename Check>
void collect_refusal(Refusals& refusals, Check check) {
  try {
    check();
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel) throw;
    for (const Refusal& refusal : refusals) {
      if (refusal.reason == error.what()) return;
    }
    refusals.push_back({error.what(), kGoldenRunsIt});
  }
}

// Throws Error (exit code 4) with the first reason, and the others as its details(), a line each.
// Does nothing where there is none.
void throw_refusals(const Refusals& refusals);

}  // namespace qsim::compiler
