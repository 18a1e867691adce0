// Words from outside (names in a file, keys, paths) made fit for a line of a terminal or a report:
// nothing in them ends the line, moves the cursor, or changes the order in which text is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace qsim {

// A message shows this much of one word, and has this many bytes at most itself.
inline constexpr std::size_t kMaxEchoBytes = 200;
inline constexpr std::size_t kMaxMessageBytes = 4096;

struct Utf8Character {
  std::size_t bytes = 0;  // 0: not UTF-8
  std::uint32_t code = 0;
};
// The first of `text`, which is not empty. The shortest form alone counts, and no surrogate does.
Utf8Character first_utf8_character(std::string_view text);

// The length of the character that `text`, which is not empty, begins with, or 0 where a line
// cannot show it: control characters (C0, DEL, C1), line and paragraph separators, controls of the
// writing direction, and bytes that are not UTF-8.
std::size_t printable_length(std::string_view text);

// The first byte of `text` that a line cannot show, but for the characters of `allowed`; npos where
// there is none.
std::size_t unprintable_at(std::string_view text, std::string_view allowed = "");

// Whether all of `text` is UTF-8; control characters are.
bool is_utf8(std::string_view text);

// `text` with \xHH for each byte of what a line cannot show. Text that is printable comes back as
// it is, so it does no harm to do it twice.
std::string printable(std::string_view text);

inline constexpr char kHexDigits[] = "0123456789abcdef";

// The same for several lines: their ends stay.
std::string printable_lines(std::string_view text);

// A word as a message shows it: printable, and of a long one the start and the length.
std::string echoed(std::string_view word);

// A message as one printable line; from the middle of a long one, bytes are left out.
std::string message_line(std::string_view message);

}  // namespace qsim
