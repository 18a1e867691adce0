#include "tests/cli/picture_files.h"

#include <cstdio>
// jpeglib.h needs <cstdio> first.
#include <cstdlib>

#include <jpeglib.h>
#include <png.h>

#include "core/base/random.h"

namespace qsim {

std::string png_file(int height, int width, const std::vector<std::uint8_t>& rgb) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.format = PNG_FORMAT_RGB;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, rgb.data(), 0, nullptr);
  std::string file(size, '\0');
  png_image_write_to_memory(&image, file.data(), &size, 0, rgb.data(), 0, nullptr);
  file.resize(size);
  return file;
}

std::string jpeg_file(int height, int width, const std::vector<std::uint8_t>& rgb) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_start_compress(&info, TRUE);
  std::vector<std::uint8_t> pixels = rgb;
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = pixels.data() + static_cast<std::ptrdiff_t>(y) * width * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const std::string file(reinterpret_cast<char*>(data), size);
  std::free(data);
  return file;
}

std::vector<std::uint8_t> seeded_rgb(int height, int width, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> rgb(static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
                                3);
  for (std::uint8_t& value : rgb) value = static_cast<std::uint8_t>(random.uniform(0, 255));
  return rgb;
}

std::string cifar_record(int label, std::uint64_t seed) {
  std::string record(1, static_cast<char>(label));
  for (const std::uint8_t value : seeded_rgb(32, 32, seed)) record += static_cast<char>(value);
  return record;
}

}  // namespace qsim
