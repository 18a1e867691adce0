
#include "cli/session/eval/eval_report.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::layout;
using report::seconds_text;
using report::TextTable;
using report::with_thousands;
namespace {

// Tables of more classes are in the JSON alone.
constexpr std::int64_t kMostPrintedClasses = 20;

// Two places: one picture of 10,000 is seen.
std::string share_of(double share) { return number_text(100 * share, "%.2f%%"); }

std::string p_text(double p) { return p == 0 ? "<1e-300" : number_text(p, "%.3g"); }

std::string run_name(const EvalReport& report, std::size_t i) {
  const EngineRun& run = report.runs[i];
  const std::string engine = run.engine + (run.backend.empty() ? "" : " " + run.backend);
  return report.networks->size() == 1 ? engine
                                      : (*report.networks)[run.network].name + " " + engine;
}

report::TableColumn number(std::string title) { return {std::move(title), true, false}; }

std::string rate_of(const EngineRun& run) {
  const auto here = static_cast<double>(run.done() - run.kept_before);
  if (here == 0) return "";
  return with_thousands(static_cast<std::int64_t>(here / std::max(run.seconds, 1e-9)));
}

std::string runs_table(const EvalReport& report) {
  TextTable table{{{"engine"},
                   number("pictures"),
                   number("right"),
                   number("top-1"),
                   number("std. error"),
                   number("top-5"),
                   number("time"),
                   number("pictures/s")},
                  {}};
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const EngineRun& run = report.runs[i];
    const SeriesScore& score = report.scores[i];
    std::vector<std::string> row = {
        run_name(report, i), with_thousands(run.done()), "", "", "", "", seconds_text(run.seconds),
        rate_of(run)};
    if (score.pictures > 0) {
      row[2] = with_thousands(score.top1);
      row[3] = share_of(score.top1_share());
      row[4] = share_of(score.standard_error());
      if (std::ssize(score.classes) > std::ssize(Prediction{}.best)) {
        row[5] = share_of(score.top5_share());
      }
    }
    table.rows.push_back(std::move(row));
  }
  return layout(table);
}

// Where the time of the engines on a GPU went.
std::string stages_text(const EvalReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const std::optional<StageSeconds>& stages = report.runs[i].stages;
    if (!stages || report.runs[i].backend != "cuda") continue;
    text += (text.empty() ? "\n" : "") + run_name(report, i) + ": reading " +
            seconds_text(stages->reading) + ", computing " + seconds_text(stages->computing) +
            ", judging " + seconds_text(stages->judging) + "\n";
  }
  return text;
}

std::string pairs_table(const EvalReport& report) {
  if (report.pairs.empty()) return "";
  TextTable table{{{"first"},
                   {"second"},
                   number("same top-1"),
                   number("same bytes"),
                   number("other outputs"),
                   number("distance"),
                   number("first only"),
                   number("second only"),
                   number("p")},
                  {}};
  for (const EvalPair& pair : report.pairs) {
    const PairScore& score = pair.score;
    const double pictures = std::max<double>(1, static_cast<double>(score.pictures));
    std::vector<std::string> row = {run_name(report, pair.first),
                                    run_name(report, pair.second),
                                    share_of(static_cast<double>(score.same_top1) / pictures),
                                    "",
                                    with_thousands(score.distance.differing),
                                    number_text(score.distance.relative, "%.3g"),
                                    "",
                                    "",
                                    ""};
    if (score.same_bytes) row[3] = share_of(static_cast<double>(*score.same_bytes) / pictures);
    if (score.has_labels) {
      row[6] = with_thousands(score.first_only);
      row[7] = with_thousands(score.second_only);
      row[8] = p_text(score.p);
    }
    table.rows.push_back(std::move(row));
  }
  return "\nagreement, outputs that differ and their relative distance; right by one alone, and "
         "McNemar's exact p (two-sided)\n" +
         layout(table);
}

std::string class_name(const EvalNetwork& network, std::size_t i) {
  const std::vector<std::string>& names = network.pictures.class_names();
  return i < names.size() ? names[i] : "class " + std::to_string(i);
}

bool prints_classes(const EvalReport& report, std::size_t run) {
  return report.scores[run].pictures > 0 &&
         std::ssize(report.scores[run].classes) <= kMostPrintedClasses;
}

std::string classes_table(const EvalReport& report) {
  if (report.runs.empty() || !prints_classes(report, 0)) return "";
  const EvalNetwork& network = report.networks->front();
  TextTable table{{number("class"), {"name"}, number("pictures")}, {}};
  for (std::size_t c = 0; c < report.scores[0].classes.size(); ++c) {
    table.rows.push_back({std::to_string(c), class_name(network, c),
                          with_thousands(report.scores[0].classes[c].pictures)});
  }
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    if (report.scores[i].pictures == 0) continue;
    table.columns.push_back(number(run_name(report, i)));
    for (std::size_t c = 0; c < table.rows.size(); ++c) {
      table.rows[c].push_back(share_of(report.scores[i].classes[c].share()));
    }
  }
  return "\nright, by class\n" + layout(table);
}

std::string confusion_table(const EvalReport& report) {
  if (report.runs.empty() || !prints_classes(report, 0)) return "";
  const SeriesScore& score = report.scores[0];
  const std::size_t classes = score.classes.size();
  TextTable table{{number("label"), {"name"}}, {}};
  for (std::size_t c = 0; c < classes; ++c) table.columns.push_back(number(std::to_string(c)));
  for (std::size_t label = 0; label < classes; ++label) {
    std::vector<std::string> row = {std::to_string(label),
                                    class_name(report.networks->front(), label)};
    for (std::size_t c = 0; c < classes; ++c) {
      const std::int64_t count = score.confusion[label * classes + c];
      row.push_back(count == 0 ? "." : with_thousands(count));
    }
    table.rows.push_back(std::move(row));
  }
  return "\nconfusion of " + run_name(report, 0) + ": rows are labels, columns predictions\n" +
         layout(table);
}

std::string data_text(const EvalReport& report) {
  std::string text;
  for (const std::string& path : report.data) text += (text.empty() ? "" : ", ") + echoed(path);
  return text;
}

}  // namespace

std::string eval_text(const EvalReport& report) {
  std::string text;
  for (const EvalNetwork& network : *report.networks) {
    text += (text.empty() ? "" : " against ") + echoed(network.name);
  }
  const EvalNetwork& first = report.networks->front();
  text += " on " + data_text(report) + ": " + with_thousands(first.pictures.count()) +
          " pictures, " + with_thousands(first.classes) + " classes\n\n";
  if (!report.is_complete()) text += "interrupted: these are the pictures that are finished\n\n";
  return text + runs_table(report) + stages_text(report) + pairs_table(report) +
         classes_table(report) + confusion_table(report);
}

}  // namespace qsim::cli
