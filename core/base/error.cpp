#include "core/base/error.h"

#include "core/base/printable.h"

namespace qsim {

Error::Error(ExitCode code, const std::string& message, const std::string& details)
    : std::runtime_error(message_line(message)), code_(code), details_(printable_lines(details)) {}

void throw_bad_input(const std::string& message) { throw Error(ExitCode::kBadInput, message); }

void throw_unsupported(const std::string& message) {
  throw Error(ExitCode::kUnsupportedModel, message);
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) +
                      ": check failed: " + condition + ": " + message);
}

}  // namespace qsim
