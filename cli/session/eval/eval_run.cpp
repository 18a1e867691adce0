#include "cli/session/eval/eval_run.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cli/session/engines/threads_note.h"
#include "cli/session/eval/eval_engines.h"
#include "cli/session/eval/kept_predictions.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/terminal/output_folders.h"
#include "core/base/words.h"
#include "formats/settings/arch_config_file.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::with_thousands;
namespace {

// A stretch of pictures between two looks at the interrupt takes at most about so long.
constexpr double kStretchSeconds = 0.25;

class EvalRun {
 public:
  EvalRun(Context& context, const EvalOptions& options, std::vector<EvalNetwork>& networks)
      : context_(context),
        options_(options),
        networks_(networks),
        team_(static_cast<int>(options_.jobs.value_or(0))),
        engines_(context, options, team_),
        data_hashes_(networks.size()) {
    note_fewer_threads(context_, options_.jobs.value_or(0), team_.threads());
    if (options_.out.empty()) return;
    const std::filesystem::path path = std::filesystem::path(options_.out) / kKeptPredictionsFile;
    kept_.emplace(path);
    context_.count_as_kept(path);
    executable_ = file_hash("/proc/self/exe");
  }

  std::vector<EngineRun> run() {
    std::vector<EngineRun> runs;
    for (EvalNetwork& network : networks_) engines_.require_room(network);
    for (std::size_t i = 0; i < networks_.size(); ++i) {
      for (const std::string& engine : networks_[i].engines) {
        runs.push_back({engine, i, "", true, {}, 0, 0});
        take_kept(runs.back());
      }
    }
    note_kept(runs);
    context_.stop_softly();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EngineRun& run = runs[i];
      const std::unique_ptr<EvalEngine> engine = engines_.make(run.engine, networks_[run.network]);
      run.backend = engine->backend();
      run.is_integer = engine->is_integer();
      complete(run, *engine, kept_ ? keys_[i] : "");
    }
    context_.stop_at_once();
    return runs;
  }

 private:
  std::int64_t pictures_of(const EngineRun& run) const {
    return networks_[run.network].pictures.count();
  }

  // All that the predictions depend on.
  std::string key_of(const EngineRun& run) {
    const EvalNetwork& network = networks_[run.network];
    const EvalEngineRow& row = eval_engine_row(run.engine);
    std::string text;
    for (const std::string& part :
         {executable_, run.engine, row.is_of_float ? network.real_hash : network.hash,
          data_hash(run.network), options_.rounding, std::to_string(options_.pictures.value_or(0)),
          std::to_string(options_.seed), network.hosted ? options_.as : std::string(),
          row.runs_program || network.hosted ? formats::arch_config_yaml(network.config)
                                             : std::string()}) {
      text += std::to_string(part.size()) + ":" + part + "\n";
    }
    return text_hash(text);
  }

  // The hash covers the sidecar too, which says what becomes of the pictures.
  const std::string& data_hash(std::size_t network) {
    std::string& hash = data_hashes_[network];
    if (!hash.empty()) return hash;
    std::string text;
    for (const std::filesystem::path& file : networks_[network].pictures.files()) {
      text += file.filename().string() + '\0' + file_hash(file);
    }
    const std::string& sidecar = networks_[network].sidecar;
    if (!sidecar.empty()) text += file_hash(sidecar);
    return hash = text_hash(text);
  }

  void take_kept(EngineRun& run) {
    if (!kept_) return;
    keys_.push_back(key_of(run));
    run.table = kept_->find(keys_.back(), networks_[run.network].classes);
    run.table.cut(static_cast<std::size_t>(pictures_of(run)));
    run.kept_before = run.done();
  }

  void note_kept(const std::vector<EngineRun>& runs) {
    std::int64_t kept = 0;
    std::int64_t all = 0;
    for (const EngineRun& run : runs) {
      kept += run.kept_before;
      all += pictures_of(run);
    }
    if (kept == 0) return;
    context_.note(options_.out + "/" + kKeptPredictionsFile + " has " + with_thousands(kept) +
                  " of " + with_thousands(all) + " predictions");
  }

  void complete(EngineRun& run, EvalEngine& engine, const std::string& key) {
    const std::int64_t pictures = pictures_of(run);
    std::int64_t stretch = engine.pictures_at_once();
    while (run.done() < pictures && !context_.is_stopping()) {
      const std::int64_t done = run.done();
      PredictionTable table(std::min(stretch, pictures - done), networks_[run.network].classes);
      double seconds = 0;
      timed(seconds, [&] { engine.predict(done, table.rows()); });
      run.seconds += seconds;
      run.table.append(table);
      if (kept_) kept_->keep(key, done, table);
      context_.progress(progress_line(run));
      if (seconds < kStretchSeconds / 2) stretch *= 2;
    }
    if (run.done() > run.kept_before) run.stages = engine.stages();
  }

  std::string progress_line(const EngineRun& run) const {
    const EvalNetwork& network = networks_[run.network];
    const std::int64_t done = run.done();
    const std::int64_t left = network.pictures.count() - done;
    std::string line = (networks_.size() > 1 ? network.name + ", " : "") + run.engine + ": " +
                       with_thousands(done) + " of " + with_thousands(network.pictures.count()) +
                       " pictures";
    if (network.pictures.has_labels()) line += ", " + report::percent(right_share(run)) + " right";
    if (left == 0) return line;
    const auto here = static_cast<double>(done - run.kept_before);
    return line +
           number_text(run.seconds / here * static_cast<double>(left), ", about %.0f s left");
  }

  double right_share(const EngineRun& run) const {
    const PictureSet& pictures = networks_[run.network].pictures;
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < run.done(); ++i) {
      right +=
          run.table.predictions[static_cast<std::size_t>(i)].top1() == pictures.label(i) ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(run.done());
  }

  Context& context_;
  const EvalOptions& options_;
  std::vector<EvalNetwork>& networks_;
  golden::ThreadTeam team_;
  EvalEngines engines_;
  std::optional<KeptPredictions> kept_;
  std::string executable_;
  std::vector<std::string> keys_;         // one a run
  std::vector<std::string> data_hashes_;  // one a network; "" until it is wanted
};

}  // namespace

std::vector<EngineRun> run_engines(Context& context, const EvalOptions& options,
                                   std::vector<EvalNetwork>& networks) {
  return EvalRun(context, options, networks).run();
}

}  // namespace qsim::cli
