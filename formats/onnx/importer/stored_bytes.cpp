#include "formats/onnx/importer/stored_bytes.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace qsim::formats {
namespace {

constexpr std::int64_t kStripeBytes = std::int64_t{4} << 20;

}  // namespace

ReadBytes bytes_in_memory(std::vector<std::byte> bytes) {
  // std::function copies what it holds.
  const auto shared = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return [shared](std::int64_t offset, std::span<std::byte> to) {
    const auto from = std::span(*shared).subspan(static_cast<std::size_t>(offset), to.size());
    std::copy(from.begin(), from.end(), to.begin());
  };
}

Tensor whole_tensor(const StoredTensor& stored) {
  Tensor tensor(stored.dtype, stored.shape);
  stored.read(0, tensor.bytes);
  return tensor;
}

void for_each_stripe(
    const StoredTensor& stored,
    const std::function<void(std::int64_t first, std::span<const std::int8_t> rows)>& visit) {
  QSIM_CHECK(dtype_bytes(stored.dtype) == 1 && stored.elems() > 0, "stripes are of bytes");
  const std::int64_t rows = stored.shape[0];
  const std::int64_t row_bytes = stored.elems() / rows;
  const std::int64_t step = std::clamp<std::int64_t>(kStripeBytes / row_bytes, 1, rows);
  std::vector<std::int8_t> stripe(static_cast<std::size_t>(step * row_bytes));
  for (std::int64_t first = 0; first < rows; first += step) {
    const std::int64_t count = std::min(step, rows - first) * row_bytes;
    const auto part = std::span(stripe).first(static_cast<std::size_t>(count));
    stored.read(first * row_bytes, std::as_writable_bytes(part));
    visit(first, part);
  }
}

}  // namespace qsim::formats
