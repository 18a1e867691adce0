#include "core/machine/dram_layout.h"

#include <algorithm>
#include <cstring>

#include "core/base/checked_math.h"

namespace qsim {
namespace {

// uint8 <-> carried int8 is XOR 0x80 both ways.
std::byte carry_mask(const Value& value) {
  return value.is_unsigned() ? std::byte{0x80} : std::byte{0};
}

void copy_carried(const std::byte* from, std::int64_t count, std::byte mask, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] ^ mask;
}

// The lanes of a block beyond the tensor's channels, of which it holds the last `count`.
void clear_rest(const DramTensor& tensor, std::int64_t count, std::byte* block) {
  std::fill(block + count, block + tensor.block, std::byte{0});
}

void pack_plain(const DramTensor& tensor, const Tensor& picture, std::span<std::byte> dram) {
  const ImageShape& shape = tensor.value.shape;
  const std::byte mask = carry_mask(tensor.value);
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) {
        const std::int64_t pixel = (n * shape.height + y) * shape.width + x;
        for (std::int64_t c = 0; c < shape.channels; c += tensor.block) {
          const std::int64_t count = std::min(tensor.block, shape.channels - c);
          std::byte* to = dram.data() + tensor.element_address(n, y, x, c) - tensor.address;
          copy_carried(picture.bytes.data() + pixel * shape.channels + c, count, mask, to);
          clear_rest(tensor, count, to);
        }
      }
    }
  }
}

void check_whole(const DramTensor& tensor, std::span<const std::byte> dram) {
  QSIM_CHECK(static_cast<std::int64_t>(dram.size()) == tensor.size_bytes(),
             "ofmap region has the wrong size");
}

// All taps of one output position, as channels.
void gather_taps(const HostInput& input, const Tensor& picture, std::int64_t n, std::int64_t oy,
                 std::int64_t ox, std::span<std::byte> taps) {
  const Window& window = input.taps->window;
  const ImageShape& shape = input.taps->picture;
  const auto pad = static_cast<std::byte>(
      carried(input.tensor.value.zero_point, input.tensor.value.is_unsigned()));
  const std::byte mask = carry_mask(input.tensor.value);
  std::byte* to = taps.data();
  for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
    for (std::int64_t kx = 0; kx < window.kernel_w; ++kx, to += shape.channels) {
      const std::int64_t y = oy * window.stride_h + ky - window.pad_top;
      const std::int64_t x = ox * window.stride_w + kx - window.pad_left;
      if (y < 0 || y >= shape.height || x < 0 || x >= shape.width) {
        std::fill(to, to + shape.channels, pad);
      } else {
        const std::int64_t pixel = (n * shape.height + y) * shape.width + x;
        copy_carried(picture.bytes.data() + pixel * shape.channels, shape.channels, mask, to);
      }
    }
  }
}

void pack_taps(const HostInput& input, const Tensor& picture, std::span<std::byte> dram) {
  const DramTensor& tensor = input.tensor;
  const ImageShape& shape = tensor.value.shape;
  std::vector<std::byte> taps(static_cast<std::size_t>(shape.channels));
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) {
        gather_taps(input, picture, n, y, x, taps);
        for (std::int64_t c = 0; c < shape.channels; c += tensor.block) {
          const std::int64_t count = std::min(tensor.block, shape.channels - c);
          std::byte* to = dram.data() + tensor.element_address(n, y, x, c) - tensor.address;
          std::memcpy(to, taps.data() + c, static_cast<std::size_t>(count));
          clear_rest(tensor, count, to);
        }
      }
    }
  }
}

}  // namespace

std::int64_t DramTensor::blocks() const { return ceil_div(value.shape.channels, block); }
std::int64_t DramTensor::row_bytes() const { return checked_mul(value.shape.width, block); }
std::int64_t DramTensor::plane_bytes() const {
  return checked_mul(value.shape.height, row_bytes());
}
std::int64_t DramTensor::picture_bytes() const { return checked_mul(blocks(), plane_bytes()); }
std::int64_t DramTensor::size_bytes() const {
  return checked_mul(value.shape.batch, picture_bytes());
}

std::int64_t DramTensor::element_address(std::int64_t n, std::int64_t y, std::int64_t x,
                                         std::int64_t c) const {
  const ImageShape& shape = value.shape;
  const std::int64_t plane = n * ceil_div(shape.channels, block) + c / block;
  return address + ((plane * shape.height + y) * shape.width + x) * block + c % block;
}

ImageShape TapPacking::packed_shape() const {
  const Window& w = window;
  return {picture.batch,
          window_count(picture.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom),
          window_count(picture.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right),
          checked_mul(checked_mul(w.kernel_h, w.kernel_w), picture.channels)};
}

void pack_input(const HostInput& input, const Tensor& picture, std::span<std::byte> dram) {
  const Value& value = input.tensor.value;
  if (picture.dtype != value.dtype || picture.shape != input.picture().nhwc()) {
    throw_bad_input("input tensor is " + std::string(dtype_name(picture.dtype)) + " " +
                    shape_text(picture.shape) + "; the program takes " +
                    std::string(dtype_name(value.dtype)) + " " +
                    shape_text(input.picture().nhwc()));
  }
  QSIM_CHECK(static_cast<std::int64_t>(dram.size()) == input.tensor.size_bytes(),
             "input region has the wrong size");
  QSIM_CHECK(!input.taps || input.taps->packed_shape() == value.shape,
             "the taps do not make the input tensor");
  if (input.taps) {
    pack_taps(input, picture, dram);
  } else {
    pack_plain(input.tensor, picture, dram);
  }
}

void unpack_row(const DramTensor& tensor, std::span<const std::byte> dram, std::int64_t n,
                std::int64_t y, std::span<std::byte> row) {
  check_whole(tensor, dram);
  const ImageShape& shape = tensor.value.shape;
  QSIM_CHECK(static_cast<std::int64_t>(row.size()) == shape.width * shape.channels,
             "an unpacked row has the wrong size");
  const std::byte mask = carry_mask(tensor.value);
  for (std::int64_t c = 0; c < shape.channels; c += tensor.block) {
    const std::int64_t count = std::min(tensor.block, shape.channels - c);
    const std::byte* from = dram.data() + tensor.element_address(n, y, 0, c) - tensor.address;
    std::byte* to = row.data() + c;
    for (std::int64_t x = 0; x < shape.width; ++x) {
      copy_carried(from + x * tensor.block, count, mask, to + x * shape.channels);
    }
  }
}

Tensor unpack(const DramTensor& tensor, std::span<const std::byte> dram) {
  check_whole(tensor, dram);  // before the result takes memory
  const ImageShape& shape = tensor.value.shape;
  Tensor result(tensor.value.dtype, shape.nhwc());
  const auto row_bytes = static_cast<std::size_t>(shape.width * shape.channels);
  std::size_t at = 0;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t y = 0; y < shape.height; ++y, at += row_bytes) {
      unpack_row(tensor, dram, n, y, std::span(result.bytes).subspan(at, row_bytes));
    }
  }
  return result;
}

}  // namespace qsim
