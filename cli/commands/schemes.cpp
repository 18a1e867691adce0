// `qsim schemes`: every scheme of the catalogue on one float network: ranges chosen on calibration
// pictures, accuracy judged on others.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "cli/build_info.h"
#include "cli/commands/commands.h"
#include "cli/session/engines/threads_note.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/session/schemes/scheme_results.h"
#include "compiler/importer/real_importer.h"
#include "files/growing_file.h"
#include "quantize/calibration.h"
#include "quantize/mode_catalogue.h"
#include "quantize/scheme_catalogue.h"
#include "report/sheet.h"
#include "report/text_table.h"

namespace qsim {
namespace {

constexpr const char* kResumeHeader = "qsim.schemes/1";

// The network and both sets of pictures.
struct Question {
  std::string model_hash;  // of its file, its external data and its sidecar
  RealGraph graph;
  PictureSet calibration;
  PictureSet data;
};

PictureSet pictures_of(Context& context, const std::vector<std::filesystem::path>& paths,
                       const RealGraph& graph, const std::filesystem::path& model) {
  return PictureSet(paths, picture_form(graph, model),
                    [&context](const std::string& line) { context.note(line); });
}

Question load_question(Context& context) {
  const Options& options = context.options();
  if (options.schemes.judges && !options.schemes.modes) {
    throw Error(ExitCode::kUsage, "--judges needs --modes; leave it out, or give both");
  }
  const std::filesystem::path path = options.model;
  const auto held = std::make_shared<const HeldFile>(path);
  RealGraph graph = import_real_onnx(held);
  PictureSet calibration = pictures_of(context, {options.schemes.calibrate}, graph, path);
  calibration.sample(std::min(options.schemes.calibration_pictures, calibration.count()),
                     options.seed);
  const std::vector<std::filesystem::path> data(options.schemes.data.begin(),
                                                options.schemes.data.end());
  PictureSet judges = pictures_of(context, data, graph, path);
  if (!judges.has_labels()) {
    throw_bad_input(data.front().string() +
                    ": the pictures have no labels; --data takes CIFAR-10 batches and folders of "
                    "class folders");
  }
  if (options.schemes.modes) {
    judges.sample(std::min(options.schemes.judges.value_or(kModeJudges), judges.count()),
                  options.seed);
  }
  const std::optional<Sidecar> sidecar = picture_form(graph, path).sidecar;
  return {model_hash(held, sidecar ? sidecar->file : ""), std::move(graph), std::move(calibration),
          std::move(judges)};
}

// Of all that a row depends on, so that --resume takes no row of another question.
std::string question_key(const Question& question, const Options& options) {
  std::string all;
  const auto add = [&all](std::string_view text) {
    all += text;
    all += "\n";
  };
  add(build_commit());
  add(question.model_hash);
  for (const auto& file : question.calibration.files()) add(file_hash(file));
  for (const auto& file : question.data.files()) add(file_hash(file));
  add(std::to_string(question.calibration.count()) + " " + std::to_string(options.seed));
  if (options.schemes.modes) add(std::to_string(question.data.count()) + " judges");
  return text_hash(all);
}

using Statistics = std::vector<quantize::TensorStatistics>;

// A row of the table: its words, and what its network does.
struct SchemeRow {
  std::vector<std::string> words;
  std::function<SchemeResult(const Statistics&, const Judges&, golden::ThreadTeam&)> judge;
};

struct SchemeRows {
  std::vector<std::string> columns;  // of the words
  std::vector<SchemeRow> rows;
};

SchemeRows static_rows(const RealGraph& graph) {
  SchemeRows result{{"observer", "granularity", "range", "scales"}, {}};
  for (const quantize::CatalogueRow& row : quantize::scheme_catalogue()) {
    const auto run = [&graph, scheme = row.scheme](const Statistics& statistics,
                                                   const Judges& judges, golden::ThreadTeam& team) {
      const auto tensors = quantize::quantize_tensors(graph, statistics, scheme);
      return judge(quantize::quantize_network(graph, tensors, scheme), judges, team);
    };
    result.rows.push_back({{row.observer, row.granularity, row.range, row.scales}, run});
  }
  return result;
}

SchemeRows mode_rows(const RealGraph& graph) {
  SchemeRows result{{"mode", "weights", "activations"}, {}};
  for (const quantize::ModeRow& row : quantize::mode_catalogue()) {
    const auto run = [&graph, make = row.make](const Statistics& statistics, const Judges& judges,
                                               golden::ThreadTeam& team) {
      const quantize::ModeNetwork network = make(graph, statistics);
      return judge(network.graph, network.options, judges, team);
    };
    result.rows.push_back({{row.mode, row.weights, row.activations}, run});
  }
  return result;
}

std::string name_of(const SchemeRow& row) {
  std::string name;
  for (const std::string& word : row.words) {
    name += (name.empty() ? "" : ",") + word;
  }
  // A row of --resume has no spaces in its name.
  std::ranges::replace(name, ' ', '_');
  return name;
}

// The rows that an earlier run has finished, and the file that gets the new ones.
class KeptRows {
 public:
  KeptRows(const std::string& file, std::string question) : question_(std::move(question)) {
    if (file.empty()) return;
    file_ = std::make_unique<GrowingFile>(file, kResumeHeader);
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
  std::unique_ptr<GrowingFile> file_;
  std::map<std::string, SchemeResult> results_;
};

std::string progress_line(std::size_t done, std::size_t all, double seconds) {
  std::string line = std::to_string(done) + " of " + std::to_string(all) + " schemes";
  if (done > 0) {
    const double rest = seconds / static_cast<double>(done) * static_cast<double>(all - done);
    line += ", " + seconds_text(rest) + " to go";
  }
  return line;
}

std::vector<SchemeResult> run_rows(Context& context, const Question& question,
                                   const std::vector<SchemeRow>& rows, const Judges& judges,
                                   golden::ThreadTeam& team) {
  KeptRows kept(context.options().resume, question_key(question, context.options()));
  const auto read = [&](std::int64_t first, std::int64_t pictures) {
    return question.calibration.read(first, pictures, team);
  };
  const auto statistics =
      quantize::calibrate(question.graph, {question.calibration.count(), read}, team);
  std::vector<SchemeResult> results;
  double seconds = 0;
  std::size_t measured = 0;
  for (const SchemeRow& row : rows) {
    const std::string name = name_of(row);
    if (const auto found = kept.find(name)) {
      results.push_back(*found);
      continue;
    }
    double own_seconds = 0;
    results.push_back(timed(own_seconds, [&] { return row.judge(statistics, judges, team); }));
    results.back().seconds = own_seconds;
    kept.keep(name, results.back());
    seconds += results.back().seconds;
    ++measured;
    context.progress(progress_line(measured, rows.size() - (results.size() - measured), seconds));
  }
  return results;
}

SheetTable table_of(const SchemeRows& rows, const std::vector<SchemeResult>& results,
                    std::int64_t pictures) {
  SheetTable table{"schemes", {"row"}, {}};
  for (const std::string& column : rows.columns) table.columns.push_back(column);
  for (const char* column : {"correct", "top1", "sqnr_db", "same_as"}) {
    table.columns.emplace_back(column);
  }
  std::map<std::string, std::int64_t> first_with;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i) + 1;
    const auto [place, is_new] = first_with.emplace(results[i].outputs, number);
    const double top1 = static_cast<double>(results[i].correct) / static_cast<double>(pictures);
    char sqnr[32];
    std::snprintf(sqnr, sizeof sqnr, "%.2f", results[i].sqnr_db);
    std::vector<Cell> cells = {number};
    for (const std::string& word : rows.rows[i].words) cells.emplace_back(word);
    cells.insert(cells.end(), {results[i].correct, top1, std::string(sqnr),
                               is_new ? std::string() : std::to_string(place->second)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string csv_of(const SheetTable& table) {
  std::string csv;
  for (const std::string& column : table.columns) csv += (csv.empty() ? "" : ",") + column;
  csv += "\n";
  for (const auto& row : table.rows) {
    std::string line;
    for (const Cell& cell : row) {
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

std::int64_t distinct(const std::vector<SchemeResult>& results) {
  std::set<std::string> outputs;
  for (const SchemeResult& result : results) outputs.insert(result.outputs);
  return static_cast<std::int64_t>(outputs.size());
}

}  // namespace

ExitCode schemes_command(Context& context) {
  const Question question = load_question(context);
  golden::ThreadTeam team(0);
  note_fewer_threads(context, 0, team.threads());
  const Judges judges = make_judges(question.graph, question.data, team);
  const SchemeRows rows =
      context.options().schemes.modes ? mode_rows(question.graph) : static_rows(question.graph);
  double seconds = 0;
  const std::vector<SchemeResult> results =
      timed(seconds, [&] { return run_rows(context, question, rows.rows, judges, team); });
  Sheet sheet;
  sheet.schema = "qsim.schemes/1";
  sheet.add("model", context.options().model);
  sheet.add("calibration_pictures", question.calibration.count());
  sheet.add("pictures", question.data.count());
  sheet.add("float_correct", correct_of(judges));
  sheet.add("distinct_outputs", distinct(results));
  sheet.add("seconds", seconds_text(seconds));
  sheet.tables.push_back(table_of(rows, results, question.data.count()));
  context.print_csv(csv_of(sheet.tables.front()));
  context.print(sheet);
  return ExitCode::kOk;
}

}  // namespace qsim
