// How qsim reports what went wrong: Error is the user's cause (bad input), QSIM_CHECK a bug of
// ours. A mismatch between engines is neither: it is data and is returned as a value.
#pragma once

#include <stdexcept>
#include <string>

namespace qsim {

// Process exit codes that scripts rely on; docs/reference/cli.md lists them.
enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,
  kUsage = 2,
  kBadInput = 3,
  kUnsupportedModel = 4,
  kMismatch = 5,
  kRequirementMissed = 6,  // a condition of --fail-if is true
  kPartial = 7,
  kInterrupted = 130,
};

// An error that the user can mend. The message says where, what was found, and what is allowed.
// Caught once, in main.
class Error : public std::runtime_error {
 public:
  // The message becomes one printable line (core/base/printable.h), whatever the words in it hold.
  // `details` are lines that follow it, such as the output of a tool.
  Error(ExitCode code, const std::string& message, const std::string& details = "");
  ExitCode code() const { return code_; }
  const std::string& details() const { return details_; }

 private:
  ExitCode code_;
  std::string details_;
};

// Bad input or config: exit code 3.
[[noreturn]] void throw_bad_input(const std::string& message);
// A model that is well-formed but that this accelerator does not support: exit code 4.
[[noreturn]] void throw_unsupported(const std::string& message);

// A broken invariant of qsim itself: exit code 1.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace qsim

// Throws InternalError with file, line and `message` (a std::string expression) when `condition`
// is false. Always on, also in release builds.
#define QSIM_CHECK(condition, message)                                 \
  do {                                                                 \
    if (!(condition)) {                                                \
      ::qsim::check_failed(__FILE__, __LINE__, #condition, (message)); \
    }                                                                  \
  } while (false)
