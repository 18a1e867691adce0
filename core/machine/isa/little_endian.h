// Numbers of up to eight bytes, little-endian, as parameter slots hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace qsim {

inline std::uint64_t read_bytes(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return value;
}

inline void write_bytes(std::uint64_t value, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(value >> (8 * i));
  }
}

}  // namespace qsim
