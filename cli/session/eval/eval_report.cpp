#include "cli/session/eval/eval_report.h"

#include <algorithm>
#include <limits>

#include "cli/build_info.h"

namespace qsim::cli {
namespace {

std::vector<int> labels_of(const EvalNetwork& network, const EngineRun& run) {
  std::vector<int> labels;
  if (!network.pictures.has_labels()) return labels;
  for (std::int64_t i = 0; i < run.done(); ++i) {
    labels.push_back(network.pictures.label(i));
  }
  return labels;
}

bool is_first_of_its_network(const std::vector<EngineRun>& runs, std::size_t i) {
  return i == 0 || runs[i - 1].network != runs[i].network;
}

bool is_alone_of_its_network(const std::vector<EngineRun>& runs, std::size_t i) {
  return is_first_of_its_network(runs, i) &&
         (i + 1 == runs.size() || runs[i + 1].network != runs[i].network);
}

// All of one network; of two networks the same engine, the first ones, and a network's only engine
// with each of the other's.
bool are_compared(const std::vector<EngineRun>& runs, std::size_t a, std::size_t b) {
  if (runs[a].network == runs[b].network || runs[a].engine == runs[b].engine) return true;
  if (is_alone_of_its_network(runs, a) || is_alone_of_its_network(runs, b)) return true;
  return is_first_of_its_network(runs, a) && is_first_of_its_network(runs, b);
}

Series series_of(const EngineRun& run, const std::vector<int>& labels) {
  return {run.table.predictions, run.table.outputs, labels};
}

EvalPair pair_of(const EvalReport& report, const std::vector<std::vector<int>>& labels,
                 std::size_t a, std::size_t b) {
  const EngineRun& first = report.runs[a];
  const EngineRun& second = report.runs[b];
  const bool compares_bytes =
      first.network == second.network && first.is_integer && second.is_integer;
  return {a, b,
          pair_score(series_of(first, labels[a]), series_of(second, labels[b]), compares_bytes)};
}

}  // namespace

bool EvalReport::is_complete() const {
  return std::all_of(runs.begin(), runs.end(), [this](const EngineRun& run) {
    return run.done() == (*networks)[run.network].pictures.count();
  });
}

EvalReport make_eval_report(const EvalOptions& options, const std::vector<std::string>& argv,
                            const std::vector<EvalNetwork>& networks, std::vector<EngineRun> runs) {
  EvalReport report;
  report.argv = argv;
  report.data = options.data;
  report.seed = options.seed;
  report.is_sample = options.pictures.has_value();
  report.networks = &networks;
  report.runs = std::move(runs);
  std::vector<std::vector<int>> labels;
  for (const EngineRun& run : report.runs) {
    const EvalNetwork& network = networks[run.network];
    labels.push_back(labels_of(network, run));
    report.scores.push_back(network.pictures.has_labels()
                                ? score_of(run.table.predictions, labels.back(), network.classes)
                                : SeriesScore{});
    if (eval_engine_row(run.engine).runs_program) report.config = options.config;
  }
  for (std::size_t a = 0; a < report.runs.size(); ++a) {
    for (std::size_t b = a + 1; b < report.runs.size(); ++b) {
      if (are_compared(report.runs, a, b)) report.pairs.push_back(pair_of(report, labels, a, b));
    }
  }
  return report;
}

Tensor eval_predictions(const EvalReport& report) {
  const std::int64_t pictures = report.networks->front().pictures.count();
  Tensor tensor(DType::kInt32, {std::ssize(report.runs), pictures});
  const std::span<std::int32_t> values = tensor.as<std::int32_t>();
  std::fill(values.begin(), values.end(), -1);
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const std::vector<Prediction>& predictions = report.runs[i].table.predictions;
    std::transform(predictions.begin(), predictions.end(),
                   values.begin() + static_cast<std::ptrdiff_t>(i) * pictures,
                   [](const Prediction& prediction) { return prediction.top1(); });
  }
  return tensor;
}

Tensor eval_outputs(const EvalReport& report) {
  const EvalNetwork& first = report.networks->front();
  Tensor tensor(DType::kFloat32, {std::ssize(report.runs), first.pictures.count(), first.classes});
  const std::span<float> values = tensor.as<float>();
  std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
  const std::ptrdiff_t each =
      std::ssize(values) / std::max<std::ptrdiff_t>(1, std::ssize(report.runs));
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const std::vector<float>& outputs = report.runs[i].table.outputs;
    std::copy(outputs.begin(), outputs.end(),
              values.begin() + static_cast<std::ptrdiff_t>(i) * each);
  }
  return tensor;
}

}  // namespace qsim::cli
