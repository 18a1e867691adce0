#include "formats/onnx/importer/model_outline.h"

#include <algorithm>
#include <span>

#include "core/base/limits.h"
#include "formats/files/memory.h"
#include "formats/onnx/importer/wire_format.h"

namespace qsim::formats {
namespace {

// The fields on the way to raw_data: ModelProto.graph, GraphProto.initializer,
// TensorProto.raw_data.
constexpr std::uint64_t kGraphField = 7;
constexpr std::uint64_t kInitializerField = 5;
constexpr std::uint64_t kRawDataField = 9;
enum class Level : std::uint8_t { kModel, kGraph, kInitializer, kOther };

// The file through a window, so that what is skipped is not read.
class FileWindow {
 public:
  explicit FileWindow(const HeldFile& file) : file_(file), size_(file.bytes()) {}

  std::int64_t position() const { return position_; }
  std::int64_t size() const { return size_; }
  void skip(std::int64_t count) { position_ += count; }

  // The next bytes, at least one; position() < size().
  std::span<const std::byte> available() {
    if (position_ < start_ || position_ >= start_ + std::ssize(window_)) {
      start_ = position_;
      window_.resize(static_cast<std::size_t>(std::min(kWindowBytes, size_ - start_)));
      file_.read(start_, window_);
    }
    return std::span(window_).subspan(static_cast<std::size_t>(position_ - start_));
  }

 private:
  static constexpr std::int64_t kWindowBytes = 64 << 10;

  const HeldFile& file_;
  std::int64_t size_;
  std::int64_t position_ = 0;
  std::int64_t start_ = 0;
  std::vector<std::byte> window_;
};

// The message as it grows, asking for the memory.
class OutlineText {
 public:
  explicit OutlineText(std::string source) : source_(std::move(source)) {}

  void append_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) append_byte(value | 0x80);
    append_byte(value);
  }

  void append(std::span<const std::byte> bytes) {
    make_room(bytes.size());
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  // Makes place for the length of what is appended until end_nested(the same place).
  std::size_t begin_nested() {
    make_room(kLengthBytes);
    text_.append(kLengthBytes, '\0');
    return text_.size();
  }

  // A number may have leading zeros: bytes of which only the last is below 128.
  void end_nested(std::size_t start) {
    std::uint64_t length = text_.size() - start;
    for (std::size_t at = start - kLengthBytes; at < start; ++at, length >>= 7) {
      text_[at] = static_cast<char>((length & 0x7f) | (at + 1 < start ? 0x80 : 0));
    }
  }

  std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t kLengthBytes = 5;  // 35 bits; a message has 31

  void append_byte(std::uint64_t byte) {
    make_room(1);
    text_ += static_cast<char>(byte);
  }

  void make_room(std::size_t bytes) {
    if (text_.capacity() - text_.size() >= bytes) return;
    const std::size_t more = std::max(2 * text_.capacity(), text_.size() + bytes);
    require_memory(static_cast<std::int64_t>(more), source_);
    text_.reserve(more);
  }

  std::string source_;
  std::string text_;
};

class OutlineReader {
 public:
  explicit OutlineReader(const HeldFile& file) : file_(file), out_(file.path().string()) {}

  std::optional<ModelOutline> read() {
    message(file_.size(), Level::kModel);
    if (!plain_) return std::nullopt;
    outline_.message = out_.take();
    return std::move(outline_);
  }

 private:
  // The fields up to `end`, which is the end of a message of `level`. After anything unexpected
  // plain_ is false and the result is worthless.
  void message(std::int64_t end, Level level) {
    bool has_raw_data = false;
    if (level == Level::kInitializer) outline_.initializers.emplace_back();
    // More of them are refused; there is no use in noting them all.
    if (std::ssize(outline_.initializers) > kMaxModelInitializers) plain_ = false;
    while (plain_ && file_.position() < end) {
      const std::uint64_t tag = varint(end);
      if (tag > 0xffffffff) plain_ = false;  // no tag of protobuf's
      const std::uint64_t field = tag >> 3;
      if (level == Level::kInitializer && field == kRawDataField) {
        if (has_raw_data) plain_ = false;  // the last one would count
        has_raw_data = true;
      }
      append_field(tag, end, level);
    }
  }

  void append_field(std::uint64_t tag, std::int64_t end, Level level) {
    switch (tag & 7) {
      case kVarint:
        out_.append_varint(tag);
        out_.append_varint(varint(end));
        return;
      case kFixed64:
        out_.append_varint(tag);
        return copy(8, end);
      case kFixed32:
        out_.append_varint(tag);
        return copy(4, end);
      case kDelimited:
        return append_delimited(tag, end, level);
      default:
        plain_ = false;
    }
  }

  void append_delimited(std::uint64_t tag, std::int64_t end, Level level) {
    const std::uint64_t field = tag >> 3;
    const std::uint64_t length = varint(end);
    if (!plain_ || length > static_cast<std::uint64_t>(end - file_.position())) {
      plain_ = false;
      return;
    }
    const auto bytes = static_cast<std::int64_t>(length);
    if (level == Level::kInitializer && field == kRawDataField && bytes >= kLargeRawData) {
      outline_.initializers.back() = FileRange{file_.position(), bytes};
      file_.skip(bytes);
      return;
    }
    out_.append_varint(tag);
    const Level inner = level == Level::kModel && field == kGraphField         ? Level::kGraph
                        : level == Level::kGraph && field == kInitializerField ? Level::kInitializer
                                                                               : Level::kOther;
    if (inner == Level::kOther) {
      out_.append_varint(length);
      return copy(bytes, end);
    }
    const std::size_t start = out_.begin_nested();
    message(file_.position() + bytes, inner);
    out_.end_nested(start);
  }

  std::uint64_t varint(std::int64_t end) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (file_.position() >= end) break;
      const auto byte = std::to_integer<std::uint64_t>(file_.available().front());
      file_.skip(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    plain_ = false;
    return 0;
  }

  void copy(std::int64_t count, std::int64_t end) {
    if (count > end - file_.position()) {
      plain_ = false;
      return;
    }
    while (count > 0) {
      const std::span<const std::byte> bytes = file_.available();
      const auto part = std::min(bytes.size(), static_cast<std::size_t>(count));
      out_.append(bytes.first(part));
      file_.skip(static_cast<std::int64_t>(part));
      count -= static_cast<std::int64_t>(part);
    }
  }

  FileWindow file_;
  OutlineText out_;
  ModelOutline outline_;
  bool plain_ = true;
};

}  // namespace

std::optional<ModelOutline> read_model_outline(const HeldFile& file) {
  return OutlineReader(file).read();
}

}  // namespace qsim::formats
