// Descriptions of tensors for Hopper's copy engine.
#pragma once

#include <cstdint>
#include <vector>

#include <cuda.h>

namespace qsim::golden::cuda {

// A tensor of bytes in device memory, innermost dimension first, and the box that one copy
// takes. The box's rows (its innermost dimension, 64 or 128 bytes) are swizzled in shared memory;
// what lies outside the tensor arrives as 0. Throws Error when the driver refuses it.
// `strides`: bytes from one index to the next, from the second dimension on; a dense tensor's where
// it is empty.
CUtensorMap make_tensor_map(const void* data, const std::vector<std::uint64_t>& sizes,
                            const std::vector<std::uint32_t>& box,
                            std::vector<std::uint64_t> strides = {},
                            std::vector<std::uint32_t> steps = {});

}  // namespace qsim::golden::cuda
