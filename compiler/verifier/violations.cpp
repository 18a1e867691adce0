#include "compiler/verifier/violations.h"

#include "core/machine/program_text.h"

namespace qsim::compiler::verifier {
namespace {

constexpr std::size_t kReported = 20;

}  // namespace

void Violations::add(const std::string& text) {
  if (count_++ < kReported) texts_.push_back(text);
}

void Violations::add(Unit unit, std::size_t index, const std::string& text) {
  if (count_ < kReported) {
    add(command_label(program_, unit, index) + ": " + text);
  } else {
    ++count_;
  }
}

std::vector<std::string> Violations::take() {
  if (count_ > kReported) {
    texts_.push_back("and " + std::to_string(count_ - kReported) + " violations more");
  }
  return std::move(texts_);
}

}  // namespace qsim::compiler::verifier
