// Protobuf's wire format, as far as a message is read without protobuf.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace qsim::formats {

// The low three bits of a field's tag; the bits above are its number.
enum WireType : std::uint64_t {
  kVarint = 0,
  kFixed64 = 1,
  kDelimited = 2,
  kGroupStart = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};

// Takes the number at the front of `bytes`; nothing when it has no end.
inline std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace qsim::formats
