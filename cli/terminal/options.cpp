#include "cli/terminal/options.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/terminal/command_options.h"
#include "cli/terminal/command_table.h"
#include "cli/terminal/option_groups.h"
#include "cli/terminal/usage_error.h"
#include "core/error.h"
#include "files/yaml.h"

namespace qsim {
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
void refuse_late_command(const std::vector<std::string>& remaining) {
  for (const std::string& word : remaining) {
    if (!is_command_word(word)) continue;
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
                 bool command_given) {
  refuse_values_of_flags(app, words);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::ExtrasError&) {
    if (!command_given) refuse_late_command(app.remaining());
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

// Text that is asked for goes to stdout, whatever --json says: there is no result.
ParsedCommandLine only_text(std::string text) {
  ParsedCommandLine parsed;
  parsed.text = std::move(text);
  return parsed;
}

}  // namespace

ParsedCommandLine parse_command_line(const std::vector<std::string>& argv) {
  if (const std::optional<std::string> help = help_on_commands(argv)) return only_text(*help);
  ParsedCommandLine parsed;
  const auto [row, words] = split_command(argv);
  parsed.options.command = row->command;
  CLI::App app(row->description, "qsim " + std::string(row->name));
  add_options(app, parsed.options);
  try {
    parse_words(app, words, row->name, words.size() + 1 < argv.size());
  } catch (const CLI::CallForHelp&) {
    return only_text(app.help());
  } catch (const CLI::CallForVersion&) {
    return only_text(version_line() + "\n");
  }
  refuse_empty_values(app);
  parsed.options.config_given = app.count("--config") > 0;
  check_together(parsed.options, app);
  return parsed;
}

}  // namespace qsim
