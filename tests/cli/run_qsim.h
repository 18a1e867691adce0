// Runs the built executable as a user does: arguments in, exit code, stdout and stderr out.
#pragma once

#include <filesystem>
#include <string>

#include "tests/test_folder.h"

namespace qsim {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// What stderr has beside lines of progress, which come only where a command takes over a second.
std::string without_progress(const std::string& err);

// `qsim ARGUMENTS` through the shell, in `folder`; `prefix` goes before the executable
// ("QSIM_GOLDEN=x", "timeout 5").
Outcome run_qsim(const TestFolder& folder, const std::string& arguments,
                 const std::string& prefix = "");

// Expects that code, nothing on stdout, and on stderr an error that holds `message`.
void expect_error(const TestFolder& folder, const std::string& arguments, int exit_code,
                  const std::string& message, const std::string& prefix = "");

std::string read_file(const std::filesystem::path& path);

// Root of the repository.
std::filesystem::path source_folder();

}  // namespace qsim
