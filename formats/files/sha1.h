// SHA-1 (FIPS 180-4), which ONNX names for the checksum of an external data file. It finds damage.
// It does not stop an attacker, who can make two files of one SHA-1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace qsim::formats {

class Sha1 {
 public:
  void add(std::span<const std::byte> bytes);
  // 40 hexadecimal digits, lower case. Nothing can be added after it.
  std::string finish();

 private:
  static constexpr std::size_t kBlockBytes = 64;

  void add_block();

  std::array<std::uint32_t, 5> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                                         0xc3d2e1f0};
  std::array<std::byte, kBlockBytes> block_{};
  std::size_t filled_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace qsim::formats
