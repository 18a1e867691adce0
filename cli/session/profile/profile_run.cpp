#include "cli/session/profile/profile_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "cli/session/engines/threads_note.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/inputs/remedies.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/profile/kept_points.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/machine/area.h"
#include "formats/files/memory.h"
#include "formats/settings/arch_config_file.h"
#include "report/text_table.h"

namespace qsim::cli {

using compiler::CompileOptions;
using report::NetworkResult;
using report::with_thousands;
namespace {

using Clock = std::chrono::steady_clock;

// Processors that this process may use.
std::int64_t default_jobs() {
  return std::max<std::int64_t>(1, std::thread::hardware_concurrency());
}

// "" for none; no two numbers have one text.
std::string exact_text(std::optional<double> number) {
  if (!number) return "";
  return number_text(*number, "%a");
}

// One line, whatever number of layers cannot run.
std::string reason_text(const Error& error) {
  if (error.details().empty()) return error.what();
  const auto lines = 1 + std::ranges::count(error.details(), '\n');
  return std::string(error.what()) + " (and " + std::to_string(lines) +
         " more; `qsim inspect` lists them)";
}

// A file that fits the array of no point is an error of the command, before the work.
void require_mappings_for_a_point(const ProfileOptions& options,
                                  const std::vector<ProfilePoint>& points) {
  const auto fits = [&](const ProfilePoint& point) {
    try {
      mappings_of_file(options, point.arch);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  if (std::any_of(points.begin(), points.end(), fits)) return;
  mappings_of_file(options, points.front().arch);  // throws
}

class ProfileRun {
 public:
  ProfileRun(Context& context, const ProfileOptions& options,
             const std::vector<ModelShapes>& models, const std::vector<ProfilePoint>& points)
      : context_(context),
        options_(options),
        models_(models),
        points_(points),
        energy_(load_energy_table(options_)),
        asked_(search_options(options_)),
        has_auto_(std::any_of(points.begin(), points.end(),
                              [](const auto& point) { return point.dataflow == kAutoDataflow; })),
        keeps_mappings_(!options_.report.empty() &&
                        (options_.mapping_search == "full" || options_.mapping_budget)),
        results_(points.size()),
        mappings_(keeps_mappings_ ? points.size() : 0) {
    if (options_.resume.empty()) return;
    kept_.emplace(options_.resume);
    context_.count_as_kept(options_.resume);
    common_parts_ = {file_hash("/proc/self/exe"),
                     std::to_string(options_.batch.value_or(0)),
                     energy_ ? file_hash(find_energy_table(options_.energy)) : "",
                     options_.rounding + (options_.snap ? ", snapped" : ""),
                     options_.objective,
                     exact_text(options_.slack),
                     options_.mapping_search,
                     exact_text(options_.mapping_budget),
                     options_.mapping.empty() ? "" : file_hash(options_.mapping),
                     joined(options_.shapes)};
  }

  PointRuns run() {
    take_kept();
    const auto jobs = static_cast<std::size_t>(options_.jobs.value_or(default_jobs()));
    std::vector<std::jthread> threads;  // ended before anything leaves this function
    at_once_ = static_cast<std::int64_t>(std::min(jobs, std::max<std::size_t>(1, work_.size())));
    try {
      for (std::int64_t i = 0; i < at_once_; ++i) threads.emplace_back([this] { work(); });
    } catch (const std::exception&) {  // no more threads, or no memory for one
      if (threads.empty()) throw_bad_input("no thread can be started here");
    }
    try {
      note_fewer_threads(context_, at_once_, std::ssize(threads));
      watch(threads.size());
    } catch (...) {
      stops_ = true;
      throw;
    }
    threads.clear();
    if (failure_) std::rethrow_exception(failure_);
    run_later();
    note_ended_searches();
    return {std::move(results_), std::move(mappings_)};
  }

 private:
  // What is in the file of --resume already; the rest is open.
  void take_kept() {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const std::string key = key_of(points_[i]);
      std::optional<NetworkResult> kept = kept_ && !key.empty() ? kept_->find(key) : std::nullopt;
      if (kept) {
        results_[i] = std::move(*kept);
        name(results_[i], points_[i]);
        add_size(results_[i], points_[i].arch);
        results_[i].simulated_seconds = report::seconds_of(results_[i], points_[i].arch);
      } else {
        add_work(i);
        ++open_;
      }
    }
    taken_ = points_.size() - open_;
    if (taken_ > 0) {
      context_.note(options_.resume + " has " + with_thousands(std::int64_t(taken_)) + " of " +
                    with_thousands(std::int64_t(points_.size())) + " points");
    }
  }

  // A piece of work is one point. With a point of dataflow auto, which needs the searches of all
  // others, it is a group: its points share their searches.
  void add_work(std::size_t point) {
    const bool joins =
        has_auto_ && !work_.empty() && points_[work_.back().front()].group == points_[point].group;
    if (joins) {
      work_.back().push_back(point);
    } else {
      work_.push_back({point});
    }
  }

  // "" for a point whose model has no bytes to look at again.
  std::string key_of(const ProfilePoint& point) const {
    const ModelShapes& model = models_[point.model];
    if (!kept_ || model.hash.empty()) return "";
    std::vector<std::string> parts = common_parts_;
    parts.insert(parts.end(), {model.hash, formats::arch_config_yaml(point.arch), point.dataflow});
    return point_key(parts);
  }

  void name(NetworkResult& result, const ProfilePoint& point) const {
    result.model = models_[point.model].name;
    result.config = point.config;
    result.set = point.set;
    result.dataflow = point.dataflow;
  }

  // `arch` must be valid.
  void add_size(NetworkResult& result, const ArchConfig& arch) const {
    result.sram_kib = arch.act_scratchpad_kib + arch.weight_scratchpad_kib + arch.accumulator_kib +
                      arch.output_scratchpad_kib;
    if (!energy_ || !energy_->area) return;
    const AreaReport area = area_of(arch);
    result.area_mm2 = total_mm2(area, *energy_->area);
    result.area_extrapolated = area.outside;
  }

  // One thread's work: the next piece until there is none.
  void work() {
    try {
      for (std::size_t i = next_++; i < work_.size() && !stops_; i = next_++) {
        CompileOptions asked = asked_;
        asked.known = std::make_shared<compiler::KnownMappings>();
        for (std::size_t j = 0; j < work_[i].size() && !stops_; ++j) run_point(work_[i][j], asked);
        const std::lock_guard lock(mutex_);
        count_searches(*asked.known);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stops_ = true;
    }
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_one();
  }

  // The points that there was no memory for beside the others, one at a time.
  void run_later() {
    at_once_ = 1;
    for (const std::size_t index : later_) {
      CompileOptions asked = asked_;
      asked.known = std::make_shared<compiler::KnownMappings>();
      run_point(index, asked);
      count_searches(*asked.known);
    }
  }

  void run_point(std::size_t index, CompileOptions& asked) {
    const ProfilePoint& point = points_[index];
    std::vector<LayerMapping> mappings;
    NetworkResult result = result_of(point, asked, mappings);
    const std::lock_guard lock(mutex_);
    if (result.lacks_memory && at_once_ > 1) return later_.push_back(index);
    if (keeps_mappings_) mappings_[index] = std::move(mappings);
    const std::string key = key_of(point);
    if (result.ran() && !key.empty()) kept_->keep(key, result);
    results_[index] = std::move(result);
    ++done_;
    changed_.notify_one();
  }

  NetworkResult result_of(const ProfilePoint& point, CompileOptions& asked,
                          std::vector<LayerMapping>& mappings) const {
    NetworkResult result;
    name(result, point);
    try {
      validate(point.arch);
      add_size(result, point.arch);
      set_dataflow(asked, point.dataflow);
      asked.remedies = remedies_for(models_[point.model].kind, options_);
      asked.mappings = mappings_of_file(options_, point.arch);
      NetworkTime time =
          time_network(models_[point.model], point.arch, asked, energy_ ? &*energy_ : nullptr,
                       TimingDetail::kCosts, at_once_);
      report::fill_result(result, time.report, time.accesses);
      mappings = std::move(time.mappings);
    } catch (const formats::MemoryError& error) {
      result.error = error.what();
      result.lacks_memory = true;
    } catch (const std::bad_alloc&) {
      if (at_once_ == 1) throw;
      result.lacks_memory = true;
    } catch (const Error& error) {
      result.error = reason_text(error);
    }
    return result;
  }

  void count_searches(const compiler::KnownMappings& known) {
    searches_ += known.size();
    for (const auto& [key, mapped] : known) ended_searches_ += mapped.is_complete ? 0 : 1;
  }

  void note_ended_searches() {
    if (ended_searches_ == 0) return;
    context_.note("--mapping-budget ended " + std::to_string(ended_searches_) + " of " +
                  std::to_string(searches_) +
                  " searches: their mappings are the best that was found");
  }

  // Shows a line of progress for each point until every thread has ended.
  void watch(std::size_t threads) {
    const Clock::time_point start = Clock::now();
    std::unique_lock lock(mutex_);
    while (ended_ < threads) {
      changed_.wait(lock);
      const std::string line = progress_line(start);
      lock.unlock();
      context_.progress(line);
      lock.lock();
    }
  }

  std::string progress_line(Clock::time_point start) const {
    std::string line = with_thousands(std::int64_t(taken_ + done_)) + " of " +
                       with_thousands(std::int64_t(points_.size())) + " points";
    const std::size_t left = open_ - done_;
    if (done_ == 0 || left == 0) return line;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return line + number_text(seconds / static_cast<double>(done_) * static_cast<double>(left),
                              ", about %.0f s left");
  }

  Context& context_;
  const ProfileOptions& options_;
  const std::vector<ModelShapes>& models_;
  const std::vector<ProfilePoint>& points_;
  std::optional<EnergyTable> energy_;
  CompileOptions asked_;  // but for the dataflow
  bool has_auto_ = false;
  bool keeps_mappings_ = false;
  std::optional<KeptPoints> kept_;
  std::vector<std::string> common_parts_;       // of every key
  std::vector<std::vector<std::size_t>> work_;  // the points that are not kept
  std::size_t open_ = 0;                        // how many these are
  std::size_t taken_ = 0;
  std::int64_t at_once_ = 1;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stops_ = false;

  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::vector<NetworkResult> results_;
  std::vector<std::vector<LayerMapping>> mappings_;
  std::vector<std::size_t> later_;
  std::size_t done_ = 0;
  std::size_t ended_ = 0;  // threads
  std::size_t searches_ = 0;
  std::size_t ended_searches_ = 0;  // by --mapping-budget
  std::exception_ptr failure_;
};

}  // namespace

PointRuns run_points(Context& context, const ProfileOptions& options,
                     const std::vector<ModelShapes>& models,
                     const std::vector<ProfilePoint>& points) {
  require_mappings_for_a_point(options, points);
  return ProfileRun(context, options, models, points).run();
}

}  // namespace qsim::cli
