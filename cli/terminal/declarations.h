// The options of a command as data: a row has an option's name, value, meaning and default, what it
// does with files, and where its value goes. The parser, the check that no output replaces a file
// that is read, and the page docs/reference/cli.md read these rows.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qsim::cli {

// What a command reads because of an option; cli/commands/files_read.cpp knows the companions of
// each (a model's sidecar, the pictures of a folder).
enum class Reads : std::uint8_t {
  kNothing,
  kFile,             // one file, without companions
  kNetwork,          // a path or a shipped name
  kNetworkOrConfig,  // the same; without the option what the configuration names
  kInspected,        // a network, a program or a configuration
  kPictures,         // a path
  kInput,            // a path or a shipped name of pictures
  kConfig,
  kEveryConfig,     // a flag: all that are shipped
  kNetworkInstead,  // a network in place of the configuration's
  kNoNetwork,       // the option takes the place of the configuration's network
  kEnergyTable,     // a path or a shipped name
  kConditions,      // of --fail-if, which name results
  kChartLibrary,    // what a page needs
};

enum class Writes : std::uint8_t {
  kNothing,
  kFile,
  kFileAndSidecar,  // an ONNX file, and the .yaml beside it
  kFileOrStdout,    // - is stdout
  kFolder,
};

struct OptionRow {
  std::string name;     // "--model", "-o,--out", or "file" of a word without its name
  std::string value;    // what help calls the value: "FILE|NAME"
  std::string allowed;  // "{cpu,cuda,auto}"; "" where `value` says all
  std::string meaning;
  std::string shown_default;
  bool is_flag = false;  // has no value
  bool is_required = false;
  bool is_repeated = false;       // may be given several times
  bool has_commas = false;        // values with commas between them
  bool takes_more_words = false;  // the words after it too, up to the next option
  std::function<std::string(const std::string& value)> refusal;  // "" for a right value
  std::function<void(const std::vector<std::string>& values)> take;
  Reads reads = Reads::kNothing;
  std::string read_as;  // as a message says it: "the model"
  Writes writes = Writes::kNothing;
  bool (*holds)(const std::string& name) = nullptr;  // of a folder: whether it gets such a file
  const char* group = nullptr;                       // the heading on the page, of shared options

  std::size_t count = 0;            // how often it was given
  std::vector<std::string> values;  // what was given, cut at the commas where `has_commas`

  std::string long_name() const;  // "--out" of "-o,--out"

  // For the declaration, one after the other.
  OptionRow& called(std::string type);
  OptionRow& shows(std::string text);
  OptionRow& required();
  OptionRow& read(Reads how, std::string as);
  OptionRow& write(Writes how);
};

struct NumberRange {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  constexpr NumberRange(std::int64_t from, std::int64_t to)
      : least(static_cast<std::uint64_t>(from)), most(static_cast<std::uint64_t>(to)) {}
};

inline constexpr std::int64_t kMostThreads = 1024;  // each has memory of its own

// From `least` to `most` as written; the value is that times 10^exponent, the nearest double to it.
struct DecimalRange {
  double least = 0;
  double most = 0;
  int exponent = 0;
};

// What an option needs to have an effect.
struct Need {
  const char* option;
  bool is_met;
  const char* what;
};

using Words = std::vector<std::string>;

// What every command takes besides --config.
struct OutputOptions {
  std::string json;  // a file, "-" for stdout, "" for none
  bool quiet = false;
};

class Declarations {
 public:
  Declarations() = default;
  Declarations(const Declarations&) = delete;
  Declarations& operator=(const Declarations&) = delete;

  // Each declares an option and returns its row. `value` must outlive this object; what it has is
  // the default, and is shown. Parsing throws Error (exit code 2) for a value that is not allowed.
  OptionRow& text(std::string name, std::string& value, std::string meaning,
                  std::string called = "TEXT");
  // A file without companions, that a message calls `as`.
  OptionRow& input_file(std::string name, std::string& file, std::string as, std::string meaning);
  OptionRow& output_file(std::string name, std::string& file, std::string meaning);
  OptionRow& output_place(std::string name, std::string& file, std::string meaning);  // - is stdout
  // `holds` says whether it gets a file of that name.
  OptionRow& output_folder(std::string name, std::string& folder, bool (*holds)(const std::string&),
                           std::string meaning);
  OptionRow& word(std::string name, std::string& value, const Words& words, std::string meaning);
  OptionRow& flag(std::string name, bool& value, std::string meaning);
  // Decimal digits alone.
  template <typename Number>
  OptionRow& number(std::string name, NumberRange range, Number& value, std::string meaning) {
    const auto set = [&value](std::uint64_t digits) { value = static_cast<Number>(digits); };
    return digits(std::move(name), range, set, std::move(meaning)).shows(std::to_string(value));
  }
  OptionRow& number(std::string name, NumberRange range, std::optional<std::int64_t>& value,
                    std::string meaning);
  OptionRow& seed(std::uint64_t& value, std::string meaning);
  // Decimal digits with or without a point.
  OptionRow& decimal(std::string name, const DecimalRange& range, std::optional<double>& value,
                     std::string meaning);
  // A positive float32 number, with an exponent or without: what reports print of one (9 digits)
  // gives the same number.
  OptionRow& real(std::string name, std::optional<float>& value, std::string meaning);
  // Given once for each value, or once with commas between them. `allowed`: none for any.
  OptionRow& list(std::string name, Words& values, std::string meaning, const Words& allowed = {});
  // Given once for each value, whose commas belong to it.
  OptionRow& repeated(std::string name, Words& values, std::string meaning);

  // A condition between options, judged after parsing in the order of the declarations: throws
  // Error (exit code 2).
  void check(std::function<void()> condition) { checks_.push_back(std::move(condition)); }
  void run_checks() const;

  bool given(std::string_view name) const;  // of an option that is declared
  // Throws Error for the first option that was given and whose need is not met.
  void require_needs(std::span<const Need> needs) const;

  // Rows that are declared from here on are shared options, under this heading of the page.
  void begin_group(const char* heading) { group_ = heading; }
  void end_group() { group_ = nullptr; }

  std::deque<OptionRow>& rows() { return rows_; }
  const std::deque<OptionRow>& rows() const { return rows_; }

  // What the rows write into lives as long as they do.
  void keep(std::shared_ptr<void> options) { options_ = std::move(options); }

  void declare_outputs();  // --json and --quiet
  const OutputOptions& outputs() const { return outputs_; }

 private:
  OptionRow& add(std::string name, std::string type, std::string meaning,
                 std::function<void(const Words&)> take);
  OptionRow& digits(std::string name, NumberRange range, std::function<void(std::uint64_t)> set,
                    std::string meaning);

  std::shared_ptr<void> options_;
  std::deque<OptionRow> rows_;  // which stay where they are
  std::vector<std::function<void()>> checks_;
  const char* group_ = nullptr;
  OutputOptions outputs_;
};

// "a, b" of words; "{a,b}" as help shows them.
std::string choice_text(const Words& words);
// Whether `word` is one of them: "" or what is wrong, for a row's `refusal`.
std::string refusal_of(const std::string& word, const Words& words);

}  // namespace qsim::cli
