// The options that several commands have: each group is a struct of what they say, and beside it
// its declaration with the checks between its fields. A command's own options are in its file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/declarations.h"

namespace qsim::cli {

inline constexpr const char* kDefaultConfig = "pe16x16";

// Headings of the page, of options that several commands share.
inline constexpr const char* kEveryCommand = "Options of every command";
inline constexpr const char* kNetworkGroup = "The network and its input";
inline constexpr const char* kMappingGroup = "How layers are mapped";
inline constexpr const char* kGoldenGroup = "The network of golden";

// Every command has this option but `profile`, which takes several configurations.
struct ConfigOption {
  std::string config = kDefaultConfig;
  bool config_given = false;
  std::vector<std::string> set = {};  // --set, of commands that work with the configuration
};
// The options of every command. Each begins with them.
void declare_config(Declarations& declared, ConfigOption& options);
// --set, for a command that works with the configuration.
void declare_set(Declarations& declared, ConfigOption& options);

// What a command that reads an ONNX model takes: the rounding of its layers ("": as ONNX Runtime),
// and whether its scales are rounded to powers of two.
struct ScaleOptions {
  std::string rounding;
  bool snap = false;
};
void declare_scales(Declarations& declared, ScaleOptions& options);
// Declares --rounding with golden's own roundings as well, and no --snap.
void declare_golden_rounding(Declarations& declared, ScaleOptions& options);

// The network that a command works on.
struct NetworkOptions : ScaleOptions {
  std::string model;  // "": the configuration's
  std::optional<std::int64_t> batch;
};
// For commands that compile the network for the accelerator.
void declare_network(Declarations& declared, NetworkOptions& options);
// --model alone, for a command that says otherwise what a network may be.
OptionRow& declare_model(Declarations& declared, std::string& model, std::string meaning);
OptionRow& declare_batch(Declarations& declared, std::optional<std::int64_t>& batch,
                         std::string meaning);

// The network of `golden run` and `golden bench`, and where it runs.
struct GoldenOptions : NetworkOptions {
  std::string backend = "auto";
};
void declare_golden(Declarations& declared, GoldenOptions& options);
void declare_backend(Declarations& declared, std::string& backend, std::string what);
inline constexpr std::int64_t kGoldenBatch = 32;  // --batch of golden run and golden bench

struct InputOptions {
  std::string input;  // "": the configuration's, or the workload's or trace's own
  std::optional<std::int64_t> index;
  std::string layers;  // "": all
  std::uint64_t seed = 0;
};
void declare_input(Declarations& declared, InputOptions& options);

// What a mapping is to be, and how it is searched.
struct SearchOptions {
  std::string mapping;  // a file; "" for none
  std::string objective = "cycles";
  std::optional<double> slack;  // a fraction
  std::string mapping_search = "fast";
  std::optional<double> mapping_budget;  // seconds
  std::string energy;                    // a table of energies; "" for none

  bool takes_energy() const { return objective == "energy" || objective == "energy_delay"; }
};
inline constexpr const char* kAutoDataflow = "auto";
// What --dataflow takes: `words`, the dataflows' short names, `more`, and their long names.
Words dataflow_words(Words words, const Words& more = {});

struct MappingOptions : SearchOptions {
  std::string dataflow;  // of the layers that no file names; "": the compiler's default
  std::string dram_plan = "auto";
};
// --mapping, --dataflow and what a search has.
void declare_mapping(Declarations& declared, MappingOptions& options);
void declare_mapping_file(Declarations& declared, SearchOptions& options);
void declare_search(Declarations& declared, SearchOptions& options);
// For a command that runs or writes the program.
void declare_dram_plan(Declarations& declared, MappingOptions& options);
// The table of energies: for the search alone, or also for what the command reports.
void declare_energy(Declarations& declared, SearchOptions& options);
void declare_reported_energy(Declarations& declared, SearchOptions& options);
void declare_write_mapping(Declarations& declared, std::string& file);

// For `run` and `profile`.
OptionRow& declare_report(Declarations& declared, std::string& file, std::string meaning);
void declare_page(Declarations& declared, std::string& file);
void declare_fail_if(Declarations& declared, Words& conditions);

// Throws Error (exit code 2) for a name that --engines has twice.
void require_engines_once(const Words& engines);

// Instructions of the CPU, of golden's kernels.
OptionRow& declare_vector(Declarations& declared, std::string& vector);

}  // namespace qsim::cli
