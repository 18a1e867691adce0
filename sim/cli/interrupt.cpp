#include "sim/cli/interrupt.h"

#include <chrono>
#include <thread>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "core/error.h"
#include "core/io/files.h"

namespace qsim {
namespace {

sigset_t interrupt_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  const sigset_t signals = interrupt_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([this] { wait_for_signal(); }).detach();
}

void InterruptWatch::write_file(const std::filesystem::path& path, std::string_view content) {
  const std::lock_guard lock(mutex_);
  write_file_atomically(path, content);
  ++kept_;
  last_kept_ = path.string();
}

void InterruptWatch::make_folder(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  std::vector<std::filesystem::path> missing;
  std::error_code error;
  for (std::filesystem::path folder = path;
       !folder.empty() && !std::filesystem::exists(folder, error); folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  made_folders_.insert(made_folders_.end(), missing.rbegin(), missing.rend());
  qsim::make_folder(path);
}

void InterruptWatch::remove_empty_folders() {
  const std::lock_guard lock(mutex_);
  remove_empty_made();
}

void InterruptWatch::remove_empty_made() {
  std::error_code ignored;  // of a folder that is not empty
  for (auto folder = made_folders_.rbegin(); folder != made_folders_.rend(); ++folder) {
    std::filesystem::remove(*folder, ignored);
  }
  made_folders_.clear();
}

void InterruptWatch::set_progress(std::string text) {
  const std::lock_guard lock(mutex_);
  progress_ = std::move(text);
}

std::string InterruptWatch::kept_text() const {
  if (kept_ == 0) return "nothing";
  if (kept_ == 1) return last_kept_;
  return std::to_string(kept_) + " files, the last " + last_kept_;
}

void InterruptWatch::wait_for_signal() {
  const sigset_t signals = interrupt_signals();
  int number = 0;
  if (sigwait(&signals, &number) != 0) return;
  // A write that hangs (a slow network disk) must not keep the user waiting.
  const bool locked = mutex_.try_lock_for(std::chrono::milliseconds(800));
  if (locked) remove_empty_made();
  std::string line = "qsim: interrupted";
  if (locked && !progress_.empty()) line += ": " + progress_;
  line += "; kept: " + (locked ? kept_text() : "unknown, a file was being written") + "\n";
  const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(written < 0 ? static_cast<int>(ExitCode::kInternal)
                      : static_cast<int>(ExitCode::kInterrupted));
}

}  // namespace qsim
