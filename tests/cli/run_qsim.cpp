#include "tests/cli/run_qsim.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace qsim {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

fs::path source_folder() { return QSIM_SOURCE_DIR; }

Outcome run_qsim(const TestFolder& folder, const std::string& arguments,
                 const std::string& prefix) {
  const TestFolder output;
  const std::string command =
      "cd '" + folder.path().string() + "' && " + prefix + " '" + QSIM_EXECUTABLE + "' " +
      arguments + " > '" + (output / "out").string() + "' 2> '" + (output / "err").string() + "'";
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.out = read_file(output / "out");
  outcome.err = read_file(output / "err");
  return outcome;
}

std::string without_progress(const std::string& err) {
  std::istringstream lines(err);
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    const bool progress = line.starts_with("qsim: ") && !line.starts_with("qsim: error: ") &&
                          !line.starts_with("qsim: note: ");
    if (!progress) rest += line + "\n";
  }
  return rest;
}

void expect_error(const TestFolder& folder, const std::string& arguments, int exit_code,
                  const std::string& message, const std::string& prefix) {
  const Outcome outcome = run_qsim(folder, arguments, prefix);
  EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.err;
  EXPECT_EQ(outcome.out, "") << arguments;
  EXPECT_EQ(outcome.err.rfind("qsim: error: ", 0), 0u) << outcome.err;
  EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
}

}  // namespace qsim
