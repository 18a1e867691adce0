// The bytes of one tensor where they are, in memory or in a file. So a large tensor need not be in
// memory twice at once, in its stored form and in its final form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/tensor.h"

namespace qsim::formats {

// Copies the bytes from `offset` on into `to`, which must end within the tensor.
using ReadBytes = std::function<void(std::int64_t offset, std::span<std::byte> to)>;

ReadBytes bytes_in_memory(std::vector<std::byte> bytes);

struct StoredTensor {
  DType dtype = DType::kInt8;
  Shape shape;
  ReadBytes read;

  std::int64_t elems() const { return element_count(shape); }
};

// All of it.
Tensor whole_tensor(const StoredTensor& stored);

// Calls visit(first, rows) for an int8 or uint8 tensor cut along its first axis, in order: `rows`
// has the bytes of rows [first, first + rows.size() / row_elems), a few megabytes at most, or one
// row.
void for_each_stripe(
    const StoredTensor& stored,
    const std::function<void(std::int64_t first, std::span<const std::int8_t> rows)>& visit);

}  // namespace qsim::formats
