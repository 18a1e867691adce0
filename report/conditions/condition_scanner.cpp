#include "report/conditions/condition_scanner.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace qsim::report {
namespace {

constexpr std::size_t kMostCharacters = 4000;
constexpr std::string_view kJson = ".json";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_path(char c) { return is_word(c) || (c != '\0' && std::strchr("./~-", c) != nullptr); }

}  // namespace

ConditionScanner::ConditionScanner(const std::string& text) : text_(text) {
  if (text.size() > kMostCharacters) fail(kMostCharacters, "at most 4000 characters are allowed");
}

// What is there: twelve characters, or all of a word that is longer.
void ConditionScanner::fail(std::size_t at, const std::string& expected) const {
  constexpr std::size_t kLeastShown = 12;
  std::size_t end = std::min(at, text_.size());
  while (end < text_.size() && is_word(text_[end])) ++end;
  const std::size_t shown = std::max(kLeastShown, end - std::min(at, end));
  const std::string found = at >= text_.size()
                                ? "the end"
                                : "'" + echoed(std::string_view(text_).substr(at, shown)) + "'";
  throw Error(ExitCode::kUsage, "--fail-if '" + echoed(text_) + "': column " +
                                    std::to_string(at + 1) + ": found " + found + "; " + expected);
}

void ConditionScanner::skip_blanks() {
  while (!at_end() && std::strchr(" \t\r\n", next()) != nullptr && next() != '\0') ++at_;
}

bool ConditionScanner::take(std::string_view token) {
  skip_blanks();
  if (!rest().starts_with(token)) return false;
  at_ += token.size();
  return true;
}

std::string ConditionScanner::take_one_of(std::initializer_list<const char*> tokens) {
  for (const char* token : tokens) {
    if (take(token)) return token;
  }
  return "";
}

std::string ConditionScanner::word() {
  const std::size_t begin = at_;
  while (!at_end() && is_word(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string ConditionScanner::quoted() {
  const std::size_t begin = at_ + 1;
  const std::size_t end = text_.find('"', begin);
  if (end == std::string::npos || end == begin) fail("expected a name and a second quote");
  at_ = end + 1;
  return text_.substr(begin, end - begin);
}

double ConditionScanner::number() {
  double value = 0;
  const std::string_view digits = rest();
  const auto [last, error] = std::from_chars(digits.begin(), digits.end(), value);
  if (error == std::errc::invalid_argument) fail("expected a number");
  if (error != std::errc()) fail("expected a number below 1e308");
  at_ += static_cast<std::size_t>(last - digits.begin());
  return value;
}

// It ends with its last .json: `old.json-new.json` is one name.
std::string ConditionScanner::file() {
  std::size_t end = at_;
  while (end < text_.size() && is_path(text_[end])) ++end;
  const std::string_view path = rest().substr(0, end - at_);
  const std::size_t last = path.rfind(kJson);
  if (last == std::string_view::npos || last == 0) return "";
  const std::size_t length = last + kJson.size();
  if (length < path.size() && is_word(path[length])) return "";
  at_ += length;
  return std::string(path.substr(0, length));
}

}  // namespace qsim::report
