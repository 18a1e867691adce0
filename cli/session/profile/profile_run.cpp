#include "cli/session/profile/profile_run.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "cli/session/inputs/file_hash.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/profile/kept_points.h"
#include "core/printable.h"
#include "files/arch_config_file.h"
#include "report/text_table.h"

namespace qsim {
namespace {

using Clock = std::chrono::steady_clock;

// Processors that this process may use.
std::int64_t default_jobs() {
  return std::max<std::int64_t>(1, std::thread::hardware_concurrency());
}

class ProfileRun {
 public:
  ProfileRun(Context& context, const std::vector<ModelShapes>& models,
             const std::vector<ProfilePoint>& points)
      : context_(context),
        options_(context.options()),
        models_(models),
        points_(points),
        energy_(load_energy_table(options_)),
        results_(points.size()) {
    if (options_.resume.empty()) return;
    kept_.emplace(options_.resume);
    context_.count_as_kept(options_.resume);
    common_parts_ = {file_hash("/proc/self/exe"), std::to_string(options_.batch.value_or(0)),
                     energy_ ? file_hash(find_energy_table(options_.energy)) : ""};
  }

  std::vector<NetworkResult> run() {
    take_kept();
    const auto jobs = static_cast<std::size_t>(options_.jobs.value_or(default_jobs()));
    std::vector<std::thread> threads;
    at_once_ = static_cast<std::int64_t>(std::min(jobs, std::max<std::size_t>(1, open_.size())));
    try {
      for (std::int64_t i = 0; i < at_once_; ++i) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      if (threads.empty()) throw_bad_input("no thread can be started here");
    }
    watch();
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    return std::move(results_);
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
      } else {
        open_.push_back(i);
      }
    }
    taken_ = points_.size() - open_.size();
    if (taken_ > 0) {
      context_.note(options_.resume + " has " + with_thousands(std::int64_t(taken_)) + " of " +
                    with_thousands(std::int64_t(points_.size())) + " points");
    }
  }

  // "" for a point whose model has no bytes to look at again.
  std::string key_of(const ProfilePoint& point) const {
    const ModelShapes& model = models_[point.model];
    if (!kept_ || model.hash.empty()) return "";
    std::vector<std::string> parts = common_parts_;
    parts.insert(parts.end(), {model.hash, arch_config_yaml(point.arch), point.dataflow});
    return point_key(parts);
  }

  void name(NetworkResult& result, const ProfilePoint& point) const {
    result.model = models_[point.model].name;
    result.config = point.arch.name;
    result.set = point.set;
    result.dataflow = point.dataflow;
  }

  // One thread's work: the next point until there is none.
  void work() {
    try {
      for (std::size_t i = next_++; i < open_.size() && !stops_; i = next_++) {
        const ProfilePoint& point = points_[open_[i]];
        NetworkResult result = result_of(point);
        const std::lock_guard lock(mutex_);
        const std::string key = key_of(point);
        if (result.ran() && !key.empty()) kept_->keep(key, result);
        results_[open_[i]] = std::move(result);
        ++done_;
        changed_.notify_one();
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

  NetworkResult result_of(const ProfilePoint& point) const {
    NetworkResult result;
    name(result, point);
    try {
      validate(point.arch);
      CompileOptions asked;
      asked.dataflow = dataflow_named(point.dataflow);
      const NetworkTime time = time_network(models_[point.model], point.arch, asked,
                                            energy_ ? &*energy_ : nullptr, at_once_);
      fill_result(result, time.report, time.accesses);
    } catch (const Error& error) {
      result.error = error.what();
    }
    return result;
  }

  // Until every thread has ended: a line of progress for each point.
  void watch() {
    const Clock::time_point start = Clock::now();
    std::unique_lock lock(mutex_);
    while (ended_ < static_cast<std::size_t>(at_once_)) {
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
    const std::size_t left = open_.size() - done_;
    if (done_ == 0 || left == 0) return line;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, ", about %.0f s left",
                  seconds / static_cast<double>(done_) * static_cast<double>(left));
    return line + buffer;
  }

  Context& context_;
  const Options& options_;
  const std::vector<ModelShapes>& models_;
  const std::vector<ProfilePoint>& points_;
  std::optional<EnergyTable> energy_;
  std::optional<KeptPoints> kept_;
  std::vector<std::string> common_parts_;  // of every key
  std::vector<std::size_t> open_;          // points that are not kept
  std::size_t taken_ = 0;
  std::int64_t at_once_ = 1;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stops_ = false;

  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::vector<NetworkResult> results_;
  std::size_t done_ = 0;
  std::size_t ended_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<NetworkResult> run_points(Context& context, const std::vector<ModelShapes>& models,
                                      const std::vector<ProfilePoint>& points) {
  return ProfileRun(context, models, points).run();
}

}  // namespace qsim
