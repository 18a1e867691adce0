#include "cli/terminal/command_table.h"

#include <algorithm>
#include <array>

#include "cli/terminal/usage_error.h"
#include "core/error.h"
#include "files/yaml.h"

namespace qsim {
namespace {

constexpr auto kCommands = std::to_array<CommandRow>({
    {CommandName::kRun, "run", "simulate a model on an input and compare it with golden"},
    {CommandName::kVerify, "verify",
     "compare engines with golden, layer by layer and byte by byte"},
    {CommandName::kExplain, "explain",
     "say what limits a layer, and what doubling each resource gains"},
    {CommandName::kProfile, "profile",
     "compare dataflows, configurations and models in time, and say which is best and why"},
    {CommandName::kCompare, "compare",
     "say what changed between two results of run or profile, and why"},
    {CommandName::kEval, "eval",
     "count what networks and engines get right of many pictures, and where they agree"},
    {CommandName::kCompile, "compile", "translate a model to a program and write it as text"},
    {CommandName::kInspect, "inspect",
     "show what a program, model, workload, trace or config contains"},
    {CommandName::kExportVectors, "export-vectors",
     "write a program, its memory images and its cycles, to verify RTL of your own"},
    {CommandName::kSchemes, "schemes",
     "compare ways to quantize a float network: accuracy and noise of each"},
    {CommandName::kQuantize, "quantize",
     "quantize a float network by pictures, and say what each layer loses"},
    {CommandName::kGoldenInfo, "golden info",
     "show what golden can run on: GPUs, vector instructions"},
    {CommandName::kGoldenRun, "golden run",
     "classify many pictures with golden and count the correct ones"},
    {CommandName::kGoldenBench, "golden bench", "time golden on a model, kernel by kernel"},
    {CommandName::kGoldenAbc, "golden abc",
     "say what weights lose as sums of binary bases, and time a binary convolution"},
    {CommandName::kGoldenConvert, "golden convert",
     "convert a 16-bit tensor to 8 or 4 bits with a scale a group"},
    {CommandName::kGoldenLinear, "golden linear",
     "compute and time a linear layer with integer weights"},
    {CommandName::kGoldenQuantize, "golden quantize",
     "quantize the weights of a linear layer to 8 or 4 bits"},
    {CommandName::kDoctor, "doctor", "show what this qsim is and whether it finds what it needs"},
});

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
std::vector<std::string_view> first_words() {
  std::vector<std::string_view> words;
  for (const CommandRow& row : kCommands) {
    const std::string_view word = is_golden(row) ? kGolden : std::string_view(row.name);
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  return words;
}

std::vector<std::string_view> golden_words() {
  std::vector<std::string_view> words;
  for (const CommandRow& row : kCommands) {
    if (is_golden(row)) words.push_back(std::string_view(row.name).substr(kGoldenPrefix.size()));
  }
  return words;
}

std::string list(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

const CommandRow& command_row(const std::string& name) {
  for (const CommandRow& row : kCommands) {
    if (name == row.name) return row;
  }
  const std::vector<std::string_view> names = first_words();
  std::string nearest(nearest_name(name, names));
  if (name == "help" || name == "version") nearest = "--" + name;
  std::string message = "unknown command '" + name + "'";
  message += nearest.empty() ? "." : "; did you mean '" + nearest + "'?";
  usage_error(message + " Commands: " + list(names) + "; `qsim --help` says more");
}

const CommandRow& golden_row(const std::string& word) {
  for (const CommandRow& row : kCommands) {
    if (row.name == std::string(kGoldenPrefix) + word) return row;
  }
  const std::vector<std::string_view> words = golden_words();
  const std::string allowed = list(words) + "; `qsim golden --help` says more";
  if (word.empty() || word[0] == '-') usage_error("qsim golden needs one more word: " + allowed);
  const std::string_view nearest = nearest_name(word, words);
  std::string message = "unknown command 'golden " + word + "'";
  message += nearest.empty() ? "." : "; did you mean 'golden " + std::string(nearest) + "'?";
  usage_error(message + " Allowed after golden: " + allowed);
}

std::string top_help() {
  std::string text =
      "qsim: simulates an int8 systolic-array accelerator on quantized networks\n\n"
      "Usage: qsim [--config FILE|NAME] [COMMAND] [OPTIONS]\n\nCommands (run when none is "
      "given):\n";
  for (const CommandRow& row : kCommands) text += line_of(row);
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

std::string golden_help() {
  std::string text = "Usage: qsim golden WORD [OPTIONS]\n\nCommands:\n";
  for (const CommandRow& row : kCommands) {
    if (is_golden(row)) text += line_of(row);
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

std::ptrdiff_t at(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }

}  // namespace

bool is_command_word(const std::string& word) {
  const std::vector<std::string_view> words = first_words();
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<std::string> help_on_commands(const std::vector<std::string>& argv) {
  const std::vector<std::string> words(argv.begin() + 1, argv.end());
  const std::size_t i = command_place(words);
  if (is_help(words, i)) return top_help();
  if (i < words.size() && words[i] == kGolden && is_help(words, i + 1)) return golden_help();
  return std::nullopt;
}

std::pair<const CommandRow*, std::vector<std::string>> split_command(
    const std::vector<std::string>& argv) {
  std::vector<std::string> rest(argv.begin() + 1, argv.end());
  const std::size_t i = command_place(rest);
  if (i == rest.size() || (rest[i].size() > 1 && rest[i][0] == '-')) return {&kCommands[0], rest};
  const bool two_words = rest[i] == kGolden;
  const CommandRow& row =
      two_words ? golden_row(i + 1 < rest.size() ? rest[i + 1] : "") : command_row(rest[i]);
  rest.erase(rest.begin() + at(i), rest.begin() + at(i + (two_words ? 2 : 1)));
  return {&row, rest};
}

}  // namespace qsim
