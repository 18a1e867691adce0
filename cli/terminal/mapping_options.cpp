#include "cli/terminal/mapping_options.h"

#include "cli/terminal/number_option.h"
#include "cli/terminal/one_of.h"
#include "cli/terminal/usage_error.h"
#include "core/error.h"

namespace qsim {
namespace {

constexpr const char* kNames[] = {"--mapping",        "--dataflow",       "--objective", "--slack",
                                  "--mapping-search", "--mapping-budget", "--dram-plan"};

bool takes_energy(const Options& options) {
  return options.objective == "energy" || options.objective == "energy_delay";
}

bool reports_energy(const Options& options) {
  return options.command == CommandName::kRun || options.command == CommandName::kProfile;
}

}  // namespace

void add_mapping_file_option(CLI::App& app, Options& options) {
  app.add_option("--mapping", options.mapping,
                 "a mapping file: how the layers that it names are cut and ordered; the compiler "
                 "chooses for the others")
      ->type_name("FILE");
}

void add_mapping_options(CLI::App& app, Options& options) {
  add_mapping_file_option(app, options);
  app.add_option("--dataflow", options.dataflow,
                 "the dataflow of every layer that the mapping file does not name; auto: the best "
                 "one of each layer, or of all")
      ->check(one_of({kAutoDataflow, "ws", "os", "is", "weight_stationary", "output_stationary",
                      "input_stationary"}));
  add_search_options(app, options);
}

void add_search_options(CLI::App& app, Options& options) {
  app.add_option(
         "--objective", options.objective,
         "what a mapping makes least; energy_delay is energy x cycles; it and energy need --energy")
      ->check(one_of({"cycles", "dram_bytes", "energy", "energy_delay"}))
      ->capture_default_str();
  add_decimal(app, "--slack", {0, 100, -2}, options.slack,
              "of --objective cycles: how many percent more than the fewest cycles a mapping may "
              "take that moves fewer bytes (default: 0.05)")
      ->type_name("PERCENT");
  app.add_option("--mapping-search", options.mapping_search,
                 "how mappings are searched: fast, or full, which finds the best of the space and "
                 "takes long")
      ->check(one_of({"fast", "full"}))
      ->capture_default_str();
  add_decimal(app, "--mapping-budget", {0.001, 1e6, 0}, options.mapping_budget,
              "end the searches of a network after so long, with the best that they have found")
      ->type_name("SECONDS");
}

void add_write_mapping_option(CLI::App& app, Options& options) {
  app.add_option("--write-mapping", options.write_mapping,
                 "write the mapping of every layer to a file that --mapping reads; - is stdout")
      ->type_name("FILE|-");
}

void add_dram_plan_option(CLI::App& app, Options& options) {
  app.add_option("--dram-plan", options.dram_plan,
                 "where tensors are in DRAM: lifetime shares bytes among those that are not needed "
                 "at the same time, separate gives each its own, auto is separate for a chain and "
                 "lifetime for a network with branches")
      ->check(one_of({"auto", "lifetime", "separate"}))
      ->capture_default_str();
}

void add_energy_option(CLI::App& app, Options& options) {
  const bool reports = reports_energy(options);
  app.add_option(
         "--energy", options.energy,
         reports ? "also report energy, by a table of energies: a YAML file, or a shipped "
                   "name; --objective energy and energy_delay take the same table"
                 : "the table of energies for --objective energy and energy_delay: a YAML file, or "
                   "a shipped name")
      ->type_name("FILE|NAME");
}

std::span<const char* const> mapping_option_names() { return kNames; }

void check_mapping_options(const Options& options) {
  if (takes_energy(options) && options.energy.empty()) {
    usage_error("--objective " + options.objective +
                " needs a table of energies; add --energy horowitz-45nm, or one of your own");
  }
  if (!options.energy.empty() && !reports_energy(options) && !takes_energy(options)) {
    usage_error("--energy serves --objective energy and energy_delay alone here; add one of them");
  }
  if (options.slack && options.objective != "cycles") {
    usage_error("--slack belongs to --objective cycles; leave it out");
  }
}

}  // namespace qsim
