// Bytes that begin at a cache line, so that no vector of a line's size lies on two lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace qsim::golden {

template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  CacheLineAllocator() = default;
  template <typename U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>&) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T* data, std::size_t) { ::operator delete(data, kLine); }
  bool operator==(const CacheLineAllocator&) const = default;
};

using AlignedBytes = std::vector<std::uint8_t, CacheLineAllocator<std::uint8_t>>;

}  // namespace qsim::golden
