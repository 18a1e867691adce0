// libFuzzer's own mutations, after which the checksums of a PNG's chunks are right again: with a
// wrong one the reader sees nothing but the wrong checksum.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

constexpr std::size_t kSignatureBytes = 8;

// CRC-32 of ISO 3309, as PNG's specification gives it.
std::uint32_t crc_of(const std::uint8_t* data, std::size_t size) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

// Chunk after chunk: length, type, data, checksum; until one does not fit.
void mend_checksums(std::uint8_t* data, std::size_t size) {
  for (std::size_t at = kSignatureBytes; at + 12 <= size;) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | data[at + i];
    if (length > size - at - 12) return;
    const std::uint32_t crc = crc_of(data + at + 4, length + 4);
    for (std::size_t i = 0; i < 4; ++i) {
      data[at + 8 + length + i] = static_cast<std::uint8_t>(crc >> (24 - 8 * i));
    }
    at += 12 + length;
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  const std::size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  // One in eight stays as it is, for the checksums' own sake.
  if (seed % 8 != 0 && mutated > kSignatureBytes && data[0] == 0x89) mend_checksums(data, mutated);
  return mutated;
}
