#include "core/base/printable.h"

#include <algorithm>

namespace qsim {
namespace {

std::uint32_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool is_shown(std::uint32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  // Marks, embeddings, overrides and isolates of the direction of writing; line and paragraph
  // separator; the byte order mark.
  const bool is_layout = code == 0x061c || code == 0x200e || code == 0x200f ||
                         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                         code == 0xfeff;
  return !is_control && !is_layout;
}

void append_escaped(std::string& to, char byte) {
  const auto code = static_cast<unsigned char>(byte);
  to += {'\\', 'x', kHexDigits[code / 16], kHexDigits[code % 16]};
}

std::string shown(std::string_view text, std::string_view allowed) {
  std::string result;
  while (true) {
    const std::size_t at = unprintable_at(text, allowed);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    append_escaped(result, text[at]);
    text.remove_prefix(at + 1);
  }
}

// The largest end <= `at` that cuts no character of printable `text`.
std::size_t cut_before(std::string_view text, std::size_t at) {
  while (at > 0 && (byte_at(text, at) & 0xc0) == 0x80) --at;
  return at;
}

}  // namespace

Utf8Character first_utf8_character(std::string_view text) {
  const std::uint32_t lead = byte_at(text, 0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte_at(text, i) & 0x3f);
  }
  const bool is_shortest = code >= (bytes == 4 ? 0x10000u : bytes == 3 ? 0x800u : 0x80u);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (!is_shortest || is_surrogate || code > 0x10ffff) return {};
  return {bytes, code};
}

std::size_t printable_length(std::string_view text) {
  const Utf8Character character = first_utf8_character(text);
  return is_shown(character.code) ? character.bytes : 0;
}

std::size_t unprintable_at(std::string_view text, std::string_view allowed) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = printable_length(text.substr(at));
    if (length == 0 && allowed.find(text[at]) == std::string_view::npos) return at;
    at += std::max<std::size_t>(length, 1);
  }
  return std::string_view::npos;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = first_utf8_character(text);
    if (character.bytes == 0) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

std::string printable(std::string_view text) { return shown(text, ""); }

std::string printable_lines(std::string_view text) { return shown(text, "\n"); }

std::string echoed(std::string_view word) {
  // A character that the limit would cut is shown as bytes.
  std::string text = printable(word.substr(0, kMaxEchoBytes));
  if (word.size() > kMaxEchoBytes) text += "... (" + std::to_string(word.size()) + " bytes)";
  return text;
}

std::string message_line(std::string_view message) {
  constexpr std::size_t kTail = kMaxMessageBytes / 4;
  const std::string text = printable(message);
  if (text.size() <= kMaxMessageBytes) return text;
  constexpr std::size_t kNote = 64;
  const std::size_t head = cut_before(text, kMaxMessageBytes - kTail - kNote);
  const std::size_t tail = cut_before(text, text.size() - kTail);
  return text.substr(0, head) + " ... (" + std::to_string(tail - head) + " bytes left out) ... " +
         text.substr(tail);
}

}  // namespace qsim
