// Numbers at an address that is a multiple of a cache line, without values at first.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace qsim::golden {

template <typename T>
class AlignedArray {
  static_assert(std::is_trivial_v<T>);

 public:
  explicit AlignedArray(std::size_t count)
      : elements_(static_cast<T*>(::operator new(count * sizeof(T), kAlignment))) {}

  T* data() { return elements_.get(); }
  const T* data() const { return elements_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* elements) const { ::operator delete(elements, kAlignment); }
  };
  std::unique_ptr<T[], Free> elements_;
};

}  // namespace qsim::golden
