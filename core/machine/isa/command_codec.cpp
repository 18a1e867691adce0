#include "core/machine/isa/command_codec.h"

#include <string>
#include <tuple>

#include "core/base/error.h"
#include "core/base/limits.h"

namespace qsim {
namespace {

constexpr int kCommandBits = 64 * static_cast<int>(std::tuple_size_v<EncodedCommand>);
constexpr int kHeaderBits = total_bits(kHeaderFields);
static_assert(bits_of<CommandHeader>("wait_mask") == kSemaphores);
static_assert(bits_of<CommandHeader>("signal_mask") == kSemaphores);
static_assert(kHeaderBits <= 64, "wait_mask_of() and signal_mask_of() read one word");
static_assert(kHeaderBits + total_bits(kLoadFields) <= kCommandBits);
static_assert(kHeaderBits + total_bits(kExecuteFields) <= kCommandBits);
static_assert(kHeaderBits + total_bits(kPostFields) <= kCommandBits);
static_assert(kHeaderBits + total_bits(kStoreFields) <= kCommandBits);
static_assert(kMaxDramBytes == max_of<Load>("dram_addr") + 1);
static_assert(kMaxDramBytes == max_of<Store>("dram_addr") + 1);

// Calls visit(table row, member) for every field of a command, in encoding order.
#define QSIM_VISIT(name, bits, doc) visit(*row++, c.name);
template <typename Visit>
void for_each_field(Load& c, const Visit& visit) {
  const CommandField* row = kLoadFields;
  QSIM_LOAD_FIELDS(QSIM_VISIT, QSIM_VISIT)
}
template <typename Visit>
void for_each_field(Execute& c, const Visit& visit) {
  const CommandField* row = kExecuteFields;
  QSIM_EXECUTE_FIELDS(QSIM_VISIT, QSIM_VISIT)
}
template <typename Visit>
void for_each_field(Post& c, const Visit& visit) {
  const CommandField* row = kPostFields;
  QSIM_POST_FIELDS(QSIM_VISIT, QSIM_VISIT)
}
template <typename Visit>
void for_each_field(Store& c, const Visit& visit) {
  const CommandField* row = kStoreFields;
  QSIM_STORE_FIELDS(QSIM_VISIT, QSIM_VISIT)
}
#undef QSIM_VISIT

[[noreturn]] void throw_width(const CommandField& field, std::int64_t value) {
  throw_bad_input("command field " + std::string(field.name) + ": " + std::to_string(value) +
                  " does not fit " + std::to_string(field.bits) + " bits (" +
                  std::to_string(field.min()) + " to " + std::to_string(field.max()) + ")");
}

// Apart from the text above, so that it is inlined and a field's limits are constants.
void check_width(const CommandField& field, std::int64_t value) {
  if (value < field.min() || value > field.max()) throw_width(field, value);
}

// Appends fields to 256 bits, or takes them out, least significant bit first. A field may lie
// across two words; none is wider than 32 bits.
class BitCursor {
 public:
  explicit BitCursor(int begin) : position_(begin) {}

  void put(std::int64_t value, int width, EncodedCommand& bits) {
    const std::uint64_t field = static_cast<std::uint64_t>(value) & low_bits(width);
    bits[word()] |= field << shift();
    if (shift() + width > 64) bits[word() + 1] |= field >> (64 - shift());
    position_ += width;
  }

  std::int64_t take(int width, bool is_signed, const EncodedCommand& bits) {
    std::uint64_t field = bits[word()] >> shift();
    if (shift() + width > 64) field |= bits[word() + 1] << (64 - shift());
    position_ += width;
    field &= low_bits(width);
    if (is_signed && (field >> (width - 1)) != 0) field |= ~low_bits(width);
    return static_cast<std::int64_t>(field);
  }

  bool rest_is_zero(const EncodedCommand& bits) const {
    if (word() == bits.size()) return true;
    std::uint64_t rest = bits[word()] >> shift();
    for (std::size_t i = word() + 1; i < bits.size(); ++i) rest |= bits[i];
    return rest == 0;
  }

 private:
  static constexpr std::uint64_t low_bits(int width) { return (std::uint64_t{1} << width) - 1; }
  std::size_t word() const { return static_cast<std::size_t>(position_ / 64); }
  int shift() const { return position_ % 64; }

  int position_;
};

constexpr Unit unit_of(const Load&) { return Unit::kLoad; }
constexpr Unit unit_of(const Execute&) { return Unit::kExecute; }
constexpr Unit unit_of(const Post&) { return Unit::kPost; }
constexpr Unit unit_of(const Store&) { return Unit::kStore; }

constexpr std::uint64_t opcode_of(const EncodedCommand& bits) {
  return bits[0] & ((std::uint64_t{1} << kWaitMaskBit) - 1);
}

template <typename Fields>
void encode_fields(Fields fields, EncodedCommand& bits) {
  BitCursor cursor(kHeaderBits);
  for_each_field(fields, [&](const CommandField& row, const auto& member) {
    check_width(row, member);
    cursor.put(member, row.bits, bits);
  });
}

template <typename Fields>
void decode_fields(const EncodedCommand& bits, Fields& fields) {
  BitCursor cursor(kHeaderBits);
  for_each_field(fields, [&](const CommandField& row, auto& member) {
    member = static_cast<std::remove_reference_t<decltype(member)>>(
        cursor.take(row.bits, row.is_signed, bits));
  });
  if (!cursor.rest_is_zero(bits)) throw_bad_input("command has bits set beyond its last field");
}

}  // namespace

std::span<const CommandField> command_fields(Unit unit) {
  switch (unit) {
    case Unit::kLoad:
      return kLoadFields;
    case Unit::kExecute:
      return kExecuteFields;
    case Unit::kPost:
      return kPostFields;
    case Unit::kStore:
      return kStoreFields;
  }
  return {};
}

std::span<const CommandField> command_header_fields() { return kHeaderFields; }

std::int64_t field_value(const Command& command, std::size_t index) {
  std::int64_t value = 0;
  std::visit(
      [&](auto fields) {
        for_each_field(fields, [&](const CommandField&, const auto& member) {
          if (index-- == 0) value = member;
        });
      },
      command.fields);
  return value;
}

void set_field(Command& command, std::size_t index, std::int64_t value) {
  check_width(command_fields(command.unit())[index], value);
  std::visit(
      [&](auto& fields) {
        for_each_field(fields, [&](const CommandField&, auto& member) {
          using Member = std::remove_reference_t<decltype(member)>;
          if (index-- == 0) member = static_cast<Member>(value);
        });
      },
      command.fields);
}

Command empty_command(Unit unit) {
  Command command;
  switch (unit) {
    case Unit::kLoad:
      command.fields = Load{};
      break;
    case Unit::kExecute:
      command.fields = Execute{};
      break;
    case Unit::kPost:
      command.fields = Post{};
      break;
    case Unit::kStore:
      command.fields = Store{};
      break;
  }
  return command;
}

EncodedCommand encode(const Command& command) {
  EncodedCommand bits{};
  bits[0] = static_cast<std::uint64_t>(command.unit()) |
            std::uint64_t{command.wait_mask} << kWaitMaskBit |
            std::uint64_t{command.signal_mask} << kSignalMaskBit;
  std::visit([&](const auto& fields) { encode_fields(fields, bits); }, command.fields);
  return bits;
}

template <typename Fields>
Fields decode_as(const EncodedCommand& bits) {
  Fields fields;
  QSIM_CHECK(opcode_of(bits) == static_cast<std::uint64_t>(unit_of(fields)),
             "the command is one of another unit");
  decode_fields(bits, fields);
  return fields;
}

template Load decode_as<Load>(const EncodedCommand& bits);
template Execute decode_as<Execute>(const EncodedCommand& bits);
template Post decode_as<Post>(const EncodedCommand& bits);
template Store decode_as<Store>(const EncodedCommand& bits);

Command decode(const EncodedCommand& bits) {
  const std::uint64_t opcode = opcode_of(bits);
  if (opcode >= kUnits) {
    throw_bad_input("command opcode " + std::to_string(opcode) + "; allowed: 0 to " +
                    std::to_string(kUnits - 1));
  }
  Command command;
  command.wait_mask = wait_mask_of(bits);
  command.signal_mask = signal_mask_of(bits);
  switch (static_cast<Unit>(opcode)) {
    case Unit::kLoad:
      decode_fields(bits, command.fields.emplace<Load>());
      break;
    case Unit::kExecute:
      decode_fields(bits, command.fields.emplace<Execute>());
      break;
    case Unit::kPost:
      decode_fields(bits, command.fields.emplace<Post>());
      break;
    case Unit::kStore:
      decode_fields(bits, command.fields.emplace<Store>());
      break;
  }
  return command;
}

}  // namespace qsim
