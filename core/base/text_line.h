// One line of a program's text: a keyword, plain words, then fields `key=value`. Every complaint
// says source:line:column, what was found and what is expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qsim {

// `text` unchanged if it is a plain word, otherwise in quotes with \" \\ and \xHH escapes.
std::string quoted_word(std::string_view text);

struct TextPosition {
  const std::string* source = nullptr;
  std::int64_t line = 0;
};

[[noreturn]] void fail_at(const TextPosition& position, std::size_t column,
                          const std::string& found, const std::string& expected);

// Each field of a line is compared with those before it; a command has 30.
inline constexpr std::size_t kMaxLinePieces = 128;

// Bytes as hexadecimal digits, lower case, this many bytes a line.
inline constexpr std::size_t kHexLineBytes = 64;
std::string hex_line(std::span<const std::byte> bytes);
// Appends `count` bytes; throws Error unless `line` is exactly their digits.
void append_hex(std::string_view line, const TextPosition& position, std::size_t count,
                std::vector<std::byte>& bytes);

class TextLine {
 public:
  // Splits the line into words and fields; throws Error for a broken quote or a repeated key.
  TextLine(std::string_view text, TextPosition position);

  // The word number `index`, 0 being the keyword; "" where there is none.
  std::string_view word(std::size_t index) const;
  // Throws Error unless word `index` is a number in [min, max].
  std::int64_t word_number(std::size_t index, std::int64_t min, std::int64_t max) const;
  std::string word_text(std::size_t index) const;

  // Throws Error for a word beyond the first `words`, and for a key that is not among `keys`.
  void expect(std::size_t words, std::span<const std::string_view> keys) const;
  void expect(std::size_t words, std::initializer_list<std::string_view> keys) const;

  // The value of a field; throw Error when it is absent, malformed or out of [min, max].
  bool has(std::string_view key) const;
  std::string text(std::string_view key) const;
  std::int64_t number(std::string_view key, std::int64_t min, std::int64_t max) const;
  // The index in `words` of the field's value.
  std::size_t choice(std::string_view key, std::span<const std::string_view> words) const;
  // "3..8"
  std::pair<std::int64_t, std::int64_t> range(std::string_view key, std::int64_t min,
                                              std::int64_t max) const;
  [[noreturn]] void fail(std::string_view key, const std::string& expected) const;
  [[noreturn]] void fail_word(std::size_t index, const std::string& expected) const;

 private:
  struct Piece {
    std::string_view key;  // "" for a word
    std::string value;     // without quotes and escapes
    std::size_t column;    // of the value
  };

  Piece take_piece(std::string_view text, std::size_t& at) const;
  std::string take_quoted(std::string_view text, std::size_t& at) const;
  const Piece* find(std::string_view key) const;
  const Piece& require(std::string_view key) const;
  std::int64_t parse_number(const Piece& piece, std::string_view digits, std::size_t column,
                            std::int64_t min, std::int64_t max) const;

  TextPosition position_;
  std::size_t columns_;
  std::size_t words_ = 0;  // the first pieces are words
  std::vector<Piece> pieces_;
};

}  // namespace qsim
