// The engines by name: the one table of them, which options, checks and messages read.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/engine_names.h"
#include "core/machine/engine.h"
#include "rtl/engine/rtl_engine.h"

namespace qsim::cli {

// What some engines can be told; the others do not look at it.
struct EngineSettings {
  bool random_order = false;           // interpreter: any legal order of the units
  std::optional<rtl::RtlTrace> trace;  // rtl
  // rtl: gets a line for people before a model is built, which takes a while.
  std::function<void(const std::string&)> on_build = [](const std::string&) {};
};

// A new engine is a row of this, in engines.cpp.
struct EngineRow {
  std::string_view name;
  std::unique_ptr<Engine> (*make)(const EngineSettings& settings);
  bool has_time = true;       // as Engine's
  bool has_data = true;       // as Engine's
  bool has_orders = false;    // takes EngineSettings::random_order
  bool frees_ofmaps = false;  // hands each over as soon as it is complete, and frees its bytes
  bool runs_rtl = false;      // needs a Verilated model, always moves data, can record signals
};

// `run`'s.
inline constexpr std::string_view kDefaultEngine = kSystemcEngine;

// The row of that name, which is there.
const EngineRow& engine_row(std::string_view name);

using WantedEngines = std::function<bool(const EngineRow&)>;
// The names of the engines that are `wanted`, in the order of help.
std::vector<std::string> engine_names(const WantedEngines& wanted);
std::vector<std::string> engine_names();  // all
// The same for a message: "systemc, rtl or recurrence", where " or " is `before_last`.
std::string engine_list(const WantedEngines& wanted, std::string_view before_last);

std::unique_ptr<Engine> make_engine(std::string_view name, const EngineSettings& settings = {});

// Builds the Verilated model that the rtl engine needs for `arch`, where it is not there yet; does
// nothing for the other engines. Throws the Error that the run would throw.
void prepare_engine(std::string_view name, const ArchConfig& arch, const EngineSettings& settings);

// Which Verilated model the rtl engine runs a program of `arch` on; "" for the other engines.
std::string rtl_model_of(std::string_view name, const ArchConfig& arch,
                         const EngineSettings& settings);

// The vector instructions that the systemc engine uses on this processor.
std::string systemc_vector_path();

}  // namespace qsim::cli
