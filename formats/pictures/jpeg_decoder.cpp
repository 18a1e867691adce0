// JPEG through libjpeg. Its errors come back by longjmp, so the frames between a setjmp and libjpeg
// hold only trivially destructible data. It fills in what a damaged file lacks and only warns; here
// such a warning is an error.
#include <cstddef>
#include <cstdio>
// libjpeg's headers need the two above first.
#include <algorithm>
#include <array>
#include <csetjmp>

#include <jerror.h>
#include <jpeglib.h>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "formats/pictures/image_decoders.h"

namespace qsim::formats {
namespace {

struct ErrorState {
  jpeg_error_mgr manager;  // first, so that a pointer to it is one to this
  std::jmp_buf jump;
  std::array<char, JMSG_LENGTH_MAX> message;
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  (*info->err->format_message)(info, state->message.data());
  std::longjmp(state->jump, 1);
}

// Warnings about data that is missing or damaged; the others concern markers beside the picture.
void on_message(j_common_ptr info, int level) {
  constexpr std::array kDamage = {JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE, JWRN_JPEG_EOF,
                                  JWRN_MUST_RESYNC};
  if (level >= 0) return;
  if (std::find(kDamage.begin(), kDamage.end(), info->err->msg_code) != kDamage.end()) {
    on_error(info);
  }
}

void on_output(j_common_ptr) {}

// Progressive pictures have about 10 scans. The more pixels, the fewer beyond that.
std::int64_t most_scans(const jpeg_decompress_struct& picture) {
  constexpr std::int64_t kUsual = 16;
  constexpr std::int64_t kMostVisits = std::int64_t{1} << 30;  // of pixels
  const std::int64_t pixels = std::int64_t{picture.image_width} * picture.image_height;
  return std::clamp(kMostVisits / std::max<std::int64_t>(pixels, 1), kUsual, kMaxJpegScans);
}

// Called between the rows of blocks. A scan may be a few bytes long and change nothing, and yet it
// visits every block of the picture.
void on_progress(j_common_ptr info) {
  const auto& picture = *reinterpret_cast<j_decompress_ptr>(info);
  const std::int64_t most = most_scans(picture);
  if (picture.input_scan_number <= most) return;
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  std::snprintf(state->message.data(), state->message.size(),
                "more than %d scans, which are the most; save it again, as a baseline JPEG",
                static_cast<int>(most));
  std::longjmp(state->jump, 1);
}

// Owns libjpeg's state; no method lets an error escape as a jump.
class JpegReader {
 public:
  explicit JpegReader(std::span<const std::byte> bytes) : bytes_(bytes) {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = on_error;
    errors_.manager.emit_message = on_message;
    errors_.manager.output_message = on_output;
    jpeg_create_decompress(&info_);
    progress_.progress_monitor = on_progress;
    info_.progress = &progress_;
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // Everything before the pixels. False after an error.
  bool read_header() noexcept {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = JCS_RGB;
    return true;
  }

  // The pixels, rows of width * 3 bytes. False after an error.
  bool read_rows(std::uint8_t* rgb) noexcept {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = rgb + std::size_t{info_.output_scanline} * info_.output_width * 3;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  std::int64_t height() const { return info_.image_height; }
  std::int64_t width() const { return info_.image_width; }
  const char* message() const { return errors_.message.data(); }

 private:
  std::span<const std::byte> bytes_;
  jpeg_decompress_struct info_{};
  ErrorState errors_{};
  jpeg_progress_mgr progress_{};
};

}  // namespace

bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8} &&
         bytes[2] == std::byte{0xff};
}

Image decode_jpeg(std::span<const std::byte> bytes, const std::string& source) {
  JpegReader reader(bytes);
  const auto fail = [&] {
    throw_bad_input(source + ": broken or unsupported JPEG picture: " + reader.message());
  };
  if (!reader.read_header()) fail();
  Image image{reader.height(), reader.width(), {}};
  check_image_size(image.height, image.width, source);
  image.rgb.resize(static_cast<std::size_t>(image.height * image.width * 3));
  if (!reader.read_rows(image.rgb.data())) fail();
  return image;
}

}  // namespace qsim::formats
