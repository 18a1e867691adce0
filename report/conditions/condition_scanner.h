// The text of a --fail-if condition, read from left to right: its words, numbers and names of
// files.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace qsim::report {

class ConditionScanner {
 public:
  // `text` must outlive it. Throws Error (exit code 2) for one of more than 4000 characters.
  explicit ConditionScanner(const std::string& text);

  std::size_t at() const { return at_; }
  void back_to(std::size_t at) { at_ = at; }
  std::string_view rest() const { return std::string_view(text_).substr(at_); }
  // The next character; a blank at the end.
  char next() const { return at_ < text_.size() ? text_[at_] : ' '; }
  bool at_end() const { return at_ >= text_.size(); }

  // Throws Error (exit code 2): what was found in the column, and what was expected.
  [[noreturn]] void fail(std::size_t at, const std::string& expected) const;
  [[noreturn]] void fail(const std::string& expected) const { fail(at_, expected); }

  void skip_blanks();
  // Blanks, then `token`, if it is there.
  bool take(std::string_view token);
  // The first of them that is there; "" for none.
  std::string take_one_of(std::initializer_list<const char*> tokens);
  // Letters, digits and _; "" for none.
  std::string word();
  // Between the quotes that begin here.
  std::string quoted();
  // Decimal, with a point or an exponent.
  double number();
  // A path of letters, digits and ._/~- that begins here and ends with .json; "" for none.
  std::string file();

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace qsim::report
