// The list of violations; every check of the verifier adds to it.
#pragma once

#include <string>
#include <vector>

#include "core/machine/program.h"

namespace qsim::compiler::verifier {

class Violations {
 public:
  explicit Violations(const Program& program) : program_(program) {}

  void add(const std::string& text);
  // Prefixed with the command's unit, number and origin.
  void add(Unit unit, std::size_t index, const std::string& text);

  bool empty() const { return count_ == 0; }
  std::vector<std::string> take();

 private:
  const Program& program_;
  std::vector<std::string> texts_;
  std::size_t count_ = 0;
};

}  // namespace qsim::compiler::verifier
