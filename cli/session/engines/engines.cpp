#include "cli/session/engines/engines.h"

#include "sim/interpreter/program_interpreter.h"
#include "sim/recurrence/recurrence_engine.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim {
namespace {

RtlEngineOptions rtl_options(const EngineSettings& settings) {
  RtlEngineOptions options;
  options.model.on_build = settings.on_build;
  options.trace = settings.trace;
  if (settings.trace) options.model.variant = "trace";
  return options;
}

}  // namespace

std::unique_ptr<Engine> make_engine(const std::string& name, const EngineSettings& settings) {
  if (name == "systemc") return make_systemc_engine();
  if (name == "recurrence") return make_recurrence_engine();
  if (name == "rtl") return make_rtl_engine(rtl_options(settings));
  QSIM_CHECK(name == "interpreter", "engine '" + name + "' is not in the list");
  return make_program_interpreter(settings.random_order);
}

void prepare_engine(const std::string& name, const ArchConfig& arch,
                    const EngineSettings& settings) {
  if (name == "rtl") find_or_build_rtl_model(arch, rtl_options(settings).model);
}

std::string rtl_model_of(const std::string& name, const ArchConfig& arch,
                         const EngineSettings& settings) {
  if (name != "rtl") return "";
  return rtl_model_key(rtl_parameters(arch), rtl_options(settings).model);
}

std::string systemc_vector_path() { return std::string(vector_path_name(best_vector_path())); }

}  // namespace qsim
