// A fixed number of bytes that are zero at first, of which a large area takes memory page by page.
#pragma once

#include <cstddef>
#include <span>

namespace qsim {

// A page of a large area takes memory when it is first written, not before. Neither copied nor
// moved: the holder of a span of the bytes may rely on them as long as this object lives.
class ZeroedBytes {
 public:
  explicit ZeroedBytes(std::size_t size);  // throws std::bad_alloc
  ~ZeroedBytes();
  ZeroedBytes(const ZeroedBytes&) = delete;
  ZeroedBytes& operator=(const ZeroedBytes&) = delete;

  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace qsim
