// PNG through libpng. libpng reports errors by longjmp, so the frames between a setjmp and libpng
// hold only trivially destructible data; everything that owns memory lives in the caller.
#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

#include <png.h>

#include "core/base/error.h"
#include "formats/pictures/image_decoders.h"

namespace qsim::formats {
namespace {

constexpr std::size_t kSignatureBytes = 8;
// Compressed bytes that may be left before the last row, besides its own: libpng inflates all that
// follow it.
constexpr std::size_t kMostBytesAfterRows = 65536;

struct PngSource {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  std::size_t at = 0;
  std::array<char, 200> message{};
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* source = static_cast<PngSource*>(png_get_error_ptr(png));
  std::strncpy(source->message.data(), message, source->message.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep to, std::size_t count) {
  auto* source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source->size - source->at) png_error(png, "the file is truncated");
  std::memcpy(to, source->data + source->at, count);
  source->at += count;
}

// Owns libpng's state; no method lets an error escape as a jump.
class PngReader {
 public:
  explicit PngReader(PngSource& source)
      : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, on_error, on_warning)),
        info_(png_ == nullptr ? nullptr : png_create_info_struct(png_)) {
    QSIM_CHECK(info_ != nullptr, "libpng could not be started");
    png_set_read_fn(png_, &source, on_read);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  // Everything before the pixels. False after an error.
  bool read_header() noexcept {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);  // check_image_size says it by name
    // A chunk of text or of colour management is not unpacked: a file of a few megabytes could have
    // gigabytes of it, of which the pixels take nothing.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png_, info_);
    return true;
  }

  // Conversion to 8-bit RGB. Takes memory for rows, so the size must have been checked. False
  // after an error.
  bool start_rows() noexcept {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  // All rows but the last of the last pass. False after an error.
  bool read_most_rows(png_bytepp rows, std::size_t count) noexcept {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 1; pass <= passes_; ++pass) {
      for (std::size_t y = 0; y + (pass == passes_ ? 1 : 0) < count; ++y) {
        png_read_row(png_, rows[y], nullptr);
      }
    }
    return true;
  }

  // The last row, and the rest of the file. False after an error.
  bool read_last_row(png_bytep row) noexcept {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_row(png_, row, nullptr);
    png_read_end(png_, nullptr);
    return true;
  }

  std::int64_t height() const { return png_get_image_height(png_, info_); }
  std::int64_t width() const { return png_get_image_width(png_, info_); }
  std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }

 private:
  png_structp png_;
  png_infop info_;
  int passes_ = 1;
};

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw_bad_input(name + ": broken PNG picture: " + what);
}

// libpng takes the memory of a chunk by the length that the chunk claims, before it reads it.
// Returns where the last chunk of pixels ends.
std::size_t check_chunk_lengths(std::span<const std::byte> bytes, const std::string& name) {
  constexpr std::size_t kHeadBytes = 8;  // length, big-endian, and type
  const std::size_t all = bytes.size();
  std::size_t pixels_end = 0;
  bytes = bytes.subspan(kSignatureBytes);
  while (bytes.size() >= kHeadBytes) {
    std::size_t length = 0;
    for (const std::byte byte : bytes.first(4)) {
      length = length << 8 | std::to_integer<std::size_t>(byte);
    }
    if (std::memcmp(bytes.data() + 4, "IEND", 4) == 0) return pixels_end;
    if (length > bytes.size() - kHeadBytes) {
      fail(name, "the file is truncated: a chunk of " + std::to_string(length) + " bytes where " +
                     std::to_string(bytes.size() - kHeadBytes) + " are left");
    }
    if (std::memcmp(bytes.data() + 4, "IDAT", 4) == 0) {
      pixels_end = all - bytes.size() + kHeadBytes + length;
    }
    bytes = bytes.subspan(std::min(bytes.size(), kHeadBytes + length + 4));  // and a checksum
  }
  return pixels_end;
}

}  // namespace

bool is_png(std::span<const std::byte> bytes) {
  return bytes.size() >= kSignatureBytes &&
         png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, kSignatureBytes) == 0;
}

Image decode_png(std::span<const std::byte> bytes, const std::string& source) {
  const std::size_t pixels_end = check_chunk_lengths(bytes, source);
  PngSource input{bytes.data(), bytes.size(), 0, {}};
  PngReader reader(input);
  if (!reader.read_header()) fail(source, input.message.data());
  Image image{reader.height(), reader.width(), {}};
  check_image_size(image.height, image.width, source);
  if (!reader.start_rows()) fail(source, input.message.data());
  const std::size_t row_bytes = static_cast<std::size_t>(image.width) * 3;
  QSIM_CHECK(reader.row_bytes() == row_bytes, "libpng did not convert to 8-bit RGB");
  image.rgb.resize(static_cast<std::size_t>(image.height) * row_bytes);
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < static_cast<std::size_t>(image.height); ++y) {
    rows.push_back(image.rgb.data() + y * row_bytes);
  }
  if (!reader.read_most_rows(rows.data(), rows.size())) fail(source, input.message.data());
  constexpr std::size_t kMostPixelBytes = 8;  // four channels of 16 bits
  const std::size_t most =
      2 * kMostPixelBytes * static_cast<std::size_t>(image.width) + kMostBytesAfterRows;
  if (pixels_end > input.at + most) {
    fail(source, std::to_string(pixels_end - input.at) +
                     " compressed bytes are left at its last row; at most " + std::to_string(most) +
                     " are allowed");
  }
  if (!reader.read_last_row(rows.back())) fail(source, input.message.data());
  return image;
}

}  // namespace qsim::formats
