#include "cli/terminal/shared_options.h"

#include <set>

#include "cli/terminal/usage_error.h"
#include "core/base/limits.h"
#include "core/machine/isa/commands.h"

namespace qsim::cli {
namespace {

const Words kRoundings = {"float32", "half_even", "half_up", "floor"};

void declare_rounding(Declarations& declared, std::string& rounding, const Words& words) {
  declared.word("--rounding", rounding, words,
                "how the layers of an ONNX model round (default: float32, as ONNX Runtime; shifts "
                "where all scales are powers of two)");
}

void require_table(const SearchOptions& options) {
  if (!options.takes_energy() || !options.energy.empty()) return;
  usage_error("--objective " + options.objective +
              " needs a table of energies; add --energy horowitz-45nm, or one of your own");
}

void declare_energy_table(Declarations& declared, SearchOptions& options,
                          const std::string& meaning) {
  declared.text("--energy", options.energy, meaning, "FILE|NAME")
      .read(Reads::kEnergyTable, "the energy table");
}

}  // namespace

void declare_config(Declarations& declared, ConfigOption& options) {
  declared.begin_group(kEveryCommand);
  declared
      .text("--config", options.config, "accelerator: a YAML file, or a shipped name", "FILE|NAME")
      .read(Reads::kConfig, "the configuration");
  declared.declare_outputs();
  declared.end_group();
  declared.check([&] { options.config_given = declared.given("--config"); });
}

void declare_set(Declarations& declared, ConfigOption& options) {
  declared.begin_group(kNetworkGroup);
  declared
      .repeated("--set", options.set,
                "give a field of the config another value: array_rows=8, bus_bytes=32")
      .called("FIELD=VALUE");
  declared.end_group();
}

void declare_scales(Declarations& declared, ScaleOptions& options) {
  declared.begin_group(kNetworkGroup);
  declare_rounding(declared, options.rounding, kRoundings);
  declared.flag("--snap", options.snap,
                "round the scales of an ONNX model's layers to powers of two, for configurations "
                "with requantizer: shift");
  declared.end_group();
  declared.check([&] {
    if (!options.snap || options.rounding != "float32") return;
    usage_error("--snap makes shifts, which do not round as float32; leave --rounding out");
  });
}

void declare_golden_rounding(Declarations& declared, ScaleOptions& options) {
  Words words = kRoundings;
  words.insert(words.end(), {"tflite", "tflite_single"});
  declare_rounding(declared, options.rounding, words);
}

OptionRow& declare_model(Declarations& declared, std::string& model, std::string meaning) {
  return declared.text("--model", model, std::move(meaning) + " (default: the config's)")
      .read(Reads::kNetworkOrConfig, "the model");
}

OptionRow& declare_batch(Declarations& declared, std::optional<std::int64_t>& batch,
                         std::string meaning) {
  return declared.number("--batch", {1, kMaxBatch}, batch, std::move(meaning));
}

constexpr const char* kNetworkKinds =
    "an ONNX file, a workload YAML, a SCALE-Sim topology, a layer-trace folder, or a shipped name";

void declare_network(Declarations& declared, NetworkOptions& options) {
  declare_scales(declared, options);
  declared.begin_group(kNetworkGroup);
  declare_model(declared, options.model, kNetworkKinds);
  declare_batch(declared, options.batch, "number of pictures at a time");
  declared.end_group();
}

void declare_golden(Declarations& declared, GoldenOptions& options) {
  declared.begin_group(kGoldenGroup);
  declare_golden_rounding(declared, options);
  declare_model(declared, options.model, kNetworkKinds);
  declare_batch(declared, options.batch, "number of pictures at a time (default: 32)");
  declare_backend(declared, options.backend, "golden backend");
  declared.end_group();
}

void declare_backend(Declarations& declared, std::string& backend, std::string what) {
  declared.word("--backend", backend, {"cpu", "cuda", "auto"},
                std::move(what) +
                    "; auto takes QSIM_GOLDEN if it is set, otherwise a GPU if there is one, "
                    "otherwise the CPU");
}

void declare_input(Declarations& declared, InputOptions& options) {
  declared.begin_group(kNetworkGroup);
  declared
      .text("--input", options.input,
            "an image, a .npy in the model's own layout, a CIFAR-10 binary batch (.bin), or a "
            "shipped name (default: the config's, or the workload's or trace's own)")
      .read(Reads::kInput, "the input");
  declared.number("--index", {0, kMaxIndex}, options.index,
                  "which picture of the CIFAR-10 batch, from 0");
  declared.text("--layers", options.layers,
                "only the chain from the first to the last layer whose name matches", "GLOB");
  declared.seed(options.seed, "seed of the random numbers");
  declared.end_group();
}

void declare_mapping_file(Declarations& declared, SearchOptions& options) {
  declared.begin_group(kMappingGroup);
  declared.input_file(
      "--mapping", options.mapping, "the mapping file",
      "a mapping file: how the layers that it names are cut and ordered; the compiler "
      "chooses for the others");
  declared.end_group();
}

void declare_search(Declarations& declared, SearchOptions& options) {
  declared.begin_group(kMappingGroup);
  declared.word("--objective", options.objective,
                {"cycles", "dram_bytes", "energy", "energy_delay"},
                "what a mapping makes least; energy_delay is energy x cycles; it and energy need "
                "--energy");
  declared
      .decimal("--slack", {0, 100, -2}, options.slack,
               "of --objective cycles: how many percent more than the fewest cycles a mapping may "
               "take that moves fewer bytes (default: 0.05)")
      .called("PERCENT");
  declared.word("--mapping-search", options.mapping_search, {"fast", "full"},
                "how mappings are searched: fast, or full, which finds the best of the space and "
                "takes long");
  declared
      .decimal("--mapping-budget", {0.001, 1e6, 0}, options.mapping_budget,
               "end the searches of a network after so long, with the best that they have found")
      .called("SECONDS");
  declared.end_group();
  declared.check([&] {
    if (!options.slack || options.objective == "cycles") return;
    usage_error("--slack belongs to --objective cycles; leave it out");
  });
}

Words dataflow_words(Words words, const Words& more) {
  words.insert(words.end(), kShortDataflowNames.begin(), kShortDataflowNames.end());
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), kDataflowNames.begin(), kDataflowNames.end());
  return words;
}

void declare_mapping(Declarations& declared, MappingOptions& options) {
  declare_mapping_file(declared, options);
  declared.begin_group(kMappingGroup);
  declared.word("--dataflow", options.dataflow, dataflow_words({kAutoDataflow}),
                "the dataflow of every layer that the mapping file does not name; auto: the best "
                "one of each layer, or of all");
  declare_search(declared, options);
}

void declare_dram_plan(Declarations& declared, MappingOptions& options) {
  declared.begin_group(kMappingGroup);
  declared.word("--dram-plan", options.dram_plan, {"auto", "lifetime", "separate"},
                "where tensors are in DRAM: lifetime shares bytes among those that are not needed "
                "at the same time, separate gives each its own, auto is separate for a chain and "
                "lifetime for a network with branches");
  declared.end_group();
}

void declare_energy(Declarations& declared, SearchOptions& options) {
  declared.begin_group(kMappingGroup);
  declare_energy_table(declared, options,
                       "the table of energies for --objective energy and energy_delay: a YAML "
                       "file, or a shipped name");
  declared.end_group();
  declared.check([&] {
    require_table(options);
    if (options.energy.empty() || options.takes_energy()) return;
    usage_error("--energy serves --objective energy and energy_delay alone here; add one of them");
  });
}

void declare_reported_energy(Declarations& declared, SearchOptions& options) {
  declare_energy_table(declared, options,
                       "also report energy, by a table of energies: a YAML file, or a shipped "
                       "name; --objective energy and energy_delay take the same table");
  declared.check([&] { require_table(options); });
}

void declare_write_mapping(Declarations& declared, std::string& file) {
  declared.output_place(
      "--write-mapping", file,
      "write the mapping of every layer to a file that --mapping reads; - is stdout");
}

OptionRow& declare_report(Declarations& declared, std::string& file, std::string meaning) {
  return declared.text("--report", file, std::move(meaning), "FILE")
      .read(Reads::kChartLibrary, "the chart library")
      .write(Writes::kFile);
}

void declare_page(Declarations& declared, std::string& file) {
  declare_report(declared, file,
                 "also write the result as a page of charts and tables, one HTML file");
}

void declare_fail_if(Declarations& declared, Words& conditions) {
  declared
      .repeated("--fail-if", conditions,
                "end with exit code 6 if this is true: 'cycles > 1.01 * base.json'; may be given "
                "several times")
      .called("CONDITION")
      .read(Reads::kConditions, "the results of --fail-if");
}

void require_engines_once(const Words& engines) {
  if (std::set<std::string>(engines.begin(), engines.end()).size() == engines.size()) return;
  usage_error("--engines names an engine twice; name each one once");
}

OptionRow& declare_vector(Declarations& declared, std::string& vector) {
  return declared.word("--vector", vector, {"auto", "avx512_vnni", "avx_vnni", "avx2", "portable"},
                       "instructions of the CPU");
}

}  // namespace qsim::cli
