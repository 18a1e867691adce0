// `verify_rtl`: random programs through every engine, in several processes (SystemC elaborates once
// in each), with functional coverage, and a small reproducer of whatever differs.
#include <chrono>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <sstream>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "formats/files/files.h"
#include "tests/rtl/programs/campaign.h"
#include "tests/rtl/programs/reproducer.h"
#include "tests/rtl/programs/witnesses.h"

namespace qsim {

using namespace formats;
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// One line every few seconds, from the first job alone.
class Progress {
 public:
  explicit Progress(std::int64_t programs) : programs_(programs) {}
  void operator()(const Tally& tally) {
    if (Clock::now() < next_) return;
    next_ = Clock::now() + std::chrono::seconds(5);
    std::cerr << "verify_rtl: about " << tally.programs * jobs << " of " << programs_
              << " programs, coverage of this job " << tally.coverage.filled() << " of "
              << kCoverageBins << std::endl;
  }
  std::uint64_t jobs = 1;

 private:
  std::int64_t programs_;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(5);
};

// The program that each job is running, where this process sees it also after a job has crashed.
class ProgramsInProgress {
 public:
  explicit ProgramsInProgress(std::int64_t jobs)
      : size_(static_cast<std::size_t>(jobs) * kNameBytes),
        names_(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    QSIM_CHECK(names_ != MAP_FAILED, "no shared memory");
  }
  ~ProgramsInProgress() { munmap(names_, size_); }
  ProgramsInProgress(const ProgramsInProgress&) = delete;
  ProgramsInProgress& operator=(const ProgramsInProgress&) = delete;

  void set(std::int64_t job, const std::string& name) {
    std::strncpy(at(job), name.c_str(), kNameBytes - 1);
  }
  std::string of(std::int64_t job) const { return *at(job) == 0 ? "no program yet" : at(job); }

 private:
  static constexpr std::size_t kNameBytes = 128;
  char* at(std::int64_t job) const {
    return static_cast<char*>(names_) + static_cast<std::size_t>(job) * kNameBytes;
  }
  std::size_t size_;
  void* names_;
};

Tally run_job(const VerifyOptions& options, CampaignOptions campaign,
              ProgramsInProgress& in_progress) {
  campaign.begins = [&](const std::string& name) { in_progress.set(campaign.job, name); };
  if (campaign.job == 0) {
    Progress progress(options.programs);
    progress.jobs = static_cast<std::uint64_t>(campaign.jobs);
    campaign.progress = progress;
  }
  Differential differential(make_witnesses(options));
  return run_campaign(campaign, differential);
}

void write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(file, text.data() + at, text.size() - at);
    if (count <= 0) _exit(1);
    at += static_cast<std::size_t>(count);
  }
}

std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(file, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(file);
  return text;
}

// A job in a child process, and the pipe through which its tally comes.
struct Job {
  pid_t process;
  int pipe_end;
};

Job start_job(const VerifyOptions& options, const CampaignOptions& campaign,
              ProgramsInProgress& in_progress) {
  int ends[2];
  QSIM_CHECK(pipe(ends) == 0, "no pipe");
  const pid_t child = fork();
  QSIM_CHECK(child >= 0, "no child process");
  if (child > 0) {
    close(ends[1]);
    return {child, ends[0]};
  }
  close(ends[0]);
  int status = 1;
  try {
    std::ostringstream text;
    print_tally(run_job(options, campaign, in_progress), text);
    write_all(ends[1], text.str());
    status = 0;
  } catch (const Error& error) {
    std::cerr << "verify_rtl: error: " << error.what() << std::endl;
    status = static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "verify_rtl: internal error: " << error.what() << std::endl;
  }
  _exit(status);
}

// A job that did not end well: its exit code, after its own message.
[[noreturn]] void fail_job(std::int64_t job, int status, const std::string& program) {
  const std::string name = "job " + std::to_string(job) + ", at " + program + ", ended ";
  if (WIFSIGNALED(status)) {
    throw InternalError(name + "by signal " + std::to_string(WTERMSIG(status)));
  }
  const int code = WEXITSTATUS(status);
  throw Error(static_cast<ExitCode>(code), name + "with exit code " + std::to_string(code));
}

Tally run_jobs(const VerifyOptions& options, const CampaignOptions& campaign) {
  ProgramsInProgress in_progress(options.jobs);
  if (options.jobs == 1) {
    try {
      return run_job(options, campaign, in_progress);
    } catch (const std::exception&) {
      std::cerr << "verify_rtl: at " << in_progress.of(0) << ":" << std::endl;
      throw;
    }
  }
  std::vector<Job> jobs;
  for (std::int64_t job = 0; job < options.jobs; ++job) {
    CampaignOptions part = campaign;
    part.job = job;
    jobs.push_back(start_job(options, part, in_progress));
  }
  Tally tally;
  std::vector<int> statuses(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    std::istringstream text(read_all(jobs[j].pipe_end));
    QSIM_CHECK(waitpid(jobs[j].process, &statuses[j], 0) == jobs[j].process, "lost a job");
    if (statuses[j] == 0) tally.add(read_tally(text));
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (statuses[j] == 0) continue;
    for (const std::string& found : tally.mismatches) std::cerr << "mismatch: " << found << "\n";
    const auto job = static_cast<std::int64_t>(j);
    fail_job(job, statuses[j], in_progress.of(job));
  }
  return tally;
}

ExitCode report(const VerifyOptions& options, const Tally& tally, double seconds) {
  const double programs = static_cast<double>(tally.programs);
  std::cout << tally.programs << " programs, " << tally.commands << " commands, " << tally.cycles
            << " cycles in " << std::fixed << std::setprecision(1) << seconds << " s ("
            << programs / seconds << " programs/s)\n"
            << "coverage: " << tally.coverage.filled() << " of " << kCoverageBins << " bins\n"
            << tally.coverage.table();
  const std::vector<std::string> empty = tally.coverage.empty_bins();
  for (std::size_t i = 0; i < empty.size() && i < 20; ++i)
    std::cout << "  empty: " << empty[i] << "\n";
  if (empty.size() > 20) std::cout << "  and " << empty.size() - 20 << " more\n";
  if (options.finders > 0) {
    std::cout << "found by " << tally.finders << " of " << tally.programs << " programs";
    if (tally.finders > 0) std::cout << ", first by program " << tally.first_finder;
    std::cout << "\n";
  }
  for (const std::string& mismatch : tally.mismatches)
    std::cout << "mismatch: " << mismatch << "\n";
  std::cout << "mismatches: " << tally.mismatches.size() << std::endl;
  if (!tally.mismatches.empty()) return ExitCode::kMismatch;
  return options.require_coverage && !empty.empty() ? ExitCode::kRequirementMissed : ExitCode::kOk;
}

ExitCode replay(const VerifyOptions& options) {
  const RandomCase made = read_reproducer(options.replay);
  prepare_models(options, {made.program.arch});
  Differential differential(make_witnesses(options));
  const DifferentialResult result = differential.check(made);
  if (!result.difference) {
    std::cout << "no difference in " << made.program.command_count() << " commands, "
              << result.cycles << " cycles" << std::endl;
    return ExitCode::kOk;
  }
  std::cout << "mismatch: " << result.difference->text << std::endl;
  return ExitCode::kMismatch;
}

ExitCode verify_rtl(const std::vector<std::string>& arguments) {
  const VerifyOptions options = parse_verify_options(arguments);
  if (options.help) {
    std::cout << kVerifyUsage;
    return ExitCode::kOk;
  }
  if (!options.replay.empty()) return replay(options);
  CampaignOptions campaign;
  for (const std::string& name : options.configs) campaign.configs.push_back(named_config(name));
  campaign.first_seed = options.seed;
  campaign.programs = options.programs;
  campaign.jobs = options.jobs;
  campaign.reproducer_folder = options.reproducer_folder;
  campaign.finders = options.finders;
  make_folder(options.reproducer_folder);
  prepare_models(options, campaign.configs);
  const Clock::time_point begin = Clock::now();
  const Tally tally = run_jobs(options, campaign);
  return report(options, tally, seconds_since(begin));
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  try {
    return static_cast<int>(qsim::verify_rtl(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const qsim::Error& error) {
    std::cerr << "verify_rtl: error: " << error.what() << std::endl;
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "verify_rtl: internal error: " << error.what() << std::endl;
    return 1;
  }
}
