// What is wrong with a command line.
#pragma once

#include <string>

#include "core/base/error.h"

namespace qsim::cli {

[[noreturn]] inline void usage_error(const std::string& message) {
  throw Error(ExitCode::kUsage, message);
}

}  // namespace qsim::cli
