// Mutates an ONNX model as a message: a field of any message in it changes, goes, doubles or takes
// the place of another, and the result is a protobuf again. One input in four is mutated as bytes.
#include <cmath>
#include <cstdint>
#include <vector>

#include <google/protobuf/message.h>
#include <onnx/onnx_pb.h>

#include "core/base/random.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using qsim::Random;

std::size_t below(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.next() % count);
}

void collect(Message& message, std::vector<Message*>& all) {
  all.push_back(&message);
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      collect(*reflection.MutableMessage(&message, field), all);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      collect(*reflection.MutableRepeatedMessage(&message, field, i), all);
    }
  }
}

// Near the old one, at an end, or anything.
std::int64_t changed(Random& random, std::int64_t old) {
  constexpr std::int64_t kEnds[] = {0,   1,   -1,        2,         3,         127,       128,
                                    255, 256, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1 << 20};
  switch (random.next() % 4) {
    case 0:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(old) + 1);
    case 1:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(old) - 1);
    case 2:
      return kEnds[below(random, std::size(kEnds))];
    default:
      return static_cast<std::int64_t>(random.next() >> (random.next() % 64));
  }
}

double changed(Random& random, double old) {
  switch (random.next() % 4) {
    case 0:
      return old * 2;
    case 1:
      return old / 2;
    case 2:
      return std::ldexp(1.0, static_cast<int>(random.uniform(-150, 130)));
    default:
      return static_cast<double>(static_cast<std::int64_t>(random.next()));
  }
}

// Bytes by libFuzzer, or a name that means something to the importer.
std::string changed(Random& random, std::string old) {
  constexpr const char* kWords[] = {"QuantizeLinear", "DequantizeLinear",
                                    "QLinearConv",    "QLinearMatMul",
                                    "QGemm",          "MaxPool",
                                    "Relu",           "Flatten",
                                    "Reshape",        "Transpose",
                                    "Identity",       "Constant",
                                    "axis",           "perm",
                                    "auto_pad",       "SAME_UPPER",
                                    "SAME_LOWER",     "VALID",
                                    "NOTSET",         "ceil_mode",
                                    "strides",        "pads",
                                    "dilations",      "group",
                                    "kernel_shape",   "transB",
                                    "value",          "location",
                                    "weights.bin",    "../weights.bin",
                                    "offset",         "length",
                                    "com.microsoft",  ""};
  if (random.chance(0.5)) return kWords[below(random, std::size(kWords))];
  std::vector<std::uint8_t> bytes(old.begin(), old.end());
  bytes.resize(old.size() + 8);
  bytes.resize(LLVMFuzzerMutate(bytes.data(), old.size(), bytes.size()));
  return {bytes.begin(), bytes.end()};
}

// A string that is elsewhere in the model, so that names come to refer to something else.
const std::string* borrowed(Random& random, const std::vector<Message*>& all) {
  const Message& message = *all[below(random, all.size())];
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
    static std::string scratch;
    if (!field->is_repeated()) return &reflection.GetStringReference(message, field, &scratch);
    const auto index = static_cast<int>(
        below(random, static_cast<std::size_t>(reflection.FieldSize(message, field))));
    return &reflection.GetRepeatedStringReference(message, field, index, &scratch);
  }
  return nullptr;
}

class FieldMutation {
 public:
  FieldMutation(Random& random, const std::vector<Message*>& all, Message& message,
                const FieldDescriptor& field)
      : random_(random),
        all_(all),
        message_(message),
        field_(field),
        reflection_(*message.GetReflection()) {}

  void apply() {
    if (random_.chance(0.1)) return reflection_.ClearField(&message_, &field_);
    field_.is_repeated() ? apply_repeated() : apply_single();
  }

 private:
  void apply_repeated();
  void apply_single();
  std::string text(const std::string& old) {
    const std::string* other = random_.chance(0.4) ? borrowed(random_, all_) : nullptr;
    return other != nullptr ? *other : changed(random_, old);
  }

  Random& random_;
  const std::vector<Message*>& all_;
  Message& message_;
  const FieldDescriptor& field_;
  const Reflection& reflection_;
};

void FieldMutation::apply_repeated() {
  const int size = reflection_.FieldSize(message_, &field_);
  const int at = size == 0 ? 0 : static_cast<int>(random_.uniform(0, size - 1));
  const std::uint64_t kind = size == 0 ? 0 : random_.next() % 5;
  const Message* other = all_[below(random_, all_.size())];
  if (kind == 1) return reflection_.RemoveLast(&message_, &field_);
  if (kind == 2) {
    return reflection_.SwapElements(&message_, &field_, at,
                                    static_cast<int>(random_.uniform(0, size - 1)));
  }
  const bool add = kind == 0;
  switch (field_.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64: {
      const std::int64_t old = size == 0 ? 1 : reflection_.GetRepeatedInt64(message_, &field_, at);
      if (add) return reflection_.AddInt64(&message_, &field_, old);
      return reflection_.SetRepeatedInt64(&message_, &field_, at, changed(random_, old));
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      const std::int32_t old = size == 0 ? 1 : reflection_.GetRepeatedInt32(message_, &field_, at);
      if (add) return reflection_.AddInt32(&message_, &field_, old);
      return reflection_.SetRepeatedInt32(
          &message_, &field_, at, static_cast<std::int32_t>(changed(random_, std::int64_t{old})));
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const float old = size == 0 ? 1 : reflection_.GetRepeatedFloat(message_, &field_, at);
      if (add) return reflection_.AddFloat(&message_, &field_, old);
      return reflection_.SetRepeatedFloat(&message_, &field_, at,
                                          static_cast<float>(changed(random_, double{old})));
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string old = size == 0 ? "" : reflection_.GetRepeatedString(message_, &field_, at);
      if (add) return reflection_.AddString(&message_, &field_, text(old));
      return reflection_.SetRepeatedString(&message_, &field_, at, text(old));
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      Message* target = add ? reflection_.AddMessage(&message_, &field_)
                            : reflection_.MutableRepeatedMessage(&message_, &field_, at);
      const std::string bytes = other->SerializePartialAsString();
      if (other->GetDescriptor() == target->GetDescriptor()) target->ParsePartialFromString(bytes);
      return;
    }
    default:
      return;
  }
}

void FieldMutation::apply_single() {
  switch (field_.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection_.SetInt64(&message_, &field_,
                                  changed(random_, reflection_.GetInt64(message_, &field_)));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection_.SetInt32(
          &message_, &field_,
          random_.chance(0.6)
              ? static_cast<std::int32_t>(random_.uniform(0, 12))  // element types
              : static_cast<std::int32_t>(
                    changed(random_, std::int64_t{reflection_.GetInt32(message_, &field_)})));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection_.SetFloat(
          &message_, &field_,
          static_cast<float>(changed(random_, double{reflection_.GetFloat(message_, &field_)})));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection_.SetEnumValue(&message_, &field_, static_cast<int>(random_.uniform(0, 8)));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection_.SetString(&message_, &field_,
                                   text(reflection_.GetString(message_, &field_)));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      reflection_.MutableMessage(&message_, &field_);
      return;
    default:
      return;
  }
}

void mutate(onnx::ModelProto& model, Random& random) {
  std::vector<Message*> all;
  collect(model, all);
  Message& message = *all[below(random, all.size())];
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  const auto* descriptor = message.GetDescriptor();
  // Mostly a field that is there; sometimes any that could be.
  const FieldDescriptor* field =
      fields.empty() || random.chance(0.15)
          ? descriptor->field(static_cast<int>(random.uniform(0, descriptor->field_count() - 1)))
          : fields[below(random, fields.size())];
  FieldMutation(random, all, message, *field).apply();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  Random random(seed);
  onnx::ModelProto model;
  if (random.chance(0.25) || !model.ParseFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (std::int64_t count = random.uniform(1, 3); count > 0; --count) mutate(model, random);
  const std::string bytes = model.SerializePartialAsString();
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
