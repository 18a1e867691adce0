#include "formats/files/sha1.h"

#include <algorithm>
#include <bit>

namespace qsim::formats {
namespace {

struct Round {
  std::uint32_t f;
  std::uint32_t k;
};

Round round_of(std::size_t t, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  if (t < 20) return {(b & c) | (~b & d), 0x5a827999};
  if (t < 40) return {b ^ c ^ d, 0x6ed9eba1};
  if (t < 60) return {(b & c) | (b & d) | (c & d), 0x8f1bbcdc};
  return {b ^ c ^ d, 0xca62c1d6};
}

}  // namespace

void Sha1::add_block() {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    w[i / 4] = w[i / 4] << 8 | std::to_integer<std::uint32_t>(block_[i]);
  }
  for (std::size_t t = 16; t < w.size(); ++t) {
    w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  }
  auto [a, b, c, d, e] = state_;
  for (std::size_t t = 0; t < w.size(); ++t) {
    const Round round = round_of(t, b, c, d);
    const std::uint32_t next = std::rotl(a, 5) + round.f + e + round.k + w[t];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const std::array<std::uint32_t, 5> sums = {a, b, c, d, e};
  for (std::size_t i = 0; i < sums.size(); ++i) state_[i] += sums[i];
  filled_ = 0;
}

void Sha1::add(std::span<const std::byte> bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t part = std::min(kBlockBytes - filled_, bytes.size());
    std::copy_n(bytes.begin(), part, block_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += part;
    bytes = bytes.subspan(part);
    if (filled_ == kBlockBytes) add_block();
  }
}

std::string Sha1::finish() {
  const std::uint64_t bits = 8 * bytes_;
  constexpr std::array kOne = {std::byte{0x80}};
  constexpr std::array kZero = {std::byte{0}};
  add(kOne);
  while (filled_ != kBlockBytes - 8) add(kZero);
  for (int shift = 56; shift >= 0; shift -= 8) {
    const std::array byte = {static_cast<std::byte>(bits >> shift & 0xff)};
    add(byte);
  }
  std::string digits;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 15];
  }
  return digits;
}

}  // namespace qsim::formats
