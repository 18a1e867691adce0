#include "core/isa/command_codec.h"

#include <string>
#include <vector>

#include "core/error.h"

namespace qsim {
namespace {

#define QSIM_U_ROW(name, bits, doc) CommandField{#name, bits, false, doc},
#define QSIM_S_ROW(name, bits, doc) CommandField{#name, bits, true, doc},
constexpr CommandField kHeaderFields[] = {QSIM_HEADER_FIELDS(QSIM_U_ROW, QSIM_S_ROW)};
constexpr CommandField kLoadFields[] = {QSIM_LOAD_FIELDS(QSIM_U_ROW, QSIM_S_ROW)};
constexpr CommandField kExecuteFields[] = {QSIM_EXECUTE_FIELDS(QSIM_U_ROW, QSIM_S_ROW)};
constexpr CommandField kPostFields[] = {QSIM_POST_FIELDS(QSIM_U_ROW, QSIM_S_ROW)};
constexpr CommandField kStoreFields[] = {QSIM_STORE_FIELDS(QSIM_U_ROW, QSIM_S_ROW)};
#undef QSIM_U_ROW
#undef QSIM_S_ROW

constexpr int total_bits(std::span<const CommandField> fields) {
  int bits = 0;
  for (const CommandField& field : kHeaderFields) bits += field.bits;
  for (const CommandField& field : fields) bits += field.bits;
  return bits;
}
static_assert(total_bits(kLoadFields) <= 256);
static_assert(total_bits(kExecuteFields) <= 256);
static_assert(total_bits(kPostFields) <= 256);
static_assert(total_bits(kStoreFields) <= 256);

// Calls visit(field) on member number `index` of a command struct.
template <typename Visit>
void visit_member(Load& c, std::size_t index, Visit visit) {
#define QSIM_VISIT(name, bits, doc) \
  if (index-- == 0) return visit(c.name);
  QSIM_LOAD_FIELDS(QSIM_VISIT, QSIM_VISIT)
}
template <typename Visit>
void visit_member(Execute& c, std::size_t index, Visit visit) {
  QSIM_EXECUTE_FIELDS(QSIM_VISIT, QSIM_VISIT)
}
template <typename Visit>
void visit_member(Post& c, std::size_t index, Visit visit) {
  QSIM_POST_FIELDS(QSIM_VISIT, QSIM_VISIT)
}
template <typename Visit>
void visit_member(Store& c, std::size_t index, Visit visit) {
  QSIM_STORE_FIELDS(QSIM_VISIT, QSIM_VISIT)
#undef QSIM_VISIT
}

void check_width(const CommandField& field, std::int64_t value) {
  const std::int64_t low = field.is_signed ? -(std::int64_t{1} << (field.bits - 1)) : 0;
  const std::int64_t high = (std::int64_t{1} << (field.bits - (field.is_signed ? 1 : 0))) - 1;
  if (value >= low && value <= high) return;
  throw_bad_input("command field " + std::string(field.name) + ": " + std::to_string(value) +
                  " does not fit " + std::to_string(field.bits) + " bits (" + std::to_string(low) +
                  " to " + std::to_string(high) + ")");
}

// Appends fields to, or takes them from, the 256 bits, least significant bit first.
class BitCursor {
 public:
  explicit BitCursor(EncodedCommand& bits) : bits_(bits) {}

  void put(std::int64_t value, int width) {
    for (int i = 0; i < width; ++i, ++position_) {
      const auto bit = static_cast<std::uint64_t>(value >> i) & 1;
      bits_[position_ / 64] |= bit << (position_ % 64);
    }
  }

  std::int64_t take(int width, bool is_signed) {
    std::uint64_t value = 0;
    for (int i = 0; i < width; ++i, ++position_) {
      value |= ((bits_[position_ / 64] >> (position_ % 64)) & 1) << i;
    }
    if (is_signed && ((value >> (width - 1)) & 1) != 0) value |= ~std::uint64_t{0} << width;
    return static_cast<std::int64_t>(value);
  }

  bool rest_is_zero() const {
    for (std::size_t i = position_; i < 256; ++i) {
      if (((bits_[i / 64] >> (i % 64)) & 1) != 0) return false;
    }
    return true;
  }

 private:
  EncodedCommand& bits_;
  std::size_t position_ = 0;
};

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
  Command copy = command;
  std::int64_t value = 0;
  std::visit([&](auto& c) { visit_member(c, index, [&](auto& member) { value = member; }); },
             copy.fields);
  return value;
}

void set_field(Command& command, std::size_t index, std::int64_t value) {
  check_width(command_fields(command.unit())[index], value);
  std::visit(
      [&](auto& c) {
        visit_member(c, index, [&](auto& member) {
          member = static_cast<std::remove_reference_t<decltype(member)>>(value);
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
  BitCursor cursor(bits);
  cursor.put(static_cast<std::int64_t>(command.unit()), kHeaderFields[0].bits);
  cursor.put(command.wait_mask, kHeaderFields[1].bits);
  cursor.put(command.signal_mask, kHeaderFields[2].bits);
  const std::span<const CommandField> fields = command_fields(command.unit());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::int64_t value = field_value(command, i);
    check_width(fields[i], value);
    cursor.put(value, fields[i].bits);
  }
  return bits;
}

Command decode(const EncodedCommand& encoded) {
  EncodedCommand bits = encoded;
  BitCursor cursor(bits);
  const std::int64_t opcode = cursor.take(kHeaderFields[0].bits, false);
  if (opcode >= static_cast<std::int64_t>(kUnits)) {
    throw_bad_input("command opcode " + std::to_string(opcode) + "; allowed: 0 to " +
                    std::to_string(kUnits - 1));
  }
  Command command = empty_command(static_cast<Unit>(opcode));
  command.wait_mask = static_cast<std::uint16_t>(cursor.take(kHeaderFields[1].bits, false));
  command.signal_mask = static_cast<std::uint16_t>(cursor.take(kHeaderFields[2].bits, false));
  const std::span<const CommandField> fields = command_fields(command.unit());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    set_field(command, i, cursor.take(fields[i].bits, fields[i].is_signed));
  }
  if (!cursor.rest_is_zero()) throw_bad_input("command has bits set beyond its last field");
  return command;
}

}  // namespace qsim
