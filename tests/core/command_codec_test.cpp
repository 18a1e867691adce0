// The 256-bit encoding: what goes in comes out, what does not fit is refused by field name, and
// the layout is the documented one (checked bit by bit, not through decode).
#include "core/machine/isa/command_codec.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/random.h"

namespace qsim {
namespace {

constexpr std::array<Unit, kUnits> kAllUnits = {Unit::kLoad, Unit::kExecute, Unit::kPost,
                                                Unit::kStore};

std::int64_t lowest(const CommandField& field) {
  return field.is_signed ? -(std::int64_t{1} << (field.bits - 1)) : 0;
}
std::int64_t highest(const CommandField& field) {
  return (std::int64_t{1} << (field.bits - (field.is_signed ? 1 : 0))) - 1;
}

Command random_command(Unit unit, Random& random) {
  Command command = empty_command(unit);
  command.wait_mask = static_cast<std::uint16_t>(random.next());
  command.signal_mask = static_cast<std::uint16_t>(random.next());
  const auto fields = command_fields(unit);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    set_field(command, i, random.uniform(lowest(fields[i]), highest(fields[i])));
  }
  return command;
}

std::string message_of(auto&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

TEST(CommandCodec, DecodesEveryRandomCommandToItself) {
  const std::uint64_t seed = 31;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (const Unit unit : kAllUnits) {
    for (int i = 0; i < 2000; ++i) {
      const Command command = random_command(unit, random);
      ASSERT_EQ(decode(encode(command)), command);
    }
  }
}

TEST(CommandCodec, PutsFieldsOneAfterAnotherFromTheLeastSignificantBit) {
  for (const Unit unit : kAllUnits) {
    int position = 0;
    for (const CommandField& field : command_header_fields()) position += field.bits;
    ASSERT_EQ(position, 36);
    const auto fields = command_fields(unit);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      Command command = empty_command(unit);
      set_field(command, i, fields[i].is_signed ? -1 : highest(fields[i]));
      EncodedCommand expected{};
      expected[0] = static_cast<std::uint64_t>(unit);
      for (int bit = position; bit < position + fields[i].bits; ++bit) {
        expected[static_cast<std::size_t>(bit / 64)] |= std::uint64_t{1} << (bit % 64);
      }
      EXPECT_EQ(encode(command), expected) << fields[i].name;
      position += fields[i].bits;
    }
    EXPECT_LE(position, 256);
  }
}

// One bit of one field at a time, also of those that lie across two words.
TEST(CommandCodec, EveryBitOfEveryFieldHasItsPlace) {
  for (const Unit unit : kAllUnits) {
    int position = 36;
    int across = 0;
    const auto fields = command_fields(unit);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (position / 64 != (position + fields[i].bits - 1) / 64) ++across;
      for (int bit = 0; bit < fields[i].bits; ++bit, ++position) {
        const bool is_sign = fields[i].is_signed && bit + 1 == fields[i].bits;
        const std::int64_t value = is_sign ? lowest(fields[i]) : std::int64_t{1} << bit;
        EncodedCommand bits{};
        bits[0] = static_cast<std::uint64_t>(unit);
        bits[static_cast<std::size_t>(position / 64)] |= std::uint64_t{1} << (position % 64);
        Command command = empty_command(unit);
        set_field(command, i, value);
        EXPECT_EQ(encode(command), bits) << fields[i].name << " bit " << bit;
        EXPECT_EQ(field_value(decode(bits), i), value) << fields[i].name << " bit " << bit;
        EXPECT_EQ(decode(bits), command) << fields[i].name << " bit " << bit;
      }
    }
    EXPECT_GT(across, 0) << "unit " << kUnitNames[static_cast<std::size_t>(unit)];
  }
}

TEST(CommandCodec, EncodesTheMasksBehindTheOpcode) {
  Command command = empty_command(Unit::kStore);
  command.wait_mask = 0x8001;
  command.signal_mask = 0x4002;
  EXPECT_EQ(encode(command)[0], 0x3ull | (0x8001ull << 4) | (0x4002ull << 20));
  EXPECT_EQ(wait_mask_of(encode(command)), 0x8001);
  EXPECT_EQ(signal_mask_of(encode(command)), 0x4002);
}

TEST(CommandCodec, RefusesAValueWiderThanItsFieldByName) {
  for (const Unit unit : kAllUnits) {
    const auto fields = command_fields(unit);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      Command command = empty_command(unit);
      for (const std::int64_t value : {lowest(fields[i]), highest(fields[i])}) {
        EXPECT_NO_THROW(set_field(command, i, value)) << fields[i].name;
        EXPECT_EQ(field_value(command, i), value) << fields[i].name;
      }
      for (const std::int64_t value : {lowest(fields[i]) - 1, highest(fields[i]) + 1}) {
        const std::string message = message_of([&] { set_field(command, i, value); });
        EXPECT_NE(message.find("field " + std::string(fields[i].name) + ": "), std::string::npos)
            << "'" << message << "' should name " << fields[i].name;
        EXPECT_NE(message.find(std::to_string(value)), std::string::npos);
      }
    }
  }
}

TEST(CommandCodec, RefusesToEncodeAStructWhoseMemberDoesNotFit) {
  Command command;
  command.fields = Execute{.kernel_h = 16};
  EXPECT_NE(message_of([&] { encode(command); }).find("kernel_h: 16"), std::string::npos);
  command.fields = Post{.zero_point = -129};
  EXPECT_NE(message_of([&] { encode(command); }).find("zero_point: -129"), std::string::npos);
}

TEST(CommandCodec, RefusesAnUnknownOpcode) {
  for (std::uint64_t opcode = kUnits; opcode < 16; ++opcode) {
    EncodedCommand bits{};
    bits[0] = opcode;
    EXPECT_EQ(message_of([&] { decode(bits); }),
              "command opcode " + std::to_string(opcode) + "; allowed: 0 to 3");
  }
}

TEST(CommandCodec, RefusesAnyBitBeyondTheLastField) {
  for (const Unit unit : kAllUnits) {
    int used = 0;
    for (const CommandField& field : command_header_fields()) used += field.bits;
    for (const CommandField& field : command_fields(unit)) used += field.bits;
    for (int bit = used; bit < 256; ++bit) {
      EncodedCommand bits = encode(empty_command(unit));
      bits[static_cast<std::size_t>(bit / 64)] |= std::uint64_t{1} << (bit % 64);
      EXPECT_THROW(decode(bits), Error) << "bit " << bit;
    }
  }
}

}  // namespace
}  // namespace qsim
