// Floats at an address that is a multiple of a cache line, without values at first.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace qsim::golden {

class AlignedFloats {
 public:
  explicit AlignedFloats(std::size_t count = 0)
      : floats_(static_cast<float*>(::operator new(count * sizeof(float), kAlignment))) {}

  float* data() { return floats_.get(); }
  const float* data() const { return floats_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* floats) const { ::operator delete(floats, kAlignment); }
  };
  std::unique_ptr<float[], Free> floats_;
};

}  // namespace qsim::golden
