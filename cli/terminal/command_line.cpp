#include "cli/terminal/command_line.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/build_info.h"
#include "cli/terminal/command_words.h"
#include "cli/terminal/output_files.h"
#include "cli/terminal/usage_error.h"
#include "formats/text/yaml.h"

namespace qsim::cli {
namespace {

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

// Options of a command that come before it make a command line of `run` (`qsim --golden cpu
// verify`), which would be told to have strange options.
void refuse_late_command(CommandTable commands, const std::vector<std::string>& remaining) {
  for (const std::string& word : remaining) {
    if (!is_command_word(commands, word)) continue;
    usage_error(
        "the command '" + word +
        "' comes after options; only --config, --json and --quiet may come before the command");
  }
}

// `--model "$MODEL"` with an unset variable must not run something else.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0 && option->get_expected_max() > 0 &&
        option->as<std::string>().empty()) {
      usage_error(option->get_name() + ": the value is empty; give one, or leave the option out");
    }
  }
}

// Two values of which one would be dropped: a script that adds an option to another's.
void refuse_repeated(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 1 && option->count() > 1) {
      usage_error(option->get_name() + ": given " + std::to_string(option->count()) +
                  " times; expected once");
    }
  }
}

// CLI11 would take `--quiet=3`, and read `--no-data=false` as if it were left out.
void refuse_values_of_flags(const CLI::App& app, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (word == "--") return;
    if (equals == std::string::npos || !word.starts_with("--")) continue;
    const CLI::Option* option = app.get_option_no_throw(word.substr(0, equals));
    if (option == nullptr || option->get_expected_max() > 0) continue;
    usage_error(option->get_name() + ": found '" + word.substr(equals + 1) +
                "'; expected no value");
  }
}

// CLI11's own text begins with the option's name.
[[noreturn]] void refuse_missing_value(const std::string& command, const std::string& text) {
  usage_error(text.substr(0, text.find(':')) + ": the value is missing; `qsim " + command +
              " --help` says which is expected");
}

void parse_words(CLI::App& app, std::vector<std::string> words, const std::string& command,
                 CommandTable commands_before) {
  refuse_values_of_flags(app, words);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::ExtrasError&) {
    refuse_late_command(commands_before, app.remaining());
    unknown_option(app, command, app.remaining().front());
  } catch (const CLI::RequiredError& error) {
    usage_error(std::string(error.what()) + "; `qsim " + command + " --help` says more");
  } catch (const CLI::Success&) {  // --help, --version
    throw;
  } catch (const CLI::ArgumentMismatch& error) {
    refuse_repeated(app);
    refuse_missing_value(command, error.what());
  } catch (const CLI::ParseError& error) {
    usage_error(error.what());
  }
}

std::string version_line() {
  return "qsim " + std::string(build_version()) + " (" + std::string(build_commit()) + ")";
}

void add_option(CLI::App& app, const OptionRow& row) {
  if (row.is_flag) {
    app.add_flag(row.name, row.meaning);
    return;
  }
  const auto take = [&row](const CLI::results_t& values) {
    row.take(values);
    return true;
  };
  CLI::Option* option = app.add_option(row.name, take, row.meaning)
                            ->type_name(row.value)
                            ->default_str(row.shown_default)
                            ->required(row.is_required);
  if (row.refusal) option->check(CLI::Validator(row.refusal, row.allowed));
  if (!row.is_repeated) return;
  const bool has_name = row.name.front() == '-';
  option->expected(has_name ? 1 : 0, CLI::detail::expected_max_vector_size)
      ->allow_extra_args(row.takes_more_words);
}

// The version comes after --config, --json and --quiet, as help lists them.
void add_options(CLI::App& app, const Declarations& declared) {
  for (const OptionRow& row : declared.rows()) {
    add_option(app, row);
    if (row.name == "--quiet") {
      app.set_version_flag("--version", version_line(), "print the version and exit");
    }
  }
}

void note_what_is_given(const CLI::App& app, Declarations& declared) {
  for (OptionRow& row : declared.rows()) {
    const CLI::Option* option = app.get_option(row.long_name());
    row.count = option->count();
    if (row.is_flag && row.count > 0) row.take({});
    if (row.is_flag) continue;
    for (const std::string& text : option->results()) {
      std::size_t begin = 0;
      while (row.has_commas && text.find(',', begin) != std::string::npos) {
        row.values.push_back(text.substr(begin, text.find(',', begin) - begin));
        begin = text.find(',', begin) + 1;
      }
      row.values.push_back(text.substr(begin));
    }
  }
}

// - is stdout where an option says so, and no name elsewhere.
void refuse_stdout(const Declarations& declared) {
  for (const OptionRow& row : declared.rows()) {
    if (row.values.empty() || row.values.back() != "-") continue;
    const bool is_folder = row.writes == Writes::kFolder;
    if (!is_folder && row.writes != Writes::kFile && row.writes != Writes::kFileAndSidecar)
      continue;
    const std::string kind = is_folder ? "folder" : "file";
    usage_error(row.long_name() + ": expected a " + kind + "; - is not stdout here, and a " + kind +
                " of that name is ./-");
  }
}

// Text that is asked for goes to stdout, whatever --json says: there is no result.
ParsedCommandLine only_text(std::string text) {
  ParsedCommandLine parsed;
  parsed.declared = std::make_unique<Declarations>();
  parsed.text = std::move(text);
  return parsed;
}

}  // namespace

ParsedCommandLine parse_command_line(CommandTable commands, const std::vector<std::string>& argv) {
  if (const auto help = help_on_commands(commands, argv)) return only_text(*help);
  ParsedCommandLine parsed;
  const auto [command, words] = split_command(commands, argv);
  parsed.declared = std::make_unique<Declarations>();
  Declarations& declared = *parsed.declared;
  parsed.steps = command->declare(declared);
  CLI::App app(command->description, "qsim " + std::string(command->name));
  add_options(app, declared);
  const bool is_named = words.size() + 1 < argv.size();
  try {
    parse_words(app, words, command->name, is_named ? CommandTable() : commands);
  } catch (const CLI::CallForHelp&) {
    return only_text(app.help());
  } catch (const CLI::CallForVersion&) {
    return only_text(version_line() + "\n");
  }
  refuse_empty_values(app);
  note_what_is_given(app, declared);
  declared.run_checks();
  refuse_stdout(declared);
  require_stdout_once(named_outputs(declared));
  return parsed;
}

}  // namespace qsim::cli
