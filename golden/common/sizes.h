// Sizes and indices of tensors as the C++ library counts them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qsim::golden {

inline std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace qsim::golden
