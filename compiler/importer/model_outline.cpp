#include "compiler/importer/model_outline.h"

#include <algorithm>
#include <span>

#include "core/io/files.h"

namespace qsim {
namespace {

// Of protobuf's wire format.
enum WireType : std::uint64_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5 };
// The fields on the way to raw_data: ModelProto.graph, GraphProto.initializer,
// TensorProto.raw_data.
constexpr std::uint64_t kGraphField = 7;
constexpr std::uint64_t kInitializerField = 5;
constexpr std::uint64_t kRawDataField = 9;
enum class Level : std::uint8_t { kModel, kGraph, kInitializer, kOther };

// The file through a window, so that what is skipped is not read.
class FileWindow {
 public:
  explicit FileWindow(std::filesystem::path path)
      : path_(std::move(path)), size_(file_bytes(path_)) {}

  std::int64_t position() const { return position_; }
  std::int64_t size() const { return size_; }
  void skip(std::int64_t count) { position_ += count; }

  // The next bytes, at least one; position() < size().
  std::span<const std::byte> available() {
    if (position_ < start_ || position_ >= start_ + std::ssize(window_)) {
      start_ = position_;
      window_ = read_file_range(path_, start_, std::min(kWindowBytes, size_ - start_));
    }
    return std::span(window_).subspan(static_cast<std::size_t>(position_ - start_));
  }

 private:
  static constexpr std::int64_t kWindowBytes = 64 << 10;

  std::filesystem::path path_;
  std::int64_t size_;
  std::int64_t position_ = 0;
  std::int64_t start_ = 0;
  std::vector<std::byte> window_;
};

void append_varint(std::string& message, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) message += static_cast<char>(value | 0x80);
  message += static_cast<char>(value);
}

class OutlineReader {
 public:
  explicit OutlineReader(const std::filesystem::path& path) : file_(path) {}

  std::optional<ModelOutline> read() {
    outline_.message = message(file_.size(), Level::kModel);
    if (!plain_) return std::nullopt;
    return std::move(outline_);
  }

 private:
  // The fields up to `end`, which is the end of a message of `level`. After anything unexpected
  // plain_ is false and the result is worthless.
  std::string message(std::int64_t end, Level level) {
    std::string out;
    bool has_raw_data = false;
    if (level == Level::kInitializer) outline_.initializers.emplace_back();
    while (plain_ && file_.position() < end) {
      const std::uint64_t tag = varint(end);
      if (tag > 0xffffffff) plain_ = false;  // no tag of protobuf's
      const std::uint64_t field = tag >> 3;
      if (level == Level::kInitializer && field == kRawDataField) {
        if (has_raw_data) plain_ = false;  // the last one would count
        has_raw_data = true;
      }
      append_field(tag, end, level, out);
    }
    return out;
  }

  void append_field(std::uint64_t tag, std::int64_t end, Level level, std::string& out) {
    switch (tag & 7) {
      case kVarint:
        append_varint(out, tag);
        append_varint(out, varint(end));
        return;
      case kFixed64:
        append_varint(out, tag);
        return copy(8, end, out);
      case kFixed32:
        append_varint(out, tag);
        return copy(4, end, out);
      case kDelimited:
        return append_delimited(tag, end, level, out);
      default:
        plain_ = false;
    }
  }

  void append_delimited(std::uint64_t tag, std::int64_t end, Level level, std::string& out) {
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
    append_varint(out, tag);
    const Level inner = level == Level::kModel && field == kGraphField         ? Level::kGraph
                        : level == Level::kGraph && field == kInitializerField ? Level::kInitializer
                                                                               : Level::kOther;
    if (inner == Level::kOther) {
      append_varint(out, length);
      return copy(bytes, end, out);
    }
    const std::string nested = message(file_.position() + bytes, inner);
    append_varint(out, nested.size());
    out += nested;
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

  void copy(std::int64_t count, std::int64_t end, std::string& out) {
    if (count > end - file_.position()) {
      plain_ = false;
      return;
    }
    while (count > 0) {
      const std::span<const std::byte> bytes = file_.available();
      const auto part = std::min(bytes.size(), static_cast<std::size_t>(count));
      out.append(reinterpret_cast<const char*>(bytes.data()), part);
      file_.skip(static_cast<std::int64_t>(part));
      count -= static_cast<std::int64_t>(part);
    }
  }

  FileWindow file_;
  ModelOutline outline_;
  bool plain_ = true;
};

}  // namespace

std::optional<ModelOutline> read_model_outline(const std::filesystem::path& path) {
  return OutlineReader(path).read();
}

}  // namespace qsim
