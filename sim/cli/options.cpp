#include "sim/cli/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "core/io/yaml.h"
#include "sim/cli/build_info.h"
#include "sim/cli/rtl_trace_option.h"

namespace qsim {
namespace {

struct CommandRow {
  CommandName command;
  const char* name;
  const char* description;
};

constexpr std::array<CommandRow, 6> kCommands = {{
    {CommandName::kRun, "run", "simulate a model on an input and compare it with golden"},
    {CommandName::kVerify, "verify",
     "compare engines with golden, layer by layer and byte by byte"},
    {CommandName::kCompile, "compile", "lower a model to a program and keep it as text"},
    {CommandName::kInspect, "inspect",
     "say what a program, model, workload, trace or config holds"},
    {CommandName::kExportVectors, "export-vectors",
     "write a program, its memory images and its cycles, to verify RTL of your own"},
    {CommandName::kDoctor, "doctor", "say what this qsim is and whether it has what it needs"},
}};

[[noreturn]] void usage_error(const std::string& message) {
  throw Error(ExitCode::kUsage, message);
}

std::string version_line() {
  return "qsim " + std::string(build_version()) + " (" + std::string(build_commit()) + ")";
}

// CLI11 would take "-1" for a large number.
std::string seed_error(const std::string& text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size()) return "";
  return "found '" + text + "'; allowed: 0 to " + std::to_string(UINT64_MAX);
}

std::string top_help() {
  std::string text =
      "qsim: simulates an int8 systolic-array accelerator on quantized networks\n\n"
      "Usage: qsim [--config FILE|NAME] [COMMAND] [OPTIONS]\n\nCommands (run when none is "
      "given):\n";
  for (const CommandRow& row : kCommands) {
    text += "  " + std::string(row.name) + std::string(16 - std::string(row.name).size(), ' ') +
            row.description + "\n";
  }
  return text +
         "\nOptions of every command:\n"
         "  --config FILE|NAME  the accelerator (default " +
         kDefaultConfig +
         ")\n"
         "  --json FILE|-       also write the result as JSON; with - nothing else goes to stdout\n"
         "  --quiet             no progress on stderr\n"
         "  --help, --version\n\n"
         "`qsim COMMAND --help` lists the options of a command.\n"
         "Exit codes: 0 ok, 1 internal, 2 usage, 3 bad input or config, 4 unsupported model,\n"
         "5 mismatch, 6 limit missed, 7 partial, 130 interrupted.\n";
}

const CommandRow& command_row(const std::string& name) {
  for (const CommandRow& row : kCommands) {
    if (name == row.name) return row;
  }
  std::vector<std::string_view> names;
  for (const CommandRow& row : kCommands) names.emplace_back(row.name);
  const std::string_view nearest = nearest_name(name, names);
  std::string message = "unknown command '" + name + "'";
  message += nearest.empty() ? "." : "; did you mean '" + std::string(nearest) + "'?";
  message += " Commands: ";
  for (const std::string_view known : names) {
    message += (known == names.front() ? "" : ", ") + std::string(known);
  }
  usage_error(message + "; `qsim --help` says more");
}

// The command and what is left when it is taken out. Only global options can stand before it.
std::pair<const CommandRow*, std::vector<std::string>> split_command(
    const std::vector<std::string>& argv) {
  std::vector<std::string> rest(argv.begin() + 1, argv.end());
  std::size_t i = 0;
  while (i < rest.size() && rest[i].size() > 1 && rest[i][0] == '-') {
    const std::string& word = rest[i];
    const bool global_flag =
        word == "--quiet" || word.rfind("--config=", 0) == 0 || word.rfind("--json=", 0) == 0;
    const bool takes_value = word == "--config" || word == "--json";
    if (!global_flag && !takes_value) return {&kCommands[0], rest};
    i += takes_value ? 2 : 1;
  }
  if (i >= rest.size()) return {&kCommands[0], rest};
  const CommandRow& row = command_row(rest[i]);
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
  return {&row, rest};
}

void add_global_options(CLI::App& app, Options& options) {
  app.add_option("--config", options.config, "accelerator: a YAML file, or a shipped name")
      ->type_name("FILE|NAME")
      ->capture_default_str();
  app.add_option("--json", options.json, "also write the result as JSON; - is stdout")
      ->type_name("FILE|-");
  app.add_flag("--quiet", options.quiet, "no progress on stderr");
  app.set_version_flag("--version", version_line(), "print the version and exit");
}

void add_model_options(CLI::App& app, Options& options) {
  app.add_option("--model", options.model,
                 "an ONNX file, a workload YAML, a layer-trace folder, or a shipped name "
                 "(default: the config's)");
  app.add_option("--batch", options.batch, "pictures at a time")->check(CLI::Range(1, 1 << 20));
  app.add_option("--dataflow", options.dataflow,
                 "ws: weight_stationary; auto: the compiler's choice")
      ->check(CLI::IsMember({"ws", "auto"}))
      ->capture_default_str();
}

void add_input_options(CLI::App& app, Options& options) {
  app.add_option("--input", options.input,
                 "an image, a .npy in the model's own layout, a CIFAR-10 binary batch (.bin), or a "
                 "shipped name (default: the config's, or the workload's or trace's own)");
  app.add_option("--index", options.index, "record of the CIFAR-10 batch")
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("--layers", options.layers,
                 "only the chain from the first to the last layer whose name matches")
      ->type_name("GLOB");
  app.add_option("--seed", options.seed, "seed of what is drawn at random")
      ->check(CLI::Validator(seed_error, "0 to 2^64-1"))
      ->capture_default_str();
}

void add_run_options(CLI::App& app, Options& options) {
  add_model_options(app, options);
  add_input_options(app, options);
  app.add_option("--engine", options.engine, "what executes the program")
      ->check(CLI::IsMember({"systemc", "interpreter", "rtl"}))
      ->capture_default_str();
  app.add_option("--trace", options.trace, "with --engine rtl: the core's signals, as FST")
      ->type_name("FILE");
  app.add_option("--trace-window", options.trace_window,
                 "only cycles A to B - 1 of the trace (default: the whole run)")
      ->type_name("A:B");
  app.add_flag("--no-data", options.no_data, "time only: no bytes are moved, nothing is compared");
  app.add_flag("--no-verify", options.no_verify, "do not compare with golden");
  app.add_option("--out", options.out,
                 "keep config.yaml, run.json, layers.csv, output.npy and output_q.npy here")
      ->type_name("DIR");
  app.add_option("--dump-layers", options.dump_layers,
                 "write a layer trace here: the engine's ofmaps, and golden's for graph layers "
                 "that run fused inside another")
      ->type_name("DIR");
}

void add_verify_options(CLI::App& app, Options& options) {
  add_model_options(app, options);
  add_input_options(app, options);
  app.add_option("--engines", options.engines, "engines to compare")
      ->delimiter(',')
      ->check(CLI::IsMember({"interpreter", "systemc", "rtl"}));
  app.add_option("--golden", options.golden, "golden backend")
      ->check(CLI::IsMember({"cpu"}))
      ->capture_default_str();
  app.add_option("--images", options.images, "records of the CIFAR-10 batch, from --index on")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--seeds", options.seeds, "random layers, from --seed on, in place of a model")
      ->check(CLI::Range(1, 1 << 30));
  app.add_flag("--all-configs", options.all_configs, "spread --seeds over all shipped configs");
}

void add_compile_options(CLI::App& app, Options& options) {
  add_model_options(app, options);
  app.add_option("--out", options.program_out, "write the program's text; - is stdout")
      ->type_name("FILE|-");
}

void add_inspect_options(CLI::App& app, Options& options) {
  app.add_option("file", options.file,
                 "program text (.qprog), ONNX model, workload, trace, config, or a shipped name")
      ->required();
  app.add_flag("--commands", options.commands, "print the command streams of a program");
}

void add_export_options(CLI::App& app, Options& options) {
  add_model_options(app, options);
  add_input_options(app, options);
  app.add_option("--out", options.out, "the folder that the files go to")
      ->type_name("DIR")
      ->required();
}

void add_options(CLI::App& app, Options& options) {
  add_global_options(app, options);
  switch (options.command) {
    case CommandName::kRun:
      return add_run_options(app, options);
    case CommandName::kVerify:
      return add_verify_options(app, options);
    case CommandName::kCompile:
      return add_compile_options(app, options);
    case CommandName::kInspect:
      return add_inspect_options(app, options);
    case CommandName::kExportVectors:
      return add_export_options(app, options);
    case CommandName::kDoctor:
      return;
  }
}

[[noreturn]] void unknown_option(const CLI::App& app, const std::string& command,
                                 const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_lnames().empty()) known.push_back("--" + option->get_lnames().front());
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view nearest = nearest_name(name, names);
  if (word.empty() || word[0] != '-') {
    usage_error("unexpected argument '" + word + "'; `qsim " + command + " --help` lists options");
  }
  std::string message = "unknown option '" + name + "' of qsim " + command;
  message += nearest.empty() ? "; `qsim " + command + " --help` lists them"
                             : "; did you mean '" + std::string(nearest) + "'?";
  usage_error(message);
}

// `--model "$MODEL"` with an unset variable must not run something else.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0 && option->get_expected_max() > 0 &&
        option->as<std::string>().empty()) {
      usage_error(option->get_name() + ": an empty value");
    }
  }
}

void check_together(const Options& options, const CLI::App& app) {
  if (options.command == CommandName::kVerify && options.seeds > 0) {
    for (const char* name : {"--model", "--input", "--index", "--batch", "--layers", "--images"}) {
      if (app.count(name) > 0)
        usage_error("--seeds draws its own layers; it excludes " + std::string(name));
    }
  }
  const std::set<std::string> engines(options.engines.begin(), options.engines.end());
  if (engines.size() != options.engines.size()) usage_error("--engines names an engine twice");
  if (options.all_configs && options.seeds == 0) usage_error("--all-configs needs --seeds");
  if (options.all_configs && options.config_given) usage_error("--all-configs excludes --config");
  rtl_trace_option(options);
  if (options.no_data && options.engine == "rtl") {
    usage_error("--no-data excludes --engine rtl, whose bytes move in any case");
  }
  if (options.no_data && !options.dump_layers.empty()) {
    usage_error("--dump-layers needs data; it excludes --no-data");
  }
  if (options.command == CommandName::kCompile && options.json == "-" &&
      options.program_out == "-") {
    usage_error("--json - and --out - both want stdout");
  }
}

void parse_words(CLI::App& app, std::vector<std::string> words, const std::string& command) {
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::ExtrasError&) {
    unknown_option(app, command, app.remaining().front());
  } catch (const CLI::RequiredError& error) {
    usage_error(std::string(error.what()) + "; `qsim " + command + " --help` says more");
  } catch (const CLI::Success&) {  // --help, --version
    throw;
  } catch (const CLI::ParseError& error) {
    usage_error(error.what());
  }
}

}  // namespace

ParsedCommandLine parse_command_line(const std::vector<std::string>& argv) {
  ParsedCommandLine parsed;
  if (argv.size() == 2 && (argv[1] == "--help" || argv[1] == "-h")) {
    parsed.text = top_help();
    return parsed;
  }
  const auto [row, words] = split_command(argv);
  parsed.options.command = row->command;
  CLI::App app(row->description, "qsim " + std::string(row->name));
  add_options(app, parsed.options);
  try {
    parse_words(app, words, row->name);
  } catch (const CLI::CallForHelp&) {
    parsed.text = app.help();
    return parsed;
  } catch (const CLI::CallForVersion&) {
    parsed.text = version_line() + "\n";
    return parsed;
  }
  refuse_empty_values(app);
  parsed.options.config_given = app.count("--config") > 0;
  check_together(parsed.options, app);
  return parsed;
}

}  // namespace qsim
