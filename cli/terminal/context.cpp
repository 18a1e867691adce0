#include "cli/terminal/context.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace qsim::cli {
namespace {

void write_stdout(const std::string& text) {
  errno = 0;
  std::cout << text << std::flush;
  if (std::cout) return;
  throw_bad_input(std::string("standard output: cannot be written: ") +
                  (errno == ENOSPC  ? "the disk is full"
                   : errno == EBADF ? "it is closed"
                                    : std::strerror(errno)));
}

}  // namespace

Context::Context(OutputOptions options, std::vector<NamedOutput> outputs,
                 std::vector<std::string> argv, InterruptWatch& interrupt)
    : options_(std::move(options)),
      outputs_(std::move(outputs)),
      has_stdout_(std::ranges::none_of(outputs_, &NamedOutput::is_stdout)),
      argv_(std::move(argv)),
      interrupt_(interrupt) {}

Context::~Context() { interrupt_.remove_empty_folders(); }

void Context::print(const std::string& text) {
  if (!has_stdout_) return;
  // A program's text has hundreds of megabytes; it is not copied where nothing is to be escaped.
  const bool is_printable = unprintable_at(text, "\n") == std::string::npos;
  if (is_printable) return write_stdout(text);
  write_stdout(printable_lines(text));
}

void Context::print_to(const std::string& place, const std::string& text) {
  if (place == "-") {
    write_stdout(text);
  } else if (!place.empty()) {
    write_file(place, text);
  }
}

void Context::print(const report::Sheet& sheet) {
  if (has_json()) print_json(report::sheet_json(sheet));
  print(report::sheet_text(sheet));
}

void Context::progress(const std::string& line) {
  interrupt_.set_progress(line);
  if (options_.quiet || Clock::now() < quiet_until_) return;
  quiet_until_ = Clock::now() + std::chrono::seconds(2);
  std::cerr << "qsim: " << printable(line) << std::endl;
}

void Context::note(const std::string& line) {
  if (!options_.quiet) std::cerr << "qsim: note: " << printable(line) << std::endl;
}

void Context::write_file(const std::filesystem::path& path, std::string_view content) {
  interrupt_.write_file(path, content);
}

std::unique_ptr<formats::FileReplacement> Context::begin_file(
    const std::filesystem::path& path, formats::FileReplacement::Writer writer) {
  return interrupt_.begin_file(path, writer);
}

void Context::keep_file(formats::FileReplacement& file) { interrupt_.keep_file(file); }

void Context::make_folder(const std::filesystem::path& path) {
  if (interrupt_.make_folder(path)) return;
  note(path.string() + ": cannot be locked here; let no other run write into it");
}

void Context::require_outputs() const {
  for (const NamedOutput& output : outputs_) {
    const bool is_own = output.holds == nullptr && !output.is_stdout();
    if (is_own) interrupt_.require_writable(output.path);
  }
}

void Context::require_output(const std::filesystem::path& file) const {
  interrupt_.require_writable(file);
}

}  // namespace qsim::cli
