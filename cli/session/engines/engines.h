// The engines by name: the one list of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/machine/engine.h"
#include "rtl/engine/rtl_engine.h"

namespace qsim {

// What some engines can be told; the others do not look at it.
struct EngineSettings {
  bool random_order = false;      // interpreter: any legal order of the units
  std::optional<RtlTrace> trace;  // rtl
  // rtl: gets a line for people before a model is built, which takes a while.
  std::function<void(const std::string&)> on_build = [](const std::string&) {};
};

inline constexpr const char* kEngineNames[] = {"systemc", "interpreter", "rtl", "recurrence"};

// `name` is one of kEngineNames.
std::unique_ptr<Engine> make_engine(const std::string& name, const EngineSettings& settings = {});

// Builds the Verilated model that the rtl engine needs for `arch`, where it is not there yet; does
// nothing for the other engines. Throws the Error that the run would throw.
void prepare_engine(const std::string& name, const ArchConfig& arch,
                    const EngineSettings& settings);

// Which Verilated model the rtl engine runs a program of `arch` on; "" for the other engines.
std::string rtl_model_of(const std::string& name, const ArchConfig& arch,
                         const EngineSettings& settings);

// The vector instructions that the systemc engine uses on this processor.
std::string systemc_vector_path();

}  // namespace qsim
