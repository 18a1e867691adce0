// The blocked DRAM layout against naive definitions: where an element lies, what the host writes
// for a picture and its taps, and what comes back.
#include "core/machine/dram_layout.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace qsim {
namespace {

constexpr std::byte kStale{0x5a};

Tensor random_picture(const ImageShape& shape, DType dtype, Random& random) {
  Tensor tensor(dtype, shape.nhwc());
  for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random.next());
  return tensor;
}

ImageShape random_shape(Random& random) {
  return {random.uniform(1, 3), random.uniform(1, 7), random.uniform(1, 7), random.uniform(1, 40)};
}

std::byte element(const Tensor& nhwc, const ImageShape& shape, std::int64_t n, std::int64_t y,
                  std::int64_t x, std::int64_t c) {
  const std::int64_t index = ((n * shape.height + y) * shape.width + x) * shape.channels + c;
  return nhwc.bytes[static_cast<std::size_t>(index)];
}

// Calls visit(n, y, x, c) for each element.
void for_each_element(const ImageShape& shape, auto visit) {
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) {
        for (std::int64_t c = 0; c < shape.channels; ++c) visit(n, y, x, c);
      }
    }
  }
}

HostInput random_input(Random& random) {
  HostInput input;
  input.tensor.address = random.uniform(0, 1000) * 64;
  input.tensor.block = std::int64_t{1} << random.uniform(2, 6);
  input.tensor.value.shape = random_shape(random);
  input.tensor.value.dtype = random.chance(0.5) ? DType::kUint8 : DType::kInt8;
  input.tensor.value.zero_point =
      static_cast<std::int32_t>(random.uniform(input.tensor.value.min(), input.tensor.value.max()));
  return input;
}

TEST(DramLayout, CountsBlocksRowsPlanesAndPictures) {
  DramTensor tensor;
  tensor.block = 16;
  tensor.value.shape = {2, 3, 5, 20};
  EXPECT_EQ(tensor.blocks(), 2);
  EXPECT_EQ(tensor.row_bytes(), 80);
  EXPECT_EQ(tensor.plane_bytes(), 240);
  EXPECT_EQ(tensor.picture_bytes(), 480);
  EXPECT_EQ(tensor.size_bytes(), 960);
}

TEST(DramLayout, PutsEveryElementAtItsOwnAddressInPlanesOfBlocks) {
  for (const std::int64_t channels : {1, 3, 15, 16, 17, 20, 32}) {
    DramTensor tensor;
    tensor.address = 4096;
    tensor.block = 16;
    tensor.value.shape = {2, 3, 5, channels};
    const std::int64_t planes_of_a_picture = channels <= 16 ? 1 : 2;
    std::vector<int> seen(static_cast<std::size_t>(tensor.size_bytes()), 0);
    for_each_element(tensor.value.shape, [&](auto n, auto y, auto x, auto c) {
      const std::int64_t at = tensor.element_address(n, y, x, c) - 4096;
      ASSERT_EQ(at, (n * planes_of_a_picture + c / 16) * 240 + y * 80 + x * 16 + c % 16);
      ++seen[static_cast<std::size_t>(at)];
    });
    for (const int count : seen) ASSERT_LE(count, 1);
  }
}

TEST(DramLayout, PacksWhatTheAddressFormulaSaysAndZeroesTheSpareLanes) {
  const std::uint64_t seed = 41;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 100; ++i) {
    const HostInput input = random_input(random);
    const ImageShape& shape = input.tensor.value.shape;
    const Tensor picture = random_picture(shape, input.tensor.value.dtype, random);
    std::vector<std::byte> dram(static_cast<std::size_t>(input.tensor.size_bytes()), kStale);
    pack_input(input, picture, dram);
    std::vector<std::byte> expected(dram.size(), std::byte{0});
    const std::byte flip{input.tensor.value.is_unsigned() ? std::uint8_t{0x80} : std::uint8_t{0}};
    for_each_element(shape, [&](auto n, auto y, auto x, auto c) {
      const auto at = input.tensor.element_address(n, y, x, c) - input.tensor.address;
      expected[static_cast<std::size_t>(at)] = element(picture, shape, n, y, x, c) ^ flip;
    });
    ASSERT_EQ(dram, expected);
  }
}

TEST(DramLayout, UnpacksWhatWasPacked) {
  const std::uint64_t seed = 42;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 200; ++i) {
    const HostInput input = random_input(random);
    const Tensor picture =
        random_picture(input.tensor.value.shape, input.tensor.value.dtype, random);
    std::vector<std::byte> dram(static_cast<std::size_t>(input.tensor.size_bytes()), kStale);
    pack_input(input, picture, dram);
    ASSERT_EQ(unpack(input.tensor, dram), picture);
  }
}

TEST(DramLayout, CarriesUint8WithItsTopBitFlipped) {
  HostInput input;
  input.tensor.block = 4;
  input.tensor.value.shape = {1, 1, 1, 3};
  input.tensor.value.dtype = DType::kUint8;
  const std::vector<std::uint8_t> values = {0, 128, 255};
  std::vector<std::byte> dram(4);
  pack_input(input, make_tensor<std::uint8_t>({1, 1, 1, 3}, values), dram);
  const std::vector<std::byte> expected = {std::byte{0x80}, std::byte{0}, std::byte{0x7f},
                                           std::byte{0}};
  EXPECT_EQ(dram, expected);
}

HostInput random_tap_input(Random& random) {
  HostInput input = random_input(random);
  TapPacking taps;
  taps.picture = {random.uniform(1, 2), random.uniform(3, 9), random.uniform(3, 9),
                  random.uniform(1, 4)};
  Window& w = taps.window;
  w.kernel_h = random.uniform(1, 4);
  w.kernel_w = random.uniform(1, 4);
  w.stride_h = random.uniform(1, 3);
  w.stride_w = random.uniform(1, 3);
  w.pad_top = random.uniform(0, 3);
  w.pad_left = random.uniform(0, 3);
  w.pad_bottom = random.uniform(1, 3);
  w.pad_right = random.uniform(1, 3);
  const std::int64_t out_h =
      window_count(taps.picture.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom);
  const std::int64_t out_w =
      window_count(taps.picture.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right);
  input.tensor.value.shape = {taps.picture.batch, out_h, out_w,
                              w.kernel_h * w.kernel_w * taps.picture.channels};
  input.taps = taps;
  return input;
}

TEST(DramLayout, PacksTapsAsTheWindowOfEachOutputPosition) {
  const std::uint64_t seed = 43;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 200; ++i) {
    const HostInput input = random_tap_input(random);
    const ImageShape& pic = input.taps->picture;
    const Window& w = input.taps->window;
    const Tensor picture = random_picture(pic, input.tensor.value.dtype, random);
    std::vector<std::byte> dram(static_cast<std::size_t>(input.tensor.size_bytes()), kStale);
    pack_input(input, picture, dram);
    const Tensor taps = unpack(input.tensor, dram);
    for_each_element(input.tensor.value.shape, [&](auto n, auto oy, auto ox, auto lane) {
      const std::int64_t tap = lane / pic.channels;
      const std::int64_t y = oy * w.stride_h + tap / w.kernel_w - w.pad_top;
      const std::int64_t x = ox * w.stride_w + tap % w.kernel_w - w.pad_left;
      const bool inside = y >= 0 && y < pic.height && x >= 0 && x < pic.width;
      const std::byte expected = inside ? element(picture, pic, n, y, x, lane % pic.channels)
                                        : static_cast<std::byte>(input.tensor.value.zero_point);
      ASSERT_EQ(element(taps, input.tensor.value.shape, n, oy, ox, lane), expected)
          << "case " << i << " at " << n << " " << oy << " " << ox << " " << lane;
    });
  }
}

TEST(DramLayout, ARowIsOfTheWholeTensorAndHasTheWidthOfOne) {
  DramTensor tensor;
  tensor.address = 64;
  tensor.block = 4;
  tensor.value.shape = {1, 3, 2, 5};
  const std::vector<std::byte> dram(static_cast<std::size_t>(tensor.size_bytes()));
  std::vector<std::byte> row(10);
  unpack_row(tensor, dram, 0, 1, row);
  // Long enough for row 0 and even for row 1, but not whole.
  EXPECT_THROW(unpack_row(tensor, std::span(dram).first(dram.size() - 1), 0, 0, row),
               InternalError);
  EXPECT_THROW(unpack_row(tensor, std::span(dram).subspan(8), 0, 1, row), InternalError);
  EXPECT_THROW(unpack_row(tensor, dram, 0, 1, std::span(row).first(9)), InternalError);
  EXPECT_THROW(unpack(tensor, std::span(dram).subspan(1)), InternalError);
}

TEST(DramLayout, UnpacksRowsAsTheyStandInTheTensor) {
  const std::uint64_t seed = 44;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 100; ++i) {
    const DramTensor tensor = random_input(random).tensor;
    const ImageShape& shape = tensor.value.shape;
    std::vector<std::byte> dram(static_cast<std::size_t>(tensor.size_bytes()));
    for (std::byte& byte : dram) byte = static_cast<std::byte>(random.next());
    const std::byte mask = tensor.value.is_unsigned() ? std::byte{0x80} : std::byte{0};
    const std::int64_t n = random.uniform(0, shape.batch - 1);
    const std::int64_t y = random.uniform(0, shape.height - 1);
    std::vector<std::byte> row(static_cast<std::size_t>(shape.width * shape.channels), kStale);
    unpack_row(tensor, dram, n, y, row);
    for (std::int64_t x = 0; x < shape.width; ++x) {
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        const std::int64_t at = tensor.element_address(n, y, x, c) - tensor.address;
        ASSERT_EQ(row[static_cast<std::size_t>(x * shape.channels + c)],
                  dram[static_cast<std::size_t>(at)] ^ mask)
            << "case " << i << " at " << x << " " << c;
      }
    }
    row.push_back(kStale);
    EXPECT_THROW(unpack_row(tensor, dram, n, y, row), InternalError);
  }
}

TEST(DramLayout, RefusesAPictureOfAnotherShapeOrType) {
  HostInput input;
  input.tensor.block = 16;
  input.tensor.value.shape = {1, 4, 4, 3};
  std::vector<std::byte> dram(static_cast<std::size_t>(input.tensor.size_bytes()));
  try {
    pack_input(input, Tensor(DType::kInt8, {1, 4, 5, 3}), dram);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "input tensor is int8 [1, 4, 5, 3]; the program takes int8 [1, 4, 4, 3]");
  }
  EXPECT_THROW(pack_input(input, Tensor(DType::kUint8, {1, 4, 4, 3}), dram), Error);
}

}  // namespace
}  // namespace qsim
