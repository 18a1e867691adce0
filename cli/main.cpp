// The executable: reads the command line, runs one command, turns errors into a line on stderr and
// an exit code. (libsystemc exports a `main` of its own; this one is found first.)
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/commands/files_read.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/output_files.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/files/descriptor.h"
#include "formats/files/memory.h"

namespace qsim::cli {
namespace {

// A file opened later must not become stdin, stdout or stderr where one of these is closed: what is
// printed would end up in it. Each stays as unusable as it was.
void hold_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    const int flags = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", flags) != stream) return;  // the lowest that is free
  }
}

// Buffers of a megabyte and more leave the process when they are freed. By default glibc keeps
// those of up to 32 MB once it has seen one, and a run's peak is its many large tensors. Smaller
// ones stay, up to 4 MB: what a loop frees and takes again would else be pages that the kernel
// clears each time.
void set_allocator() {
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 4 << 20);
}

ExitCode qsim_main(const std::vector<std::string>& argv) {
  hold_standard_streams();
  set_allocator();
  ::signal(SIGXFSZ, SIG_IGN);  // write() then says that the file would be too large
  InterruptWatch& interrupt = *new InterruptWatch;  // its thread outlives main
  const ParsedCommandLine parsed = parse_command_line(commands(), argv);
  const std::vector<NamedOutput> outputs = named_outputs(*parsed.declared);
  Context context(parsed.declared->outputs(), outputs, argv, interrupt);
  if (parsed.text) {
    context.print(*parsed.text);
    return ExitCode::kOk;
  }
  require_outputs_apart(outputs);
  if (!outputs.empty()) require_kept(outputs, files_read(*parsed.declared));
  context.require_outputs();
  return parsed.steps(context);
}

int fail(ExitCode code, const std::string& message) {
  std::cerr << "qsim: " << printable_lines(message) << std::endl;
  return static_cast<int>(code);
}

int fail(const Error& error) {
  std::string details = error.details();
  while (details.ends_with('\n')) details.pop_back();
  return fail(error.code(),
              std::string("error: ") + error.what() + (details.empty() ? "" : "\n" + details));
}

// What the standard library throws of a file that changes, or cannot be looked at, while it is
// read.
Error unreadable(const std::filesystem::filesystem_error& error) {
  return {ExitCode::kBadInput, error.path1().string() + ": cannot be read: " +
                                   formats::error_reason(error.code().value())};
}

// Takes no memory but that of a short text.
int fail_without_memory() {
  std::cerr << "qsim: error: out of memory: the model, its batch or its input is too large here";
  try {
    std::cerr << formats::memory_limit_text();
  } catch (const std::bad_alloc&) {  // the line does without
  }
  std::cerr << " (docs/reference/limits.md)" << std::endl;
  return static_cast<int>(ExitCode::kBadInput);
}

}  // namespace
}  // namespace qsim::cli

int main(int argc, char** argv) {
  qsim::cli::hold_interrupts();
  using qsim::ExitCode;
  using qsim::cli::fail;
  using qsim::cli::fail_without_memory;
  try {
    return static_cast<int>(qsim::cli::qsim_main(std::vector<std::string>(argv, argv + argc)));
  } catch (const qsim::Error& error) {
    return fail(error);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(qsim::cli::unreadable(error));
  } catch (const std::bad_alloc&) {
    return fail_without_memory();
  } catch (const std::length_error&) {  // more elements than a vector can have
    return fail_without_memory();
  } catch (const std::exception& error) {
    return fail(ExitCode::kInternal,
                std::string("internal error (please report it): ") + error.what());
  }
}
