// What a command needs besides its options: the places for its output.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/terminal/interrupt.h"
#include "cli/terminal/output_files.h"
#include "report/sheet.h"

namespace qsim::cli {

class Context {
 public:
  Context(OutputOptions options, std::vector<NamedOutput> outputs, std::vector<std::string> argv,
          InterruptWatch& interrupt);

  // Removes a folder that was made for output and is still empty.
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const std::vector<std::string>& argv() const { return argv_; }
  bool has_json() const { return !options_.json.empty(); }

  // Text for people on stdout; dropped when an option has stdout (`--json -`). What a line cannot
  // show is escaped (core/base/printable.h); the words of a name are the caller's to keep on one
  // line.
  void print(const std::string& text);
  // Writes to the file that an option names, or to stdout where it is "-"; writes nothing where it
  // is "".
  void print_to(const std::string& place, const std::string& text);
  void print_json(const std::string& json) { print_to(options_.json, json); }
  // Both, of a sheet; the file first, so that it is there when nobody reads stdout to its end.
  void print(const report::Sheet& sheet);
  // A line on stderr, unless --quiet; nothing in the first second, so that short runs stay silent,
  // and at most one every two seconds. An interrupt's line repeats the last one.
  void progress(const std::string& line);
  // Both, of a sheet whose numbers carry their units for people: `make(json)` makes it.
  template <typename Make>
  void print_both(Make make) {
    print_json(report::sheet_json(make(true)));
    print(report::sheet_text(make(false)));
  }
  // A line on stderr that the user should see: "qsim: note: ...".
  void note(const std::string& line);
  // For what is told to say such lines; this object must outlive it.
  auto notes() {
    return [this](const std::string& line) { note(line); };
  }
  void write_file(const std::filesystem::path& path, std::string_view content);
  // A file that comes in parts: `writer` writes it under its temporary() name, before keep_file
  // gives it its own.
  std::unique_ptr<formats::FileReplacement> begin_file(const std::filesystem::path& path,
                                                       formats::FileReplacement::Writer writer);
  void keep_file(formats::FileReplacement& file);
  // A file that grows while the command works: an interrupt's line names it.
  void count_as_kept(const std::filesystem::path& path) { interrupt_.count_as_kept(path); }
  // An interrupt does not end the command, which looks at is_stopping() often instead
  // (cli/terminal/interrupt.h).
  void stop_softly() { interrupt_.stop_softly(); }
  void stop_at_once() { interrupt_.stop_at_once(); }
  bool is_stopping() const { return interrupt_.is_stopping(); }
  // A folder that the options name for output: tried before the work, so that one that cannot be
  // made, or that another process writes into, is an error before a long run and not after it.
  void make_folder(const std::filesystem::path& path);
  // Throws Error when a file that an option names for output cannot be written: before the work,
  // not after it.
  void require_outputs() const;
  void require_output(const std::filesystem::path& file) const;  // the same, of one file

 private:
  using Clock = std::chrono::steady_clock;

  OutputOptions options_;
  std::vector<NamedOutput> outputs_;
  bool has_stdout_ = true;  // for text
  std::vector<std::string> argv_;
  InterruptWatch& interrupt_;
  Clock::time_point quiet_until_ = Clock::now() + std::chrono::seconds(1);
};

// Runs `work` and adds its seconds to `seconds`.
template <typename Work>
auto timed(double& seconds, Work work) {
  struct Stopwatch {
    double& seconds;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    ~Stopwatch() {
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  } stopwatch{seconds};
  return work();
}

}  // namespace qsim::cli
