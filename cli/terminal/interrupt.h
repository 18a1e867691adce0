// What happens on Ctrl-C (SIGINT), SIGTERM and the end of the terminal (SIGHUP): a line that says
// what was kept, and exit code 130, at once. A thread waits for the signal, so the exit waits
// neither for an engine nor for a slow disk. A file that is being written is given up, and its
// temporary file is removed.
#pragma once

#include <atomic>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "formats/files/file_replacement.h"
#include "formats/files/locked_folder.h"

namespace qsim::cli {

// Holds the signals back in the calling thread and in those that it makes later, until an
// InterruptWatch answers them. The first thing that main does: one that comes earlier ends the
// process as it ends any program.
void hold_interrupts();

class InterruptWatch {
 public:
  // Starts the thread that waits for the signals, those that are held back included. One per
  // process, and before anything is written. Throws Error where no thread can be had.
  InterruptWatch();

  // Writes a file (formats/files/files.h); an interrupt in between removes what is there of it.
  void write_file(const std::filesystem::path& path, std::string_view content);
  // The same in two steps, for a file that comes in parts, or that another writer makes, under the
  // name temporary().
  std::unique_ptr<formats::FileReplacement> begin_file(const std::filesystem::path& path,
                                                       formats::FileReplacement::Writer writer);
  void keep_file(formats::FileReplacement& file);

  // Throws the Error that write_file would throw for the path's folder or kind, so that it comes
  // before a long run and not after it. Leaves no file of its own, and does not change this one.
  void require_writable(const std::filesystem::path& path);

  // Makes a folder for output, to be taken back if nothing comes of it, and keeps other processes
  // from writing into it (formats/files/locked_folder.h) until this one ends. False where it
  // cannot.
  bool make_folder(const std::filesystem::path& path);
  // Removes those that it made, and their parents that it made, where they are still empty.
  void remove_empty_folders();
  // A file that grows while the program works, and that an interrupt leaves as it is.
  void count_as_kept(const std::filesystem::path& path);
  // From here on the first signal does not end the process: is_stopping() becomes true, for a
  // command that ends soon by itself and then says what it has. A second one ends it at once.
  void stop_softly();
  // Undoes stop_softly(): what is left, such as writing the results, may wait for a reader of a
  // pipe.
  void stop_at_once();
  bool is_stopping() const { return is_stopping_; }
  // What to add to the interrupt's line: "120 of 2,000 layers, 0 mismatches so far".
  void set_progress(std::string text);

  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  static void* wait_for_signal(void* watch);
  bool takes_first();
  void leave();
  std::string kept_text() const;
  void remove_empty_made();   // under mutex_
  void remove_temporaries();  // under mutex_

  std::atomic<bool> stops_softly_ = false;
  std::atomic<bool> is_stopping_ = false;
  std::timed_mutex mutex_;  // held for steps that are short on any disk that works
  std::size_t kept_ = 0;    // files that are whole and on the disk
  std::string last_kept_;
  std::string progress_;
  std::list<formats::LockedFolder> folders_;
  std::vector<std::filesystem::path> made_folders_;  // parents first
  std::vector<std::filesystem::path> temporaries_;   // of files that are not whole yet
};

}  // namespace qsim::cli
