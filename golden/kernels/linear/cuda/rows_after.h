// Matrices too large for one launch are computed in stretches of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "golden/kernels/linear/linear.h"

namespace qsim::golden::cuda {

// The address `count` elements after `values`.
inline const void* after(const void* values, std::int64_t count, FloatType type) {
  return static_cast<const std::byte*>(values) +
         count * static_cast<std::int64_t>(float_type_bytes(type));
}

}  // namespace qsim::golden::cuda
