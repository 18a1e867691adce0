#include "sim/cli/engines.h"

#include <cstdlib>

#include "golden/program_interpreter/program_interpreter.h"
#include "sim/systemc_engine/systemc_engine.h"

namespace qsim {

std::unique_ptr<Engine> make_engine(const std::string& name, bool random_order) {
  if (name == "systemc") return make_systemc_engine();
  QSIM_CHECK(name == "interpreter", "engine '" + name + "' is not in the list");
  return make_program_interpreter(random_order);
}

std::string golden_backend(std::string& fallback_note) {
  const char* wanted = std::getenv("QSIM_GOLDEN");
  const std::string name = wanted == nullptr ? "auto" : wanted;
  if (name == "cuda") {
    fallback_note = "QSIM_GOLDEN=cuda: this build has no CUDA golden; using the CPU";
  } else if (name != "cpu" && name != "auto") {
    throw Error(ExitCode::kUsage, "QSIM_GOLDEN is '" + name + "'; allowed: cpu, cuda, auto");
  }
  return "cpu";
}

}  // namespace qsim
