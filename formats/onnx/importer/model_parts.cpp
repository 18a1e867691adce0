#include "formats/onnx/importer/model_parts.h"

#include <algorithm>
#include <optional>

#include <onnx/onnx_pb.h>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "formats/files/memory.h"
#include "formats/onnx/importer/wire_format.h"

namespace qsim::formats {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// A message with its place in a list and what malloc adds; AttributeProto is the largest.
constexpr std::int64_t kMessageBytes = 400;
static_assert(std::max({sizeof(onnx::AttributeProto), sizeof(onnx::NodeProto),
                        sizeof(onnx::TensorProto), sizeof(onnx::GraphProto),
                        sizeof(onnx::FunctionProto), sizeof(onnx::ValueInfoProto)}) +
                  48 <=
              kMessageBytes);
// Beside its characters; a field that ONNX does not know takes as much.
constexpr std::int64_t kTextBytes = 112;
// A list doubles when it is full, with the old one beside it: up to three times its elements.
constexpr std::int64_t kGrowth = 3;
// Deeper, protobuf gives up.
constexpr int kMaxDepth = 100;

std::int64_t element_bytes(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return 8;
    default:
      return 4;
  }
}

bool is_varint(const FieldDescriptor& field) {
  const FieldDescriptor::Type type = field.type();
  return type != FieldDescriptor::TYPE_FLOAT && type != FieldDescriptor::TYPE_DOUBLE;
}

bool is_text(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}

// The numbers of a packed list; each ends with a byte below 128.
std::int64_t packed_count(const FieldDescriptor& field, std::string_view bytes) {
  if (!is_varint(field)) return std::ssize(bytes) / element_bytes(field);
  return std::count_if(bytes.begin(), bytes.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

class PartCounter {
 public:
  // The fields of a message of `type`. An error ends the message that it is in, and not those
  // around it, so that nothing that protobuf makes is left out.
  void message(std::string_view bytes, const Descriptor& type, int depth) {
    while (!bytes.empty()) {
      const std::optional<std::uint64_t> tag = take_varint(bytes);
      if (!tag || *tag >> 3 == 0 || *tag > 0xffffffff) return;
      if (!field(bytes, *tag, type, depth)) return;
    }
  }

  ModelParts result() const { return parts_; }

 private:
  bool field(std::string_view& bytes, std::uint64_t tag, const Descriptor& type, int depth) {
    const FieldDescriptor* known = type.FindFieldByNumber(static_cast<int>(tag >> 3));
    if ((tag & 7) == kDelimited) {
      const std::optional<std::uint64_t> length = take_varint(bytes);
      if (!length || *length > bytes.size()) return false;
      const std::string_view inner = bytes.substr(0, *length);
      bytes.remove_prefix(*length);
      delimited(inner, known, depth);
      return true;
    }
    if (known == nullptr) {
      add(kTextBytes);
    } else if (known->is_repeated()) {
      parts_.memory_bytes += kGrowth * element_bytes(*known);
    }
    return skip_value(bytes, tag);
  }

  // A group's fields are taken for fields of the message: no group is of ONNX.
  static bool skip_value(std::string_view& bytes, std::uint64_t tag) {
    switch (tag & 7) {
      case kVarint:
        return take_varint(bytes).has_value();
      case kFixed64:
      case kFixed32: {
        const std::size_t count = (tag & 7) == kFixed64 ? 8 : 4;
        if (bytes.size() < count) return false;
        bytes.remove_prefix(count);
        return true;
      }
      default:
        return (tag & 7) == kGroupStart || (tag & 7) == kGroupEnd;
    }
  }

  void delimited(std::string_view inner, const FieldDescriptor* known, int depth) {
    if (known == nullptr || is_text(*known)) {
      if (known != nullptr) note_text(*known, inner);
      return add(kTextBytes + std::ssize(inner));
    }
    if (const Descriptor* type = known->message_type()) {
      add(kMessageBytes);
      if (known->containing_type() == onnx::GraphProto::descriptor() && depth == 1) {
        parts_.nodes += known->number() == onnx::GraphProto::kNodeFieldNumber ? 1 : 0;
        parts_.initializers += known->number() == onnx::GraphProto::kInitializerFieldNumber ? 1 : 0;
      }
      if (depth < kMaxDepth) message(inner, *type, depth + 1);
      return;
    }
    parts_.memory_bytes += kGrowth * element_bytes(*known) * packed_count(*known, inner);
  }

  // What people wrote about the model has no say in it, in whatever encoding; a tensor's raw_data
  // and an attribute's text are bytes to protobuf.
  void note_text(const FieldDescriptor& field, std::string_view text) {
    const bool is_remark = field.name() == "doc_string" ||
                           field.containing_type() == onnx::StringStringEntryProto::descriptor();
    if (field.type() != FieldDescriptor::TYPE_STRING || is_remark) return;
    if (!parts_.not_utf8.empty() || is_utf8(text)) return;
    parts_.not_utf8 =
        field.containing_type()->name() + "." + field.name() + " '" + echoed(text) + "'";
  }

  void add(std::int64_t memory_bytes) {
    ++parts_.parts;
    parts_.memory_bytes += memory_bytes;
  }

  ModelParts parts_;
};

void check_count(std::int64_t count, std::int64_t most, const std::string& source,
                 const std::string& kind) {
  if (count <= most) return;
  throw_unsupported(source + ": " + std::to_string(count) + kind + std::to_string(most));
}

}  // namespace

ModelParts count_model_parts(std::string_view message) {
  PartCounter counter;
  counter.message(message, *onnx::ModelProto::descriptor(), 0);
  return counter.result();
}

void check_model_parts(const ModelParts& parts, const std::string& source) {
  check_count(parts.nodes, kMaxModelNodes, source, " nodes; supported: at most ");
  check_count(parts.initializers, kMaxModelInitializers, source,
              " initializers; supported: at most ");
  check_count(parts.parts, kMaxModelParts, source, " messages and texts; supported: at most ");
  require_memory(parts.memory_bytes, source);
}

void check_model_texts(const ModelParts& parts, const std::string& source) {
  if (parts.not_utf8.empty()) return;
  throw_bad_input(source + ": " + parts.not_utf8 + " is not UTF-8; expected UTF-8, as ONNX says");
}

}  // namespace qsim::formats
