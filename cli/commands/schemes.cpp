// `qsim schemes`: every scheme of the catalogue on one float network: ranges chosen on calibration
// pictures, accuracy judged on others.
#include <map>
#include <set>

#include "cli/build_info.h"
#include "cli/commands/commands.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/session/schemes/scheme_results.h"
#include "compiler/importer/real_importer.h"
#include "files/growing_file.h"
#include "quantize/calibration.h"
#include "quantize/scheme_catalogue.h"
#include "report/sheet.h"
#include "report/text_table.h"

namespace qsim {
namespace {

constexpr const char* kResumeHeader = "qsim.schemes/1";

// The network and both sets of pictures.
struct Question {
  std::filesystem::path path;
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
  const std::filesystem::path path = options.model;
  RealGraph graph = import_real_onnx(std::make_shared<HeldFile>(path));
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
  return {path, std::move(graph), std::move(calibration), std::move(judges)};
}

// Of all that a row depends on, so that --resume takes no row of another question.
std::string question_key(const Question& question, const Options& options) {
  std::string all;
  const auto add = [&all](std::string_view text) {
    all += text;
    all += "\n";
  };
  add(build_commit());
  add(file_hash(question.path));
  for (const auto& file : question.calibration.files()) add(file_hash(file));
  for (const auto& file : question.data.files()) add(file_hash(file));
  add(std::to_string(question.calibration.count()) + " " + std::to_string(options.seed));
  return text_hash(all);
}

std::string name_of(const quantize::CatalogueRow& row) {
  return row.observer + "," + row.granularity + "," + row.range + "," + row.scales;
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
  std::optional<SchemeResult> find(const quantize::CatalogueRow& row) const {
    const auto found = results_.find(question_ + ":" + name_of(row));
    return found == results_.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(const quantize::CatalogueRow& row, const SchemeResult& result) {
    if (file_) file_->append(result_line(question_ + ":" + name_of(row), result));
  }

 private:
  std::string question_;
  std::unique_ptr<GrowingFile> file_;
  std::map<std::string, SchemeResult> results_;
};

SchemeResult run_row(const Question& question, const quantize::CatalogueRow& row,
                     const std::vector<quantize::TensorStatistics>& statistics,
                     const Judges& judges, golden::ThreadTeam& team) {
  SchemeResult result;
  double seconds = 0;
  timed(seconds, [&] {
    const auto tensors = quantize::quantize_tensors(question.graph, statistics, row.scheme);
    result = judge(quantize::quantize_network(question.graph, tensors, row.scheme), judges, team);
  });
  result.seconds = seconds;
  return result;
}

std::string progress_line(std::size_t done, std::size_t all, double seconds) {
  std::string line = std::to_string(done) + " of " + std::to_string(all) + " schemes";
  if (done > 0) {
    const double rest = seconds / static_cast<double>(done) * static_cast<double>(all - done);
    line += ", " + seconds_text(rest) + " to go";
  }
  return line;
}

std::vector<SchemeResult> run_rows(Context& context, const Question& question,
                                   const std::vector<quantize::CatalogueRow>& rows,
                                   const Judges& judges, golden::ThreadTeam& team) {
  KeptRows kept(context.options().resume, question_key(question, context.options()));
  const auto read = [&](std::int64_t first, std::int64_t pictures) {
    return question.calibration.read(first, pictures, team);
  };
  const auto statistics =
      quantize::calibrate(question.graph, {question.calibration.count(), read}, team);
  std::vector<SchemeResult> results;
  double seconds = 0;
  std::size_t measured = 0;
  for (const quantize::CatalogueRow& row : rows) {
    if (const auto found = kept.find(row)) {
      results.push_back(*found);
      continue;
    }
    results.push_back(run_row(question, row, statistics, judges, team));
    kept.keep(row, results.back());
    seconds += results.back().seconds;
    ++measured;
    context.progress(progress_line(measured, rows.size() - (results.size() - measured), seconds));
  }
  return results;
}

SheetTable table_of(const std::vector<quantize::CatalogueRow>& rows,
                    const std::vector<SchemeResult>& results, std::int64_t pictures) {
  SheetTable table{"schemes",
                   {"row", "observer", "granularity", "range", "scales", "correct", "top1",
                    "sqnr_db", "same_as"},
                   {}};
  std::map<std::string, std::int64_t> first_with;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i) + 1;
    const auto [place, is_new] = first_with.emplace(results[i].outputs, number);
    const double top1 = static_cast<double>(results[i].correct) / static_cast<double>(pictures);
    char sqnr[32];
    std::snprintf(sqnr, sizeof sqnr, "%.2f", results[i].sqnr_db);
    table.rows.push_back({number, rows[i].observer, rows[i].granularity, rows[i].range,
                          rows[i].scales, results[i].correct, top1, std::string(sqnr),
                          is_new ? std::string() : std::to_string(place->second)});
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
  const Judges judges = make_judges(question.graph, question.data, team);
  const std::vector<quantize::CatalogueRow> rows = quantize::scheme_catalogue();
  double seconds = 0;
  const std::vector<SchemeResult> results =
      timed(seconds, [&] { return run_rows(context, question, rows, judges, team); });
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
