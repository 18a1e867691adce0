#include "cli/terminal/command_words.h"

#include <algorithm>

#include "cli/terminal/shared_options.h"
#include "cli/terminal/usage_error.h"
#include "formats/text/yaml.h"

namespace qsim::cli {
namespace {

constexpr std::string_view kGolden = "golden";
constexpr std::string_view kGoldenPrefix = "golden ";

bool is_golden(const CommandRow& row) {
  return std::string_view(row.name).substr(0, kGoldenPrefix.size()) == kGoldenPrefix;
}

std::string line_of(const CommandRow& row) {
  const std::string name = row.name;
  return "  " + name + std::string(16 - name.size(), ' ') + row.description + "\n";
}

// A command's first word once, in the table's order.
std::vector<std::string_view> first_words(CommandTable commands) {
  std::vector<std::string_view> words;
  for (const CommandRow* row : commands) {
    const std::string_view word = is_golden(*row) ? kGolden : std::string_view(row->name);
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  return words;
}

std::vector<std::string_view> golden_words(CommandTable commands) {
  std::vector<std::string_view> words;
  for (const CommandRow* row : commands) {
    if (is_golden(*row)) words.push_back(std::string_view(row->name).substr(kGoldenPrefix.size()));
  }
  return words;
}

std::string list(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

const CommandRow& command_row(CommandTable commands, const std::string& name) {
  for (const CommandRow* row : commands) {
    if (name == row->name) return *row;
  }
  const std::vector<std::string_view> names = first_words(commands);
  std::string nearest(nearest_name(name, names));
  if (name == "help" || name == "version") nearest = "--" + name;
  std::string message = "unknown command '" + name + "'";
  message += nearest.empty() ? "." : "; did you mean '" + nearest + "'?";
  usage_error(message + " Commands: " + list(names) + "; `qsim --help` says more");
}

const CommandRow& golden_row(CommandTable commands, const std::string& word) {
  for (const CommandRow* row : commands) {
    if (row->name == std::string(kGoldenPrefix) + word) return *row;
  }
  const std::vector<std::string_view> words = golden_words(commands);
  const std::string allowed = list(words) + "; `qsim golden --help` says more";
  if (word.empty() || word[0] == '-') usage_error("qsim golden needs one more word: " + allowed);
  const std::string_view nearest = nearest_name(word, words);
  std::string message = "unknown command 'golden " + word + "'";
  message += nearest.empty() ? "." : "; did you mean 'golden " + std::string(nearest) + "'?";
  usage_error(message + " Allowed after golden: " + allowed);
}

std::string top_help(CommandTable commands) {
  std::string text =
      "qsim: simulates an int8 systolic-array accelerator on quantized networks\n\n"
      "Usage: qsim [--config FILE|NAME] [COMMAND] [OPTIONS]\n\nCommands (run when none is "
      "given):\n";
  for (const CommandRow* row : commands) text += line_of(*row);
  return text +
         "\nOptions of every command:\n"
         "  --config FILE|NAME  the accelerator (default " +
         kDefaultConfig +
         ")\n"
         "  --json FILE|-       also write the result as JSON; - writes it, and nothing else, to "
         "stdout\n"
         "  --quiet             write no progress and no notes to stderr\n"
         "  --help, --version\n\n"
         "`qsim COMMAND --help` lists the options of a command.\n"
         "Exit codes: 0 ok, 1 internal, 2 usage, 3 bad input or config, 4 unsupported model,\n"
         "5 mismatch, 6 condition of --fail-if true, 7 partial, 130 interrupted.\n";
}

std::string golden_help(CommandTable commands) {
  std::string text = "Usage: qsim golden WORD [OPTIONS]\n\nCommands:\n";
  for (const CommandRow* row : commands) {
    if (is_golden(*row)) text += line_of(*row);
  }
  return text + "\n`qsim golden WORD --help` lists the options of one.\n";
}

// The position of the command in `words`, or the first option that only a command has, or the end.
std::size_t command_place(const std::vector<std::string>& words) {
  std::size_t i = 0;
  while (i < words.size() && words[i].size() > 1 && words[i][0] == '-') {
    const std::string& word = words[i];
    const bool global_flag =
        word == "--quiet" || word.rfind("--config=", 0) == 0 || word.rfind("--json=", 0) == 0;
    const bool takes_value = word == "--config" || word == "--json";
    if (!global_flag && !takes_value) return i;
    i += takes_value ? 2 : 1;
  }
  return std::min(i, words.size());
}

bool is_help(const std::vector<std::string>& words, std::size_t i) {
  return i < words.size() && (words[i] == "--help" || words[i] == "-h");
}

std::ptrdiff_t offset_of(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }

}  // namespace

bool is_command_word(CommandTable commands, const std::string& word) {
  const std::vector<std::string_view> words = first_words(commands);
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<std::string> help_on_commands(CommandTable commands,
                                            const std::vector<std::string>& argv) {
  const std::vector<std::string> words(argv.begin() + 1, argv.end());
  const std::size_t i = command_place(words);
  if (is_help(words, i)) return top_help(commands);
  if (i < words.size() && words[i] == kGolden && is_help(words, i + 1))
    return golden_help(commands);
  return std::nullopt;
}

std::pair<const CommandRow*, std::vector<std::string>> split_command(
    CommandTable commands, const std::vector<std::string>& argv) {
  std::vector<std::string> rest(argv.begin() + 1, argv.end());
  const std::size_t i = command_place(rest);
  if (i == rest.size() || (rest[i].size() > 1 && rest[i][0] == '-'))
    return {commands.front(), rest};
  const bool two_words = rest[i] == kGolden;
  const CommandRow& row = two_words ? golden_row(commands, i + 1 < rest.size() ? rest[i + 1] : "")
                                    : command_row(commands, rest[i]);
  rest.erase(rest.begin() + offset_of(i), rest.begin() + offset_of(i + (two_words ? 2 : 1)));
  return {&row, rest};
}

}  // namespace qsim::cli
