#include "tests/rtl/programs/witnesses.h"

#include <iostream>

#include "formats/settings/arch_config_file.h"
#include "rtl/engine/rtl_engine.h"
#include "sim/interpreter/program_interpreter.h"
#include "sim/recurrence/recurrence_engine.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim {

using namespace formats;
using namespace rtl;
using namespace sim;
namespace {

RtlModelOptions model_options(const VerifyOptions& options) {
  RtlModelOptions model;
  model.variant = options.variant;
  model.compiler = options.compiler;
  model.on_build = [](const std::string& line) {
    std::cerr << "verify_rtl: " << line << std::endl;
  };
  return model;
}

}  // namespace

std::vector<Witness> make_witnesses(const VerifyOptions& options) {
  std::vector<Witness> witnesses;
  witnesses.push_back({"interpreter", make_program_interpreter()});
  witnesses.push_back({"systemc", make_systemc_engine()});
  witnesses.push_back({"recurrence", make_recurrence_engine()});
  if (!options.has_rtl) return witnesses;
  RtlEngineOptions rtl;
  rtl.model = model_options(options);
  witnesses.push_back({"rtl", make_rtl_engine(rtl)});
  if (options.random_dram) {
    RtlEngineOptions delayed = rtl;
    delayed.dram_seed = options.seed + 1;
    Witness witness{"rtl with random DRAM delays", make_rtl_engine(delayed)};
    witness.times_count = false;
    witnesses.push_back(std::move(witness));
  }
  for (std::uint32_t seed = 1; seed <= options.init_seeds; ++seed) {
    RtlEngineOptions dirty = rtl;
    dirty.init_seed = seed;
    Witness witness{"rtl with random registers, seed " + std::to_string(seed),
                    make_rtl_engine(dirty)};
    witness.one_in = options.init_seeds;
    witness.turn = seed - 1;
    witnesses.push_back(std::move(witness));
  }
  return witnesses;
}

ArchConfig named_config(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".yaml")) return load_arch_config(name);
  const std::filesystem::path root = QSIM_SOURCE_DIR;
  const std::filesystem::path own = root / "tests/rtl/programs/configs" / (name + ".yaml");
  return load_arch_config(std::filesystem::exists(own) ? own : root / "configs" / (name + ".yaml"));
}

void prepare_models(const VerifyOptions& options, const std::vector<ArchConfig>& configs) {
  if (!options.has_rtl) return;
  for (const ArchConfig& config : configs) find_or_build_rtl_model(config, model_options(options));
}

}  // namespace qsim
