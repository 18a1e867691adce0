// `qsim profile`: models on configurations with dataflows, in time alone; which is best and why.
#include <algorithm>

#include "cli/build_info.h"
#include "cli/commands/commands.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/inputs/snapped_model.h"
#include "cli/session/profile/profile_report.h"
#include "cli/session/results/condition_option.h"
#include "cli/session/results/report_page_option.h"
#include "core/base/engine_names.h"
#include "report/results/profile_csv.h"

namespace qsim::cli {

using report::Measure;
using report::NetworkResult;
using report::Profile;
using report::ProfileColumns;
using report::require_conditions;
namespace {

ProfileColumns columns_of(const ProfileOptions& options) {
  if (options.csv_columns == "scalesim-compute") return ProfileColumns::kScaleSimCompute;
  if (options.csv_columns == "scalesim-bandwidth") return ProfileColumns::kScaleSimBandwidth;
  if (options.csv_columns == "scalesim-access") return ProfileColumns::kScaleSimAccess;
  return ProfileColumns::kQsim;
}

// What ranks the points: what the mapper makes least.
Measure measure_of(const std::string& objective) {
  if (objective == "dram_bytes") return Measure::kDramBytes;
  if (objective == "energy") return Measure::kEnergy;
  if (objective == "energy_delay") return Measure::kEnergyDelay;
  return Measure::kCycles;
}

// What is asked, in words of the profile.
void describe_search(Profile& profile, const ProfileOptions& options) {
  profile.measure = measure_of(options.objective);
  const compiler::CompileOptions asked = search_options(options);
  profile.search = {options.objective, std::nullopt, options.mapping_search, options.mapping_budget,
                    options.mapping};
  if (asked.mapper.objective == compiler::Objective::kCycles)
    profile.search.slack = asked.mapper.slack;
  if (asked.mapper.energy == nullptr) return;
  profile.energy_table = asked.mapper.energy->name;
  profile.energy_unit = asked.mapper.energy->unit;
}

// Loads the configurations, and notes a hash of each file in the profile's provenance.
std::vector<NamedConfig> load_configs(Context& context, const ProfileOptions& options,
                                      Profile& profile) {
  std::vector<ArchConfig> configs;
  for (const std::string& name : options.configs) {
    configs.push_back(load_config(context, ConfigOption{name, true, {}}));
    require_shifts_for_snap(options, configs.back());
    profile.configs.emplace_back(name, file_hash(find_config(name)));
  }
  return named_configs(configs, options.configs);
}

std::vector<ModelShapes> load_models(Context& context, const ProfileOptions& options,
                                     const ArchConfig& config, Profile& profile) {
  std::vector<ModelShapes> models;
  const bool is_given = !options.models.empty();
  const std::vector<std::string> names =
      is_given ? options.models : std::vector<std::string>{config.model};
  const std::string kind = is_given ? "model" : "config '" + config.name + "': model";
  for (const std::string& name : names) {
    models.push_back(load_shapes(network_of(options, name), kind, config, options));
    profile.models.emplace_back(name, models.back().hash);
    const ModelShapes& model = models.back();
    if (model.host_nodes == 0) continue;
    context.note(name + ": cycles are of the " + std::to_string(model.parts.size()) +
                 " parts of the array; a host runs the other " + std::to_string(model.host_nodes) +
                 " nodes");
  }
  return models;
}

// Throws the first point's error where no point ran.
void require_one_that_ran(const Profile& profile) {
  for (const NetworkResult& point : profile.points) {
    if (point.ran()) return;
  }
  const NetworkResult& first = profile.points.front();
  throw_unsupported("none of " + std::to_string(profile.points.size()) +
                    " points can run; the first: " + report::full_label(first) + ": " +
                    first.error);
}

// Winners are only what they say if every point was timed.
void require_memory_of_points(const Profile& profile) {
  const auto lacks = [](const NetworkResult& point) { return point.lacks_memory; };
  const auto first = std::ranges::find_if(profile.points, lacks);
  if (first == profile.points.end()) return;
  const bool none_ran = std::ranges::none_of(profile.points, &NetworkResult::ran);
  throw Error(none_ran ? ExitCode::kBadInput : ExitCode::kPartial,
              std::to_string(std::ranges::count_if(profile.points, lacks)) + " of " +
                  std::to_string(profile.points.size()) +
                  " points had too little memory; the first: " + report::full_label(*first) + ": " +
                  first->error + "; give more memory, or smaller networks");
}

ExitCode profile_command(Context& context, const ProfileOptions& options) {
  require_report_can_be_made(options.report, kRecurrenceEngine);
  Profile profile;
  profile.version = build_version();
  profile.commit = build_commit();
  profile.argv = context.argv();
  profile.rounding = options.rounding;
  describe_search(profile, options);
  const std::vector<FieldValues> fields = field_values(options.set);
  const std::vector<std::string> dataflows = asked_dataflows(options.dataflows);
  const Conditions conditions = load_conditions(options.fail_if, !options.energy.empty());
  const std::vector<NamedConfig> configs = load_configs(context, options, profile);
  const std::vector<ModelShapes> models =
      load_models(context, options, configs.front().arch, profile);
  const std::vector<ProfilePoint> points =
      profile_points(models.size(), configs, fields, dataflows);
  PointRuns runs = run_points(context, options, models, points);
  profile.points = std::move(runs.results);
  report::complete_points(profile);
  report::choose_winners(profile);
  write_profile_report(context, options, profile, models, points, runs);
  context.print_to(options.csv, report::profile_csv(profile, columns_of(options)));
  context.print_json(report::profile_json(profile));
  context.print(report::profile_text(profile));
  require_memory_of_points(profile);
  require_one_that_ran(profile);
  require_conditions(conditions.list, profile.points, conditions.base);
  return ExitCode::kOk;
}

constexpr const char* kProfileText = R"(
Models run on configurations with dataflows, in time alone. Every combination of `--model`, `--config`, `--set` and
`--dataflow` is a point; the objective says which wins. [Output](output.md) has the columns of `--csv`, the conditions of
`--fail-if`, and the JSON (`qsim.profile/1`).
)";

}  // namespace

const CommandRow kProfileCommand = {
    "profile",
    "compare dataflows, configurations and models in time, and say which is best and why",
    command_of<ProfileOptions, declare_profile, profile_command>, kProfileText};

}  // namespace qsim::cli
