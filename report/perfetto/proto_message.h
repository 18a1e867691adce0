// A protobuf message under construction, in the wire format of
// https://protobuf.dev/programming-guides/encoding. It knows no schema: the caller gives field
// numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace qsim::report {

class ProtoMessage {
 public:
  // A field of type uint32, uint64, int32, int64, bool or enum. A negative value of a signed type
  // is given as its 64 bits of two's complement.
  ProtoMessage& number(std::uint32_t field, std::uint64_t value) {
    tag(field, kVarint);
    varint(value);
    return *this;
  }
  ProtoMessage& signed_number(std::uint32_t field, std::int64_t value) {
    return number(field, static_cast<std::uint64_t>(value));
  }
  // A field of type fixed64.
  ProtoMessage& fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, kFixed64);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xff);
    return *this;
  }
  // A field of type double.
  ProtoMessage& real(std::uint32_t field, double value) {
    return fixed64(field, std::bit_cast<std::uint64_t>(value));
  }
  // A field of type string, or bytes.
  ProtoMessage& text(std::uint32_t field, std::string_view value) {
    tag(field, kLengthDelimited);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoMessage& message(std::uint32_t field, const ProtoMessage& value) {
    return text(field, value.bytes_);
  }
  // The fields of another message of the same type, after those that are here.
  ProtoMessage& append(const ProtoMessage& other) {
    bytes_ += other.bytes_;
    return *this;
  }

  void clear() { bytes_.clear(); }
  bool empty() const { return bytes_.empty(); }
  const std::string& bytes() const { return bytes_; }

 private:
  enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2 };

  void tag(std::uint32_t field, WireType type) { varint(std::uint64_t{field} << 3 | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace qsim::report
