// `qsim schemes`: every scheme of the catalogue on one float network: ranges chosen on calibration
// pictures, accuracy judged on others.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "cli/build_info.h"
#include "cli/commands/commands.h"
#include "cli/session/engines/threads_note.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/session/schemes/scheme_results.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "formats/files/growing_file.h"
#include "formats/onnx/importer/real_importer.h"
#include "golden/common/thread_team.h"
#include "quantize/calibration.h"
#include "quantize/mode_catalogue.h"
#include "quantize/scheme_catalogue.h"
#include "report/sheet.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

constexpr const char* kResumeHeader = "qsim.schemes/1";

// Pictures that judge --modes, without --judges.
constexpr std::int64_t kModeJudges = 500;

struct SchemesOptions : ConfigOption {
  std::string model;      // a float ONNX file
  std::string calibrate;  // pictures that choose the ranges
  Words data;             // labelled pictures that judge
  std::int64_t calibration_pictures = 512;
  Words only;                          // words of the rows to judge; empty: all rows
  bool modes = false;                  // compare the schemes that golden alone runs
  std::optional<std::int64_t> judges;  // with `modes`: of the pictures of --data
  std::uint64_t seed = 0;
  std::string csv;     // a file, "-" for stdout, "" for none
  std::string resume;  // a file; "" for none
};

void declare_schemes(Declarations& declared, SchemesOptions& options) {
  declare_config(declared, options);
  declared.text("--model", options.model, "a float ONNX file", "FILE")
      .required()
      .read(Reads::kNetwork, "the model");
  declared
      .text("--calibrate", options.calibrate,
            "pictures that choose the ranges: a folder, a CIFAR-10 batch, or a .npy", "DIR|FILE")
      .required()
      .read(Reads::kPictures, "a picture");
  OptionRow& data =
      declared
          .repeated("--data", options.data,
                    "labelled pictures that judge: CIFAR-10 batches, or a folder of class folders")
          .called("DIR|FILE")
          .required()
          .read(Reads::kPictures, "the pictures");
  data.takes_more_words = true;
  declared.number("--pictures", {1, kMaxImages}, options.calibration_pictures,
                  "pictures of --calibrate, drawn with --seed");
  declared
      .list("--only", options.only,
            "the rows with these words, such as mse,channel: of a column, one of those given")
      .called("LIST");
  declared.flag("--modes", options.modes,
                "the schemes that golden alone runs: weight-only, dynamic, fake quantization, and "
                "small floats");
  declared
      .number("--judges", {1, kMaxImages}, options.judges,
              "with --modes: pictures of --data, drawn with --seed, at most")
      .shows(std::to_string(kModeJudges));
  declared.seed(options.seed, "which pictures of --calibrate");
  declared.output_place("--csv", options.csv, "also write the table as CSV; - is stdout");
  declared.output_file("--resume", options.resume,
                       "keep each finished scheme in this file, and take those that it has");
}

// The network and both sets of pictures.
struct Question {
  std::string model_hash;  // of its file, its external data and its sidecar
  Graph graph;
  PictureSet calibration;
  PictureSet data;
};

PictureSet pictures_of(Context& context, const std::vector<std::filesystem::path>& paths,
                       const Graph& graph, const std::filesystem::path& model) {
  PictureSet pictures(paths, picture_form(graph, model), context.notes());
  pictures.require_finite();
  return pictures;
}

Question load_question(Context& context, const SchemesOptions& options) {
  if (options.judges && !options.modes) {
    throw Error(ExitCode::kUsage, "--judges needs --modes; leave it out, or give both");
  }
  const std::filesystem::path path = options.model;
  const auto held = std::make_shared<const formats::HeldFile>(path);
  Graph graph = formats::import_real_onnx(held);
  PictureSet calibration = pictures_of(context, {options.calibrate}, graph, path);
  calibration.sample(std::min(options.calibration_pictures, calibration.count()), options.seed);
  const std::vector<std::filesystem::path> data(options.data.begin(), options.data.end());
  PictureSet judges = pictures_of(context, data, graph, path);
  if (!judges.has_labels()) {
    throw_bad_input(data.front().string() +
                    ": the pictures have no labels; --data takes CIFAR-10 batches and folders of "
                    "class folders");
  }
  if (options.modes) {
    judges.sample(std::min(options.judges.value_or(kModeJudges), judges.count()), options.seed);
  }
  const std::optional<formats::Sidecar> sidecar = picture_form(graph, path).sidecar;
  return {model_hash(held, sidecar ? sidecar->file : ""), std::move(graph), std::move(calibration),
          std::move(judges)};
}

// The key covers all that a row depends on, so that --resume takes no row of another question.
std::string question_key(const Question& question, const SchemesOptions& options) {
  std::string all;
  const auto add = [&all](std::string_view text) {
    all += text;
    all += "\n";
  };
  add(build_commit());
  add(question.model_hash);
  for (const auto& file : question.calibration.files()) add(file_hash(file));
  for (const auto& file : question.data.files()) {
    add(file_hash(file));
    std::error_code unknown;
    const std::filesystem::path labels = labels_path(file);
    if (std::filesystem::exists(labels, unknown)) add(file_hash(labels));
  }
  add(std::to_string(question.calibration.count()) + " " + std::to_string(options.seed));
  if (options.modes) add(std::to_string(question.data.count()) + " judges");
  return text_hash(all);
}

using Statistics = std::vector<quantize::TensorStatistics>;

// What a row's network does.
using JudgeNetwork = std::function<SchemeResult(const Judges&, golden::ThreadTeam&)>;

// A row of the table: its number in the catalogue, its words, and its network, which one thread
// makes.
struct SchemeRow {
  std::int64_t number = 0;
  std::vector<std::string> words;
  std::function<JudgeNetwork(const Statistics&)> make;
};

struct SchemeRows {
  std::vector<std::string> columns;  // of the words
  std::vector<SchemeRow> rows;
};

SchemeRows static_rows(const Graph& graph) {
  SchemeRows result{{"observer", "granularity", "range", "scales"}, {}};
  for (const quantize::CatalogueRow& row : quantize::scheme_catalogue()) {
    const auto make = [&graph, scheme = row.scheme](const Statistics& statistics) -> JudgeNetwork {
      const auto tensors = quantize::quantize_tensors(graph, statistics, scheme);
      const auto network = std::make_shared<const QuantizedNetwork>(
          quantize::quantize_network(graph, tensors, scheme));
      return [network](const Judges& judges, golden::ThreadTeam& team) {
        return judge(*network, judges, team);
      };
    };
    result.rows.push_back({std::ssize(result.rows) + 1,
                           {row.observer, row.granularity, row.range, row.scales},
                           make});
  }
  return result;
}

SchemeRows mode_rows(const Graph& graph) {
  SchemeRows result{{"mode", "weights", "activations"}, {}};
  for (const quantize::ModeRow& row : quantize::mode_catalogue()) {
    const auto make = [&graph, of_row = row.make](const Statistics& statistics) -> JudgeNetwork {
      const auto network = std::make_shared<const quantize::ModeNetwork>(of_row(graph, statistics));
      return [network](const Judges& judges, golden::ThreadTeam& team) {
        return judge(network->graph, network->options, judges, team);
      };
    };
    result.rows.push_back(
        {std::ssize(result.rows) + 1, {row.mode, row.weights, row.activations}, make});
  }
  return result;
}

// The word as --only and the file of --resume have it: without spaces.
std::string plain_word(std::string word) {
  std::ranges::replace(word, ' ', '_');
  return word;
}

std::string name_of(const SchemeRow& row) {
  std::string name;
  for (const std::string& word : row.words) {
    name += (name.empty() ? "" : ",") + plain_word(word);
  }
  return name;
}

// Keeps the rows that --only names: those with one of the words given for each column. A word
// belongs to the first column that has it.
class ChosenRows {
 public:
  explicit ChosenRows(const SchemeRows& rows) : words_(rows.columns.size()) {
    for (const SchemeRow& row : rows.rows) {
      for (std::size_t c = 0; c < words_.size(); ++c) {
        const std::string word = plain_word(row.words[c]);
        if (std::ranges::find(words_[c], word) == words_[c].end()) words_[c].push_back(word);
      }
    }
  }

  void keep(const std::vector<std::string>& only, SchemeRows& rows) const {
    if (only.empty()) return;
    std::vector<std::set<std::string>> wanted(words_.size());
    for (const std::string& word : only) wanted[column_of(word)].insert(word);
    std::erase_if(rows.rows, [&](const SchemeRow& row) {
      for (std::size_t c = 0; c < wanted.size(); ++c) {
        if (!wanted[c].empty() && !wanted[c].contains(plain_word(row.words[c]))) return true;
      }
      return false;
    });
    if (!rows.rows.empty()) return;
    std::string all;
    for (const std::string& word : only) all += (all.empty() ? "" : ",") + word;
    throw Error(ExitCode::kUsage,
                "--only " + all + ": no scheme has these words together; leave one out");
  }

 private:
  std::size_t column_of(const std::string& word) const {
    std::string allowed;
    for (std::size_t c = 0; c < words_.size(); ++c) {
      if (std::ranges::find(words_[c], word) != words_[c].end()) return c;
      for (const std::string& known : words_[c]) allowed += (allowed.empty() ? "" : ", ") + known;
    }
    throw Error(ExitCode::kUsage,
                "--only: no scheme has '" + echoed(word) + "'; allowed: " + allowed);
  }

  std::vector<std::vector<std::string>> words_;  // by column
};

// The rows that an earlier run has finished, and the file that gets the new ones.
class KeptRows {
 public:
  KeptRows(const std::string& file, std::string question) : question_(std::move(question)) {
    if (file.empty()) return;
    file_ = std::make_unique<formats::GrowingFile>(file, kResumeHeader);
    for (const std::string& line : file_->lines()) {
      const auto read = read_result_line(line);
      if (!read) throw_bad_input(file + ": '" + line + "' is no row of qsim schemes");
      results_.insert(*read);
    }
  }
  std::optional<SchemeResult> find(const std::string& name) const {
    const auto found = results_.find(question_ + ":" + name);
    return found == results_.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(const std::string& name, const SchemeResult& result) {
    if (file_) file_->append(result_line(question_ + ":" + name, result));
  }

 private:
  std::string question_;
  std::unique_ptr<formats::GrowingFile> file_;
  std::map<std::string, SchemeResult> results_;
};

std::string progress_line(std::size_t done, std::size_t all, double seconds) {
  std::string line = std::to_string(done) + " of " + std::to_string(all) + " schemes";
  if (done > 0) {
    const double rest = seconds / static_cast<double>(done) * static_cast<double>(all - done);
    line += ", " + report::seconds_text(rest) + " to go";
  }
  return line;
}

// So many networks are made at a time, one a thread.
constexpr std::size_t kMostMade = 4;

// Runs the rows that are not kept, until an interrupt.
class RowsRun {
 public:
  RowsRun(Context& context, const SchemesOptions& options, const Question& question,
          const std::vector<SchemeRow>& rows, const Judges& judges, golden::ThreadTeam& team)
      : context_(context),
        rows_(rows),
        judges_(judges),
        team_(team),
        kept_(options.resume, question_key(question, options)),
        results_(rows.size()) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      results_[i] = kept_.find(name_of(rows[i]));
      if (!results_[i]) open_.push_back(i);
    }
    const std::string& file = options.resume;
    if (!file.empty()) context.count_as_kept(file);
    if (open_.size() == rows.size()) return;
    context.note(file + " has " + std::to_string(rows.size() - open_.size()) + " of " +
                 std::to_string(rows.size()) + " schemes");
  }

  // One a row; nothing for those that were not reached.
  std::vector<std::optional<SchemeResult>> run(const Question& question) {
    if (open_.empty()) return std::move(results_);
    const auto read = [&](std::int64_t first, std::int64_t pictures) {
      return question.calibration.read(first, pictures, team_);
    };
    const Statistics statistics =
        quantize::calibrate(question.graph, {question.calibration.count(), read}, team_);
    context_.stop_softly();
    const std::size_t at_once = std::min(static_cast<std::size_t>(team_.threads()), kMostMade);
    for (std::size_t at = 0; at < open_.size() && !context_.is_stopping(); at += at_once) {
      run_some(std::span(open_).subspan(at, std::min(at_once, open_.size() - at)), statistics);
    }
    context_.stop_at_once();
    return std::move(results_);
  }

 private:
  void run_some(std::span<const std::size_t> some, const Statistics& statistics) {
    std::vector<JudgeNetwork> networks(some.size());
    std::vector<double> seconds(some.size());
    double making = 0;
    timed(making, [&] {
      team_.run(some.size(), [&](std::size_t i) {
        timed(seconds[i], [&] { networks[i] = rows_[some[i]].make(statistics); });
      });
    });
    seconds_ += making;
    for (std::size_t i = 0; i < some.size() && !context_.is_stopping(); ++i) {
      double judging = 0;
      SchemeResult result = timed(judging, [&] { return networks[i](judges_, team_); });
      networks[i] = nullptr;
      result.seconds = seconds[i] + judging;
      kept_.keep(name_of(rows_[some[i]]), result);
      results_[some[i]] = std::move(result);
      seconds_ += judging;
      ++done_;
      context_.progress(progress_line(done_, open_.size(), seconds_));
    }
  }

  Context& context_;
  const std::vector<SchemeRow>& rows_;
  const Judges& judges_;
  golden::ThreadTeam& team_;
  KeptRows kept_;
  std::vector<std::optional<SchemeResult>> results_;
  std::vector<std::size_t> open_;  // rows
  std::size_t done_ = 0;           // of these
  double seconds_ = 0;
};

using Results = std::vector<std::optional<SchemeResult>>;  // one a row, of those that are finished

report::SheetTable table_of(const SchemeRows& rows, const Results& results, std::int64_t pictures) {
  report::SheetTable table{"schemes", {"row"}, {}};
  for (const std::string& column : rows.columns) table.columns.push_back(column);
  for (const char* column : {"correct", "top1", "sqnr_db", "same_as"}) {
    table.columns.emplace_back(column);
  }
  std::map<std::string, std::int64_t> first_with;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    const SchemeResult& result = *results[i];
    const std::int64_t number = rows.rows[i].number;
    const auto [place, is_new] = first_with.emplace(result.outputs, number);
    const double top1 = static_cast<double>(result.correct) / static_cast<double>(pictures);
    const std::string sqnr = number_text(result.sqnr_db, "%.2f");
    std::vector<report::Cell> cells = {number};
    for (const std::string& word : rows.rows[i].words) cells.emplace_back(word);
    cells.insert(cells.end(), {result.correct, top1, sqnr,
                               is_new ? std::string() : std::to_string(place->second)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string csv_of(const report::SheetTable& table) {
  std::string csv;
  for (const std::string& column : table.columns) csv += (csv.empty() ? "" : ",") + column;
  csv += "\n";
  for (const auto& row : table.rows) {
    std::string line;
    for (const report::Cell& cell : row) {
      if (&cell != &row.front()) line += ",";
      const double* share = std::get_if<double>(&cell);
      const std::int64_t* count = std::get_if<std::int64_t>(&cell);
      line += share   ? std::to_string(*share)
              : count ? std::to_string(*count)
                      : std::get<std::string>(cell);
    }
    csv += line + "\n";
  }
  return csv;
}

std::int64_t distinct(const Results& results) {
  std::set<std::string> outputs;
  for (const auto& result : results) {
    if (result) outputs.insert(result->outputs);
  }
  return static_cast<std::int64_t>(outputs.size());
}

ExitCode schemes_command(Context& context, const SchemesOptions& options) {
  const Question question = load_question(context, options);
  SchemeRows rows = options.modes ? mode_rows(question.graph) : static_rows(question.graph);
  ChosenRows(rows).keep(options.only, rows);
  golden::ThreadTeam team(0);
  note_fewer_threads(context, 0, team.threads());
  const Judges judges = make_judges(question.graph, question.data, team);
  double seconds = 0;
  const Results results = timed(seconds, [&] {
    return RowsRun(context, options, question, rows.rows, judges, team).run(question);
  });
  const auto finished = std::ranges::count_if(results, [](const auto& r) { return bool(r); });
  report::Sheet sheet;
  sheet.schema = "qsim.schemes/1";
  sheet.add("model", options.model);
  sheet.add("calibration_pictures", question.calibration.count());
  sheet.add("pictures", question.data.count());
  sheet.add("float_correct", correct_of(judges));
  sheet.add("finished", static_cast<std::int64_t>(finished));
  sheet.add("distinct_outputs", distinct(results));
  sheet.add("seconds", report::seconds_text(seconds));
  sheet.tables.push_back(table_of(rows, results, question.data.count()));
  context.print_to(options.csv, csv_of(sheet.tables.front()));
  context.print(sheet);
  return finished == std::ssize(results) ? ExitCode::kOk : ExitCode::kInterrupted;
}

constexpr const char* kSchemesText = R"(
It quantizes the network in every way of a catalogue (5 observers, 2 granularities, 4 ranges, 3 scales) and counts the
right answers of each ([which scheme](../measurements/accuracy.md)). After an interrupt it prints and writes the rows that
are finished; with `--resume` the same command makes the rest. A row of that file counts only for the same build, model,
pictures and `--seed`. In a word of `--only`, a blank is written `_`.

| key | meaning |
|---|---|
| `model`, `calibration_pictures`, `pictures`, `float_correct`, `finished`, `distinct_outputs`, `seconds` | what was judged; what the float network gets right; how many rows there are, and how many differ in their bytes |
| rows | `row`, `observer`, `granularity`, `range`, `scales`, `correct`, `top1`, `sqnr_db` (against the float network), `same_as`: the first row with the same bytes |
| rows of `--modes` | `mode`, `weights`, `activations` in place of `observer` to `scales` |
)";

}  // namespace

const CommandRow kSchemesCommand = {
    "schemes", "compare ways to quantize a float network: accuracy and noise of each",
    command_of<SchemesOptions, declare_schemes, schemes_command>, kSchemesText};

}  // namespace qsim::cli
