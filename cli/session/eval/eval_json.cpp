#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/session/eval/eval_report.h"
#include "report/json_text.h"

namespace qsim::cli {
namespace {

using Json = nlohmann::ordered_json;

Json classes_json(const SeriesScore& score, const std::vector<std::string>& names) {
  Json list = Json::array();
  for (std::size_t i = 0; i < score.classes.size(); ++i) {
    Json one = {{"class", i}};
    if (i < names.size()) one["name"] = names[i];
    one["pictures"] = score.classes[i].pictures;
    one["right"] = score.classes[i].right;
    one["top1"] = score.classes[i].share();
    list.push_back(std::move(one));
  }
  return list;
}

Json confusion_json(const SeriesScore& score) {
  Json rows = Json::array();
  const auto classes = static_cast<std::ptrdiff_t>(score.classes.size());
  for (auto row = score.confusion.begin(); row != score.confusion.end(); row += classes) {
    rows.push_back(std::vector<std::int64_t>(row, row + classes));
  }
  return rows;
}

void add_score(Json& json, const SeriesScore& score, const EvalNetwork& network) {
  json["top1_correct"] = score.top1;
  json["top1"] = score.top1_share();
  json["top1_standard_error"] = score.standard_error();
  if (score.classes.size() > kBestClasses) {
    json["top5_correct"] = score.top5;
    json["top5"] = score.top5_share();
  }
  json["per_class"] = classes_json(score, network.pictures.class_names());
  if (!score.confusion.empty()) json["confusion"] = confusion_json(score);
}

Json run_json(const EvalReport& report, std::size_t i) {
  const EngineRun& run = report.runs[i];
  const EvalNetwork& network = (*report.networks)[run.network];
  const std::int64_t done = run.done();
  Json json = {{"engine", run.engine}, {"model", network.name}};
  if (!run.backend.empty()) json["backend"] = run.backend;
  json["pictures"] = done;
  if (report.scores[i].pictures > 0) add_score(json, report.scores[i], network);
  json["kept_before"] = run.kept_before;
  json["seconds"] = run.seconds;
  if (run.stages) {
    json["stages"] = {{"reading", run.stages->reading},
                      {"computing", run.stages->computing},
                      {"judging", run.stages->judging}};
  }
  if (done > run.kept_before) {
    json["pictures_per_second"] =
        static_cast<double>(done - run.kept_before) / std::max(run.seconds, 1e-9);
  }
  return json;
}

Json named_run(const EvalReport& report, std::size_t i) {
  return {{"engine", report.runs[i].engine},
          {"model", (*report.networks)[report.runs[i].network].name}};
}

Json pair_json(const EvalReport& report, const EvalPair& pair) {
  const PairScore& score = pair.score;
  Json json = {{"first", named_run(report, pair.first)},
               {"second", named_run(report, pair.second)},
               {"pictures", score.pictures},
               {"same_top1", score.same_top1}};
  if (score.same_bytes) json["same_bytes"] = *score.same_bytes;
  const OutputDistance& distance = score.distance;
  json["outputs"] = distance.outputs;
  json["differing_outputs"] = distance.differing;
  json["largest_difference"] = distance.largest;
  json["mean_difference"] = distance.mean;
  json["relative_distance"] = distance.relative;
  if (!score.has_labels) return json;
  json["both_right"] = score.both_right;
  json["first_only_right"] = score.first_only;
  json["second_only_right"] = score.second_only;
  json["neither_right"] = score.neither_right;
  json["mcnemar_p"] = score.p;
  return json;
}

Json data_json(const EvalReport& report) {
  const PictureSet& pictures = report.networks->front().pictures;
  Json json = {{"paths", report.data},
               {"kind", pictures.kind()},
               {"pictures", pictures.count()},
               {"has_labels", pictures.has_labels()}};
  if (report.is_sample) json["sample_seed"] = report.seed;
  return json;
}

}  // namespace

std::string eval_json(const EvalReport& report) {
  Json json = {{"schema", "qsim.eval/1"},
               {"version", build_version()},
               {"commit", build_commit()},
               {"argv", report.argv}};
  Json models = Json::array();
  for (const EvalNetwork& network : *report.networks) {
    models.push_back({{"name", network.name}, {"hash", network.hash}});
    if (network.real_name.empty()) continue;
    models.back()["float"] = {{"name", network.real_name}, {"hash", network.real_hash}};
  }
  json["models"] = std::move(models);
  if (!report.config.empty()) json["config"] = report.config;
  json["data"] = data_json(report);
  json["classes"] = report.networks->front().classes;
  json["complete"] = report.is_complete();
  json["engines"] = Json::array();
  for (std::size_t i = 0; i < report.runs.size(); ++i)
    json["engines"].push_back(run_json(report, i));
  json["pairs"] = Json::array();
  for (const EvalPair& pair : report.pairs) json["pairs"].push_back(pair_json(report, pair));
  return report::json_text(json);
}

}  // namespace qsim::cli
