#include "core/base/zeroed_bytes.h"

#include <cstdlib>
#include <new>

namespace qsim {

// calloc takes large areas from the operating system, whose pages are zero, and leaves them alone.
ZeroedBytes::ZeroedBytes(std::size_t size)
    : bytes_(static_cast<std::byte*>(std::calloc(size, 1)), size) {
  if (bytes_.data() == nullptr && size > 0) throw std::bad_alloc();
}

ZeroedBytes::~ZeroedBytes() { std::free(bytes_.data()); }

}  // namespace qsim
