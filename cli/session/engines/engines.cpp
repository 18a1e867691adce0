#include "cli/session/engines/engines.h"

#include <algorithm>
#include <iterator>

#include "sim/interpreter/program_interpreter.h"
#include "sim/recurrence/recurrence_engine.h"
#include "sim/systemc/systemc_engine.h"

namespace qsim::cli {
namespace {

rtl::RtlEngineOptions rtl_options(const EngineSettings& settings) {
  rtl::RtlEngineOptions options;
  options.model.on_build = settings.on_build;
  options.trace = settings.trace;
  if (settings.trace) options.model.variant = "trace";
  return options;
}

constexpr EngineRow kEngines[] = {
    {.name = kSystemcEngine,
     .make = [](const EngineSettings&) { return sim::make_systemc_engine(); },
     .frees_ofmaps = true},
    {.name = kInterpreterEngine,
     .make =
         [](const EngineSettings& settings) {
           return sim::make_program_interpreter(settings.random_order);
         },
     .has_time = false,
     .has_orders = true},
    {.name = kRtlEngine,
     .make =
         [](const EngineSettings& settings) { return rtl::make_rtl_engine(rtl_options(settings)); },
     .runs_rtl = true},
    {.name = kRecurrenceEngine,
     .make = [](const EngineSettings&) { return sim::make_recurrence_engine(); },
     .has_data = false},
};

}  // namespace

const EngineRow& engine_row(std::string_view name) {
  const EngineRow* row = std::ranges::find(kEngines, name, &EngineRow::name);
  QSIM_CHECK(row != std::end(kEngines), "engine '" + std::string(name) + "' is not in the list");
  return *row;
}

std::vector<std::string> engine_names(const WantedEngines& wanted) {
  std::vector<std::string> names;
  for (const EngineRow& row : kEngines) {
    if (wanted(row)) names.emplace_back(row.name);
  }
  return names;
}

std::vector<std::string> engine_names() {
  return engine_names([](const EngineRow&) { return true; });
}

std::string engine_list(const WantedEngines& wanted, std::string_view before_last) {
  const std::vector<std::string> names = engine_names(wanted);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? before_last : ", ";
    text += names[i];
  }
  return text;
}

std::unique_ptr<Engine> make_engine(std::string_view name, const EngineSettings& settings) {
  const EngineRow& row = engine_row(name);
  std::unique_ptr<Engine> engine = row.make(settings);
  QSIM_CHECK(engine->name() == row.name && engine->has_time() == row.has_time &&
                 engine->has_data() == row.has_data,
             "an engine is not what its row says");
  return engine;
}

void prepare_engine(std::string_view name, const ArchConfig& arch, const EngineSettings& settings) {
  if (engine_row(name).runs_rtl) rtl::find_or_build_rtl_model(arch, rtl_options(settings).model);
}

std::string rtl_model_of(std::string_view name, const ArchConfig& arch,
                         const EngineSettings& settings) {
  if (!engine_row(name).runs_rtl) return "";
  return rtl::rtl_model_key(rtl::rtl_parameters(arch), rtl_options(settings).model);
}

std::string systemc_vector_path() {
  return std::string(sim::vector_path_name(sim::best_vector_path()));
}

}  // namespace qsim::cli
