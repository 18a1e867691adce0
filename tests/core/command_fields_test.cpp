// The constants of the command table against the encoding: what max_of and min_of say is what
// encode() takes, and one more is refused. And the limits of the accelerator that come from them.
#include "core/machine/isa/command_fields.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/machine/arch_config.h"
#include "core/machine/isa/command_codec.h"
#include "core/numerics/requantize.h"

namespace qsim {
namespace {

constexpr std::array<Unit, kUnits> kAllUnits = {Unit::kLoad, Unit::kExecute, Unit::kPost,
                                                Unit::kStore};

TEST(CommandFields, TakeTheirLeastAndTheirGreatestValueAndNothingBeyond) {
  for (const Unit unit : kAllUnits) {
    const auto fields = command_fields(unit);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      SCOPED_TRACE(fields[i].name);
      Command command = empty_command(unit);
      for (const std::int64_t value : {fields[i].min(), fields[i].max()}) {
        set_field(command, i, value);
        EXPECT_EQ(field_value(decode(encode(command)), i), value);
      }
      EXPECT_THROW(set_field(command, i, fields[i].min() - 1), Error);
      EXPECT_THROW(set_field(command, i, fields[i].max() + 1), Error);
    }
  }
}

TEST(CommandFields, AreFoundByName) {
  EXPECT_EQ(&fields_of<Execute>()[0], &command_fields(Unit::kExecute)[0]);
  EXPECT_EQ(&fields_of<CommandHeader>()[0], &command_header_fields()[0]);
  Command command = empty_command(Unit::kExecute);
  std::get<Execute>(command.fields).kernel_h = max_of<Execute>("kernel_h");
  std::get<Execute>(command.fields).origin_row = min_of<Execute>("origin_row");
  EXPECT_EQ(decode(encode(command)), command);
  std::get<Execute>(command.fields).kernel_h += 1;
  EXPECT_THROW(encode(command), Error);
}

TEST(CommandFields, HoldEveryValueThatTheModelGivesAMeaning) {
  EXPECT_GE(max_of<CommandHeader>("opcode"), std::int64_t{kUnits} - 1);
  EXPECT_GE(max_of<Load>("memory"), static_cast<std::int64_t>(LoadMemory::kParameter));
  EXPECT_GE(max_of<Post>("rounding"), kAcceleratorRoundingModes - 1);
  for (const char* name : {"zero_point", "lo", "hi"}) {
    for (const CommandField& field : fields_of<Post>()) {
      if (field.name != name) continue;
      EXPECT_EQ(field.min(), INT8_MIN) << name;
      EXPECT_EQ(field.max(), INT8_MAX) << name;
    }
  }
  EXPECT_EQ(min_of<Execute>("pad_value"), INT8_MIN);
  EXPECT_EQ(max_of<Execute>("pad_value"), INT8_MAX);
}

// The largest memory whose words commands address is taken, the next power of two is not.
struct MemoryLimit {
  const char* field;
  std::int64_t ArchConfig::*kib;
  std::int64_t words;       // that commands address
  std::int64_t word_bytes;  // of a 4x4 array
};

class AddressedMemory : public testing::TestWithParam<MemoryLimit> {};

TEST_P(AddressedMemory, HasAsManyWordsAsItsAddressesReach) {
  const MemoryLimit& memory = GetParam();
  ArchConfig arch;
  arch.array_rows = arch.array_cols = 4;
  arch.*memory.kib = memory.words * memory.word_bytes / 1024;
  EXPECT_NO_THROW(validate(arch));
  arch.*memory.kib *= 2;
  try {
    validate(arch);
    FAIL() << memory.field << ": twice as many words are taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(memory.field), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Memories, AddressedMemory,
    testing::Values(MemoryLimit{"act_scratchpad_kib", &ArchConfig::act_scratchpad_kib,
                                max_of<Execute>("act_addr") + 1, 4},
                    MemoryLimit{"weight_scratchpad_kib", &ArchConfig::weight_scratchpad_kib,
                                max_of<Execute>("weight_addr") + 1, 4},
                    MemoryLimit{"accumulator_kib", &ArchConfig::accumulator_kib,
                                2 * (max_of<Post>("acc_addr") + 1), 16},
                    MemoryLimit{"output_scratchpad_kib", &ArchConfig::output_scratchpad_kib,
                                max_of<Store>("out_addr") + 1, 4}),
    [](const testing::TestParamInfo<MemoryLimit>& memory) {
      return std::string(memory.param.field);
    });

}  // namespace
}  // namespace qsim
