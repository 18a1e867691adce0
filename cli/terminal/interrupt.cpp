#include "cli/terminal/interrupt.h"

#include <cerrno>
#include <chrono>
#include <system_error>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/files/descriptor.h"
#include "formats/files/files.h"
#include "formats/files/memory.h"
#include "formats/files/temporary_files.h"

namespace qsim::cli {

using formats::FileReplacement;
namespace {

// nohup has SIGHUP ignored, a shell SIGINT of a job in the background; both mean it.
bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t interrupt_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(signal)) sigaddset(&signals, signal);
  }
  return signals;
}

// A pipe that nobody reads any more (Ctrl-C ends `tee` too) must not end the thread, and a full one
// must not hold it.
void say(const std::string& line) {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  constexpr int kMilliseconds = 100;
  if (::poll(&ready, 1, kMilliseconds) <= 0) return;
  const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  static_cast<void>(written);  // there is nobody left to tell
}

// Enough for a thread that removes files and prints a line; the usual 8 MB are more than a low
// ulimit -v leaves.
constexpr std::size_t kStackBytes = std::size_t{1} << 19;

// What pthread_create says: 0, or an error number.
int start_thread(void* (*work)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread{};
  const int error = pthread_create(&thread, &attributes, work, argument);
  pthread_attr_destroy(&attributes);
  return error;
}

// pthread_create says EAGAIN for too many threads, and for no memory too. It needs somewhat more
// than the stack.
bool has_memory_for_a_thread() {
  constexpr std::size_t kBytes = 2 * kStackBytes;
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  ::munmap(memory, kBytes);
  return true;
}

}  // namespace

void hold_interrupts() {
  const sigset_t signals = interrupt_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

InterruptWatch::InterruptWatch() {
  hold_interrupts();
  // One that was held back is answered here: a short run could end before the thread wakes.
  const sigset_t signals = interrupt_signals();
  const timespec at_once{};
  if (sigtimedwait(&signals, nullptr, &at_once) > 0) leave();
  const int error = start_thread(wait_for_signal, this);
  if (error == 0) return;
  if (error == EAGAIN && !has_memory_for_a_thread()) {
    throw_bad_input("no memory for a thread" + formats::memory_limit_text() +
                    " (docs/reference/limits.md)");
  }
  throw_bad_input("no thread can be started here: " + formats::error_reason(error));
}

std::unique_ptr<FileReplacement> InterruptWatch::begin_file(const std::filesystem::path& path,
                                                            FileReplacement::Writer writer) {
  const std::lock_guard lock(mutex_);
  auto file = std::make_unique<FileReplacement>(path, writer);
  temporaries_.push_back(file->temporary());
  return file;
}

void InterruptWatch::keep_file(FileReplacement& file) {
  {
    const std::lock_guard lock(mutex_);
    const std::filesystem::path temporary = file.temporary();
    file.rename();
    std::erase(temporaries_, temporary);
  }
  file.sync_folder();
  const std::lock_guard lock(mutex_);
  ++kept_;
  last_kept_ = file.target().string();
}

void InterruptWatch::write_file(const std::filesystem::path& path, std::string_view content) {
  if (formats::is_written_in_place(path)) return formats::write_file_atomically(path, content);
  const std::unique_ptr<FileReplacement> file = begin_file(path, FileReplacement::Writer::kOwn);
  file->write(content);
  keep_file(*file);
}

void InterruptWatch::require_writable(const std::filesystem::path& path) {
  if (!formats::is_written_in_place(path)) begin_file(path, FileReplacement::Writer::kOwn);
}

bool InterruptWatch::make_folder(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  for (const formats::LockedFolder& folder : folders_) {
    if (folder.is_at(path)) return folder.is_locked();
  }
  return folders_.emplace_back(path, made_folders_).is_locked();
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

void InterruptWatch::remove_temporaries() {
  for (const std::filesystem::path& file : temporaries_) formats::remove_temporary(file);
}

void InterruptWatch::count_as_kept(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  ++kept_;
  last_kept_ = path.string();
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

void* InterruptWatch::wait_for_signal(void* watch) {
  const sigset_t signals = interrupt_signals();
  int number = 0;
  while (sigwait(&signals, &number) == 0) {
    if (!static_cast<InterruptWatch*>(watch)->takes_first()) {
      static_cast<InterruptWatch*>(watch)->leave();
    }
  }
  return nullptr;
}

void InterruptWatch::stop_softly() { stops_softly_ = true; }

void InterruptWatch::stop_at_once() { stops_softly_ = false; }

bool InterruptWatch::takes_first() {
  if (!stops_softly_.exchange(false)) return false;
  is_stopping_ = true;
  std::string line = "qsim: interrupted";
  if (mutex_.try_lock_for(std::chrono::milliseconds(800))) {
    if (!progress_.empty()) line += ": " + progress_;
    mutex_.unlock();
  }
  say(printable(line) + "; ends soon with what is finished, a second interrupt ends at once\n");
  return true;
}

void InterruptWatch::leave() {
  // Only a disk that hangs in a rename or in making a file lets this wait.
  const bool locked = mutex_.try_lock_for(std::chrono::milliseconds(800));
  if (locked) {
    remove_temporaries();
    remove_empty_made();
  }
  std::string line = "qsim: interrupted";
  if (locked && !progress_.empty()) line += ": " + progress_;
  line += "; kept: " + (locked ? kept_text() : "unknown, a file was being made");
  say(printable(line) + "\n");
  ::_exit(static_cast<int>(ExitCode::kInterrupted));
}

}  // namespace qsim::cli
