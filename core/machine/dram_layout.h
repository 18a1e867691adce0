// Where the elements of an activation tensor lie in DRAM, and how the host puts a picture there
// and takes an ofmap back. The only code that knows the blocked layout.
//
// [N][ceil(C / B)][H][W][B], B = block_channels = max(array_rows, array_cols): the B channels of a
// pixel are contiguous, so that rows of a tile are long runs. Elements are carried int8
// (core/numerics/requantize.h); lanes beyond C hold whatever the producer left there.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/network/graph.h"

namespace qsim {

struct DramTensor {
  std::int64_t address = 0;  // bytes
  Value value;               // shape, dtype and zero_point as the host sees them
  std::int64_t block = 1;    // B

  std::int64_t blocks() const;         // ceil(C / B)
  std::int64_t row_bytes() const;      // W * B
  std::int64_t plane_bytes() const;    // H * W * B: one channel block of one picture
  std::int64_t picture_bytes() const;  // one picture
  std::int64_t size_bytes() const;     // the whole batch
  // Address of element (n, y, x, c).
  std::int64_t element_address(std::int64_t n, std::int64_t y, std::int64_t x,
                               std::int64_t c) const;
  bool operator==(const DramTensor&) const = default;
};

// The first layer's picture with the taps of its window laid side by side as channels (the host
// does it): tensor channel (ky * kernel_w + kx) * C + c at (oy, ox) is the picture's element
// (oy * stride_h + ky - pad_top, ox * stride_w + kx - pad_left, c), or zero_point outside it.
struct TapPacking {
  Window window;
  ImageShape picture;  // what the host hands in

  ImageShape packed_shape() const;  // of the tensor that the host writes
  bool operator==(const TapPacking&) const = default;
};

// What the host writes to DRAM before a run.
struct HostInput {
  DramTensor tensor;
  std::optional<TapPacking> taps;

  ImageShape picture() const { return taps ? taps->picture : tensor.value.shape; }
  bool operator==(const HostInput&) const = default;
};

// Writes `picture` (NHWC, dtype and shape of the input) into `dram`, which starts at
// input.tensor.address. Lanes beyond the channels are written as 0.
void pack_input(const HostInput& input, const Tensor& picture, std::span<std::byte> dram);

// Row y of picture n: [W][C] elements in the tensor's own dtype. `dram` is the whole tensor's
// blocked bytes, starting at tensor.address, not the row's. Throws InternalError for a `dram` or
// `row` of another size.
void unpack_row(const DramTensor& tensor, std::span<const std::byte> dram, std::int64_t n,
                std::int64_t y, std::span<std::byte> row);

// The tensor (NHWC, in its own dtype) whose blocked bytes are `dram`, starting at tensor.address.
// Throws InternalError for a `dram` of another size.
Tensor unpack(const DramTensor& tensor, std::span<const std::byte> dram);

}  // namespace qsim
