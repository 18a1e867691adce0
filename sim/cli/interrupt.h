// What happens on Ctrl-C (SIGINT) and on SIGTERM: a line that says what was kept, and exit code
// 130, at once. A thread waits for the signal, so that neither an engine nor a file in writing is
// cut in half.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace qsim {

class InterruptWatch {
 public:
  // Blocks both signals in the calling thread (threads made later inherit that) and starts the
  // thread that waits for them. One per process.
  InterruptWatch();

  // Writes a file (core/io/files.h); an interrupt in between waits until it is there.
  void write_file(const std::filesystem::path& path, std::string_view content);
  // Makes a folder for output (core/io/files.h), to be taken back if nothing comes of it.
  void make_folder(const std::filesystem::path& path);
  // Removes those that it made, and their parents that it made, where they are still empty.
  void remove_empty_folders();
  // What to add to the interrupt's line: "120 of 2,000 layers, 0 mismatches so far".
  void set_progress(std::string text);

  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  void wait_for_signal();
  std::string kept_text() const;
  void remove_empty_made();  // under mutex_

  std::timed_mutex mutex_;
  std::size_t kept_ = 0;  // files written so far
  std::string last_kept_;
  std::string progress_;
  std::vector<std::filesystem::path> made_folders_;  // parents first
};

}  // namespace qsim
