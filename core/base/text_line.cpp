#include "core/base/text_line.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace qsim {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-+./:,").find(c) != std::string_view::npos;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string joined(std::span<const std::string_view> keys) {
  std::string text;
  for (const std::string_view key : keys) text += (text.empty() ? "" : ", ") + std::string(key);
  return text.empty() ? "none" : text;
}

}  // namespace

std::string quoted_word(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string marked;
  for (const char c : text) {
    if (c == '"' || c == '\\') marked += '\\';
    marked += c;
  }
  return '"' + printable(marked) + '"';
}

void fail_at(const TextPosition& position, std::size_t column, const std::string& found,
             const std::string& expected) {
  throw_bad_input(*position.source + ":" + std::to_string(position.line) + ":" +
                  std::to_string(column) + ": found " + found + "; expected " + expected);
}

std::string hex_line(std::span<const std::byte> bytes) {
  std::string line;
  line.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    line += kHexDigits[std::to_integer<std::size_t>(byte >> 4)];
    line += kHexDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return line;
}

void append_hex(std::string_view line, const TextPosition& position, std::size_t count,
                std::vector<std::byte>& bytes) {
  const std::size_t digits = std::min(line.size(), 2 * count);
  int byte = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const int digit = hex_digit(line[i]);
    if (digit < 0) {
      fail_at(position, i + 1, "'" + std::string(1, line[i]) + "'",
              "a hexadecimal digit, lower case");
    }
    byte = byte * 16 + digit;
    if (i % 2 == 0) continue;
    bytes.push_back(static_cast<std::byte>(byte));
    byte = 0;
  }
  if (line.size() != 2 * count) {
    fail_at(position, digits + 1, std::to_string(line.size()) + " characters",
            std::to_string(2 * count) + " hexadecimal digits");
  }
}

TextLine::TextLine(std::string_view text, TextPosition position)
    : position_(position), columns_(text.size()) {
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && text[at] == ' ') ++at;
    if (at == text.size()) break;
    const std::size_t column = at + 1;
    if (pieces_.size() == kMaxLinePieces) {
      fail_at(position_, column,
              "more than " + std::to_string(kMaxLinePieces) + " words and fields",
              "the end of the line");
    }
    Piece piece = take_piece(text, at);
    if (piece.key.empty()) {
      if (words_ != pieces_.size()) {
        fail_at(position_, column, "'" + echoed(piece.value) + "'", "a field key=value");
      }
      ++words_;
    } else if (find(piece.key) != nullptr) {
      fail_at(position_, column, "field '" + echoed(piece.key) + "' a second time",
              "every field once");
    }
    pieces_.push_back(std::move(piece));
  }
}

TextLine::Piece TextLine::take_piece(std::string_view text, std::size_t& at) const {
  Piece piece{{}, {}, at + 1};
  if (text[at] == '"') {
    piece.value = take_quoted(text, at);
  } else {
    const std::size_t begin = at;
    while (at < text.size() && is_plain(text[at])) ++at;
    if (at < text.size() && text[at] == '=' && at > begin) {
      piece.key = text.substr(begin, at - begin);
      piece.column = ++at + 1;
      if (at < text.size() && text[at] == '"') {
        piece.value = take_quoted(text, at);
      } else {
        const std::size_t value = at;
        while (at < text.size() && is_plain(text[at])) ++at;
        piece.value = text.substr(value, at - value);
      }
    } else {
      piece.value = text.substr(begin, at - begin);
    }
  }
  if (at < text.size() && text[at] != ' ') {
    fail_at(position_, at + 1, quoted_word(text.substr(at, 1)), "a space between fields");
  }
  return piece;
}

std::string TextLine::take_quoted(std::string_view text, std::size_t& at) const {
  const std::size_t begin = at++;
  std::string value;
  while (at < text.size() && text[at] != '"') {
    if (text[at] != '\\') {
      value += text[at++];
      continue;
    }
    const char escape = at + 1 < text.size() ? text[at + 1] : ' ';
    const int high = at + 2 < text.size() ? hex_digit(text[at + 2]) : -1;
    const int low = at + 3 < text.size() ? hex_digit(text[at + 3]) : -1;
    if (escape == '"' || escape == '\\') {
      value += escape;
      at += 2;
    } else if (escape == 'x' && high >= 0 && low >= 0) {
      value += static_cast<char>(high * 16 + low);
      at += 4;
    } else {
      fail_at(position_, at + 1, "a backslash", "\\\", \\\\ or \\x and two lower-case digits");
    }
  }
  if (at == text.size()) fail_at(position_, begin + 1, "a quote", "a closing quote on the line");
  ++at;
  return value;
}

std::string_view TextLine::word(std::size_t index) const {
  return index < words_ ? std::string_view(pieces_[index].value) : std::string_view();
}

void TextLine::fail_word(std::size_t index, const std::string& expected) const {
  if (index < words_) {
    fail_at(position_, pieces_[index].column, "'" + echoed(pieces_[index].value) + "'", expected);
  }
  const bool is_end = index >= pieces_.size();
  const std::size_t column = is_end ? columns_ + 1 : pieces_[index].column;
  fail_at(position_, column,
          is_end ? "the end of the line" : "field '" + echoed(pieces_[index].key) + "'", expected);
}

std::int64_t TextLine::word_number(std::size_t index, std::int64_t min, std::int64_t max) const {
  if (index >= words_) fail_word(index, "a number");
  return parse_number(pieces_[index], pieces_[index].value, pieces_[index].column, min, max);
}

std::string TextLine::word_text(std::size_t index) const {
  if (index >= words_) fail_word(index, "a name");
  return pieces_[index].value;
}

void TextLine::expect(std::size_t words, std::span<const std::string_view> keys) const {
  if (words_ > words) fail_word(words, "a field key=value or the end of the line");
  for (std::size_t i = words_; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (std::find(keys.begin(), keys.end(), piece.key) != keys.end()) continue;
    fail_at(position_, piece.column - piece.key.size() - 1,
            "unknown field '" + echoed(piece.key) + "'", "one of: " + joined(keys));
  }
}

void TextLine::expect(std::size_t words, std::initializer_list<std::string_view> keys) const {
  expect(words, std::span(keys.begin(), keys.size()));
}

const TextLine::Piece* TextLine::find(std::string_view key) const {
  for (std::size_t i = words_; i < pieces_.size(); ++i) {
    if (pieces_[i].key == key) return &pieces_[i];
  }
  return nullptr;
}

const TextLine::Piece& TextLine::require(std::string_view key) const {
  const Piece* piece = find(key);
  if (piece == nullptr) {
    fail_at(position_, columns_ + 1, "the end of the line", "field '" + std::string(key) + "'");
  }
  return *piece;
}

bool TextLine::has(std::string_view key) const { return find(key) != nullptr; }

std::string TextLine::text(std::string_view key) const { return require(key).value; }

void TextLine::fail(std::string_view key, const std::string& expected) const {
  const Piece& piece = require(key);
  fail_at(position_, piece.column, std::string(key) + "='" + echoed(piece.value) + "'", expected);
}

std::int64_t TextLine::parse_number(const Piece& piece, std::string_view digits, std::size_t column,
                                    std::int64_t min, std::int64_t max) const {
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (digits.empty() || error != std::errc{} || stop != end || value < min || value > max) {
    const std::string name = piece.key.empty() ? "" : std::string(piece.key) + "=";
    fail_at(position_, column, name + "'" + echoed(digits) + "'",
            "a number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

std::int64_t TextLine::number(std::string_view key, std::int64_t min, std::int64_t max) const {
  const Piece& piece = require(key);
  return parse_number(piece, piece.value, piece.column, min, max);
}

std::size_t TextLine::choice(std::string_view key, std::span<const std::string_view> words) const {
  const auto found = std::find(words.begin(), words.end(), require(key).value);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  std::string allowed;
  for (const std::string_view word : words) {
    allowed += (allowed.empty() ? "'" : ", '") + std::string(word) + "'";
  }
  fail(key, allowed);
}

std::pair<std::int64_t, std::int64_t> TextLine::range(std::string_view key, std::int64_t min,
                                                      std::int64_t max) const {
  const Piece& piece = require(key);
  const std::size_t dots = piece.value.find("..");
  if (dots == std::string::npos) fail(key, "two numbers as in 0..8");
  const std::string_view value = piece.value;
  return {parse_number(piece, value.substr(0, dots), piece.column, min, max),
          parse_number(piece, value.substr(dots + 2), piece.column + dots + 2, min, max)};
}

}  // namespace qsim
