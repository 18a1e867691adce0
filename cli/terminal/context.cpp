#include "cli/terminal/context.h"

#include <cerrno>
#include <cstring>
#include <iostream>

#include "cli/terminal/output_files.h"
#include "core/error.h"
#include "core/printable.h"

namespace qsim {
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

Context::~Context() { interrupt_.remove_empty_folders(); }

void Context::print(const std::string& text) {
  if (options_.json == "-" || options_.csv == "-" || options_.write_mapping == "-") return;
  // A program's text has hundreds of megabytes; it is not copied where nothing is to be escaped.
  const bool is_printable = unprintable_at(text, "\n") == std::string::npos;
  if (is_printable) return write_stdout(text);
  write_stdout(printable_lines(text));
}

void Context::print_json(const std::string& json) {
  if (options_.json == "-") {
    write_stdout(json);
  } else if (!options_.json.empty()) {
    write_file(options_.json, json);
  }
}

void Context::print_csv(const std::string& csv) {
  if (options_.csv == "-") {
    write_stdout(csv);
  } else if (!options_.csv.empty()) {
    write_file(options_.csv, csv);
  }
}

void Context::print_alone(const std::string& text) { write_stdout(text); }

void Context::print(const Sheet& sheet) {
  if (!options_.json.empty()) print_json(sheet_json(sheet));
  print(sheet_text(sheet));
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

std::unique_ptr<FileReplacement> Context::begin_file(const std::filesystem::path& path,
                                                     FileReplacement::Writer writer) {
  return interrupt_.begin_file(path, writer);
}

void Context::keep_file(FileReplacement& file) { interrupt_.keep_file(file); }

void Context::make_folder(const std::filesystem::path& path) {
  if (interrupt_.make_folder(path)) return;
  note(path.string() + ": cannot be locked here; let no other run write into it");
}

void Context::require_outputs() const {
  for (const std::string& file : output_files(options_)) interrupt_.require_writable(file);
}

void Context::require_output(const std::filesystem::path& file) const {
  interrupt_.require_writable(file);
}

}  // namespace qsim
