// Pictures: PNG in its variants, JPEG, damaged files, and resizing.
#include "formats/pictures/image.h"

#include <cstdio>
// jpeglib.h needs <cstdio> first.
#include <cstdlib>
#include <cstring>

#include <jpeglib.h>
#include <png.h>

#include "core/base/random.h"
#include "formats/files/files.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

std::string png_file(png_uint_32 format, png_uint_32 width, png_uint_32 height,
                     const std::vector<std::uint8_t>& pixels,
                     const std::vector<std::uint8_t>& colormap = {}) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.format = format;
  image.width = width;
  image.height = height;
  image.colormap_entries = static_cast<png_uint_32>(colormap.size() / 3);
  png_alloc_size_t size = 0;
  const void* map = colormap.empty() ? nullptr : colormap.data();
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, map);
  std::string file(size, '\0');
  png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, map);
  file.resize(size);
  return file;
}

// `scans`, of a progressive picture, or the encoder's one.
std::string jpeg_file(int width, int height, int components, std::vector<std::uint8_t> pixels,
                      const std::vector<jpeg_scan_info>& scans = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = components;
  info.in_color_space = components == 1 ? JCS_GRAYSCALE : (components == 3 ? JCS_RGB : JCS_CMYK);
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  if (!scans.empty()) {
    info.scan_info = scans.data();
    info.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = pixels.data() + static_cast<std::ptrdiff_t>(y) * width * components;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const std::string file(reinterpret_cast<char*>(data), size);
  std::free(data);
  return file;
}

std::vector<std::uint8_t> random_pixels(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> pixels(count);
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random.uniform(0, 255));
  return pixels;
}

Image read(const std::string& file, const std::string& name = "picture") {
  const TemporaryFolder folder;
  return read_image(folder.file(name, file));
}

TEST(Image, RgbPngIsReadExactlyWhateverItsName) {
  const auto pixels = random_pixels(7 * 5 * 3, 1);
  const Image image = read(png_file(PNG_FORMAT_RGB, 7, 5, pixels), "picture.jpg");
  EXPECT_EQ(image.height, 5);
  EXPECT_EQ(image.width, 7);
  EXPECT_EQ(image.rgb, pixels);
}

TEST(Image, AlphaIsDropped) {
  const std::vector<std::uint8_t> rgba = {10, 20, 30, 0, 40, 50, 60, 128};
  EXPECT_EQ(read(png_file(PNG_FORMAT_RGBA, 2, 1, rgba)).rgb,
            (std::vector<std::uint8_t>{10, 20, 30, 40, 50, 60}));
}

TEST(Image, GreyAndPaletteBecomeRgb) {
  EXPECT_EQ(read(png_file(PNG_FORMAT_GRAY, 2, 1, {7, 200})).rgb,
            (std::vector<std::uint8_t>{7, 7, 7, 200, 200, 200}));
  // Two colours: libpng writes one bit a pixel.
  const std::string palette =
      png_file(PNG_FORMAT_RGB_COLORMAP, 3, 1, {1, 0, 1}, {1, 2, 3, 250, 251, 252});
  EXPECT_EQ(read(palette).rgb, (std::vector<std::uint8_t>{250, 251, 252, 1, 2, 3, 250, 251, 252}));
}

TEST(Image, SixteenBitPngKeepsTheHighBytes) {
  const std::vector<std::uint16_t> samples = {0x12ff, 0xff00, 0x8001};
  std::vector<std::uint8_t> bytes(6);
  std::memcpy(bytes.data(), samples.data(), 6);
  // A file from linear 16-bit samples stores them as they are.
  EXPECT_EQ(read(png_file(PNG_FORMAT_LINEAR_RGB, 1, 1, bytes)).rgb,
            (std::vector<std::uint8_t>{0x12, 0xff, 0x80}));
}

TEST(Image, JpegIsReadNearlyExactlyAtFullQuality) {
  const std::vector<std::uint8_t> flat(16 * 16 * 3, 100);
  const Image image = read(jpeg_file(16, 16, 3, flat));
  EXPECT_EQ(image.height, 16);
  EXPECT_EQ(image.rgb, flat);
  std::vector<std::uint8_t> grey(8 * 24);
  for (std::size_t i = 0; i < grey.size(); ++i) grey[i] = i % 24 < 8 ? 10 : 210;
  const Image from_grey = read(jpeg_file(24, 8, 1, grey));
  EXPECT_EQ(from_grey.width, 24);
  EXPECT_EQ(from_grey.rgb[0], 10);
  EXPECT_EQ(from_grey.rgb[8 * 3], 210);
  EXPECT_EQ(from_grey.rgb.size(), 8u * 24 * 3);
}

// A square grey progressive picture that says its last coefficients again and again.
std::string jpeg_of_scans(std::size_t scans, const std::vector<std::uint8_t>& grey, int side = 16) {
  const jpeg_scan_info dc{1, {0}, 0, 0, 0, 0};
  const jpeg_scan_info ac{1, {0}, 1, 63, 0, 0};
  const std::string file = jpeg_file(side, side, 1, grey, {dc, ac});
  const std::size_t last = file.rfind("\xff\xda");
  const std::size_t end = file.rfind("\xff\xd9");
  std::string many = file.substr(0, end);
  for (std::size_t i = 2; i < scans; ++i) many += file.substr(last, end - last);
  return many + file.substr(end);
}

TEST(Image, JpegOfManyScansIsRefusedBeforeTheyAreDecoded) {
  const std::vector<std::uint8_t> grey = random_pixels(16 * 16, 6);
  const Image two = read(jpeg_of_scans(2, grey));
  EXPECT_EQ(read(jpeg_of_scans(kMaxJpegScans, grey)).rgb, two.rgb);
  // What follows the scans that are allowed is never looked at.
  for (const std::size_t scans : {kMaxJpegScans + 1, 50 * kMaxJpegScans}) {
    expect_contains(error_of([&] { read(jpeg_of_scans(scans, grey) + "no JPEG"); }),
                    "broken or unsupported JPEG picture: more than 100 scans, which are the most");
  }
}

TEST(Image, LargeJpegsMayHaveFewerScans) {
  constexpr int kSide = 4096;  // 2^24 pixels
  const std::vector<std::uint8_t> flat(std::size_t{kSide} * kSide, 90);
  expect_contains(error_of([&] { read(jpeg_of_scans(65, flat, kSide)); }),
                  "broken or unsupported JPEG picture: more than 64 scans, which are the most");
}

TEST(Image, CmykJpegIsRefused) {
  const std::string file = jpeg_file(8, 8, 4, random_pixels(8 * 8 * 4, 3));
  expect_contains(error_of([&] { read(file); }), "JPEG");
}

TEST(Image, EveryTruncatedPngIsRefused) {
  const std::string file = png_file(PNG_FORMAT_RGB, 9, 9, random_pixels(9 * 9 * 3, 4));
  for (std::size_t size = 0; size < file.size(); ++size) {
    SCOPED_TRACE(size);
    error_of([&] { read(file.substr(0, size)); });
  }
  expect_contains(error_of([&] { read(file.substr(0, 60)); }), "truncated");
}

TEST(Image, EveryTruncatedJpegIsRefused) {
  const std::string file = jpeg_file(32, 32, 3, random_pixels(32 * 32 * 3, 5));
  for (std::size_t size = 0; size < file.size() - 2; size += 7) {
    SCOPED_TRACE(size);
    error_of([&] { read(file.substr(0, size)); });
  }
}

TEST(Image, DamagedPngAndOtherFilesAreRefused) {
  std::string file = png_file(PNG_FORMAT_RGB, 9, 9, random_pixels(9 * 9 * 3, 6));
  file[60] = static_cast<char>(file[60] ^ 1);
  expect_contains(error_of([&] { read(file); }), "broken PNG");
  expect_contains(error_of([&] { read("GIF89a"); }), "neither a PNG nor a JPEG");
}

TEST(Image, TooManyPixelsAreRefusedFromTheHeaderAlone) {
  std::string file = png_file(PNG_FORMAT_RGB, 2, 2, random_pixels(12, 7)).substr(0, 33);
  // Width 65536 in IHDR, with its CRC made right.
  file.replace(16, 8, std::string("\0\1\0\0\0\0\4\1", 8));
  std::uint32_t crc = 0xffffffffu;
  for (std::size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<unsigned char>(file[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  crc = ~crc;
  for (std::size_t i = 0; i < 4; ++i) file[29 + i] = static_cast<char>(crc >> (24 - 8 * i));
  file += std::string("\0\0\0\0IDAT", 8);
  expect_contains(error_of([&] { read(file); }), "1025 x 65536 pixels");
}

TEST(Resize, SameSizeIsTheIdentity) {
  const Image image{4, 3, random_pixels(36, 8)};
  EXPECT_EQ(resize(image, 4, 3).rgb, image.rgb);
}

TEST(Resize, ShrinkingAveragesTheCoveredArea) {
  // Two by two blocks of a 4 x 2 picture, one channel at a time.
  const Image image{
      2, 4, {0, 1, 2, 4, 5, 6, 100, 0, 0, 50, 0, 0, 8, 9, 9, 8, 9, 9, 20, 0, 0, 101, 0, 255}};
  EXPECT_EQ(resize(image, 1, 2).rgb, (std::vector<std::uint8_t>{5, 6, 7, 68, 0, 64}));
  // 3 pixels to 2: each covers one and a half.
  const Image row{1, 3, {0, 0, 0, 30, 30, 30, 90, 90, 90}};
  EXPECT_EQ(resize(row, 1, 2).rgb, (std::vector<std::uint8_t>{10, 10, 10, 70, 70, 70}));
}

TEST(Resize, GrowingInterpolatesBetweenPixelCentres) {
  const Image row{1, 2, {0, 0, 0, 100, 100, 100}};
  const auto wide = resize(row, 1, 4).rgb;
  EXPECT_EQ((std::vector<int>{wide[0], wide[3], wide[6], wide[9]}),
            (std::vector<int>{0, 25, 75, 100}));
  EXPECT_EQ(resize(Image{1, 1, {9, 8, 7}}, 2, 2).rgb,
            (std::vector<std::uint8_t>{9, 8, 7, 9, 8, 7, 9, 8, 7, 9, 8, 7}));
}

TEST(Resize, SizeOutOfRangeIsRefused) {
  const Image image{1, 1, {1, 2, 3}};
  expect_contains(error_of([&] { resize(image, 0, 5); }), "0 x 5 pixels");
  expect_contains(error_of([&] { resize(image, 1 << 20, 1 << 20); }), "allowed: 1 to");
}

}  // namespace
}  // namespace qsim
