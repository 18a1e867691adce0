// Runs another program and waits for it.
#pragma once

#include <string>
#include <vector>

namespace qsim {

struct ProgramOutcome {
  int exit_code = 0;   // 128 + number when a signal ended it
  std::string output;  // stdout and stderr together
};

// `command` is the program and its arguments; no shell. The program gets Ctrl-C and SIGTERM even
// where this process blocks them, and a SIGTERM when this process ends before it. Throws Error when
// no process can be started; a program that cannot be executed gives exit code 127.
ProgramOutcome run_program(const std::vector<std::string>& command);

}  // namespace qsim
