#include "files/yaml_text.h"

#include <algorithm>

#include "core/error.h"
#include "core/printable.h"

namespace qsim {
namespace {

[[noreturn]] void refuse_byte(std::string_view text, std::size_t at, const std::string& source) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  const auto byte = static_cast<unsigned char>(text[at]);
  throw_bad_input(source + ":" + std::to_string(line) + ":" + std::to_string(column) +
                  ": found the byte 0x" + kHexDigits[byte / 16] + kHexDigits[byte % 16] +
                  "; a YAML file is UTF-8 text without control characters");
}

// yaml-cpp ends a line at a carriage return alone, and replaces what is not UTF-8.
void require_text(std::string_view text, const std::string& source) {
  std::size_t at = 0;
  while (true) {
    const std::size_t found = unprintable_at(text.substr(at), "\t\n");
    if (found == std::string_view::npos) return;
    at += found;
    if (!text.substr(at).starts_with("\r\n")) refuse_byte(text, at, source);
    ++at;
  }
}

// yaml-cpp passes over a line that begins with '%', wherever it is in the file.
void refuse_directives(std::string_view text, const std::string& source) {
  std::int64_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    if (text[at] == '%') {
      throw_bad_input(source + ":" + std::to_string(line) +
                      ":1: found a directive (a line that begins with '%'); directives are not "
                      "allowed");
    }
    const std::size_t end = text.find('\n', at);
    at = end == std::string_view::npos ? text.size() : end + 1;
  }
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Walks over the text within brackets, quotes and comments in one step each.
class FlowText {
 public:
  explicit FlowText(std::string_view text) : text_(text) {}

  // The next character that is not blank, quoted or in a comment; 0 at the end.
  char next() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (is_blank(c)) {
        after_blank_ = true;
      } else if (c == '#' && after_blank_) {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if ((c == '"' || c == '\'') && begins_value()) {
        const std::size_t length = quoted_length(text_.substr(at_));
        has_open_quote_ = length == std::string_view::npos;
        if (has_open_quote_) return 0;
        at_ += length - 1;
        pass(c);
      } else {
        ++at_;
        pass(c);
        return c;
      }
    }
    return 0;
  }
  bool has_open_quote() const { return has_open_quote_; }

 private:
  // A quote in the middle of a value (it's) is an ordinary character.
  bool begins_value() const {
    if (last_ == ':') return after_blank_ || before_last_ == '"' || before_last_ == '\'';
    return last_ == '[' || last_ == '{' || last_ == ',';
  }
  void pass(char c) {
    before_last_ = last_;
    last_ = c;
    after_blank_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool after_blank_ = false;
  char last_ = 0;  // that was passed, blanks left out
  char before_last_ = 0;
  bool has_open_quote_ = false;
};

}  // namespace

void require_yaml_text(std::string_view text, const std::string& source) {
  require_text(text, source);
  refuse_directives(text, source);
}

std::size_t quoted_length(std::string_view from) {
  const char quote = from[0];
  const std::string_view line = from.substr(0, from.find('\n'));
  for (std::size_t at = 1; at < line.size(); ++at) {
    if (line[at] == '\\' && quote == '"') {
      ++at;
    } else if (line[at] == quote) {
      if (quote == '"' || !line.substr(at + 1).starts_with(quote)) return at + 1;
      ++at;  // '' within single quotes is one of them
    }
  }
  return std::string_view::npos;
}

bool leaves_bracket_open(std::string_view from) {
  FlowText text(from);
  for (std::int64_t depth = 0; const char c = text.next();) {
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return false;
  }
  return !text.has_open_quote();
}

}  // namespace qsim
