// The parameter table: every range is enforced with a message that names the field, and the
// fingerprint covers what programs and timing depend on, no more.
#include "core/machine/arch_config.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace qsim {
namespace {

std::string refusal(const ArchConfig& config) {
  try {
    validate(config);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

ArchConfig config_with(const ArchConfigField& field, std::int64_t value) {
  ArchConfig config;
  config.name = "test";
  config.*field.number = value;
  return config;
}

std::string range_refusal(const ArchConfigField& field, std::int64_t value) {
  return "config 'test': " + std::string(field.name) + " is " + std::to_string(value) +
         "; allowed: " + (field.power_of_two ? "a power of two from " : "") +
         std::to_string(field.min) + " to " + std::to_string(field.max);
}

TEST(ArchConfig, TheDefaultsAreValid) { EXPECT_EQ(refusal(ArchConfig{}), ""); }

TEST(ArchConfig, RefusesAValueBelowOrAboveEachFieldsRangeByName) {
  for (const ArchConfigField& field : arch_config_fields()) {
    if (field.number == nullptr) continue;
    for (const std::int64_t value :
         {field.min - 1, field.max + 1, field.max * 2, std::int64_t{-4}}) {
      EXPECT_EQ(refusal(config_with(field, value)), range_refusal(field, value));
    }
  }
}

TEST(ArchConfig, RefusesASizeThatIsNoPowerOfTwo) {
  int checked = 0;
  for (const ArchConfigField& field : arch_config_fields()) {
    if (field.number == nullptr || !field.power_of_two) continue;
    const std::int64_t value = field.max / 2 + 1;
    EXPECT_EQ(refusal(config_with(field, value)),
              range_refusal(field, value) +
                  ", since words and bursts are cut by shifts (docs/reference/config.md)");
    ++checked;
  }
  EXPECT_EQ(checked, 9);
}

TEST(ArchConfig, AcceptsBothEndsOfALatencyOrBurstRange) {
  for (const ArchConfigField& field : arch_config_fields()) {
    if (field.number == nullptr || field.power_of_two) continue;
    EXPECT_EQ(refusal(config_with(field, field.min)), "") << field.name;
    EXPECT_EQ(refusal(config_with(field, field.max)), "") << field.name;
  }
}

TEST(ArchConfig, RefusesAMemoryWhosePartsHoldTooFewWords) {
  ArchConfig config;
  config.name = "tiny";
  config.array_rows = 256;
  config.array_cols = 256;
  config.weight_scratchpad_kib = 64;
  config.weight_slots = 4;
  EXPECT_EQ(
      refusal(config),
      "config 'tiny': weight_scratchpad_kib is 64, so that a slot of the weight scratchpad holds "
      "64 words; at least 256 are needed");
  config.weight_scratchpad_kib = 256;
  config.act_scratchpad_kib = 1;
  config.act_slots = 8;
  EXPECT_EQ(
      refusal(config),
      "config 'tiny': act_scratchpad_kib is 1, so that a slot of the activation scratchpad holds 0 "
      "words; at least 1 are needed");
  config.act_slots = 2;
  config.accumulator_kib = 1;
  EXPECT_EQ(
      refusal(config),
      "config 'tiny': accumulator_kib is 1, so that a half of the accumulator holds 0 words; at "
      "least 1 are needed");
}

TEST(ArchConfig, RefusesAMemoryThatCommandsCannotAddress) {
  ArchConfig config;
  config.name = "huge";
  config.act_scratchpad_kib = 65536;
  EXPECT_EQ(refusal(config),
            "config 'huge': act_scratchpad_kib is 65536, which is 4194304 words of the activation "
            "scratchpad; commands address at most 2^20");
  config = ArchConfig{};
  config.name = "huge";
  config.weight_scratchpad_kib = 65536;
  EXPECT_NE(refusal(config).find("4194304 words of the weight scratchpad"), std::string::npos);
  config = ArchConfig{};
  config.name = "huge";
  config.accumulator_kib = 65536;
  EXPECT_NE(refusal(config).find("524288 words of a half of the accumulator"), std::string::npos);
  config = ArchConfig{};
  config.name = "huge";
  config.output_scratchpad_kib = 65536;
  EXPECT_NE(refusal(config).find("4194304 words of the output scratchpad"), std::string::npos);
}

TEST(ArchConfig, TheFingerprintFollowsWhatProgramsDependOnAndNothingElse) {
  const ArchConfig base;
  for (const ArchConfigField& field : arch_config_fields()) {
    ArchConfig changed = base;
    if (field.number != nullptr) {
      changed.*field.number *= 2;
    } else if (field.word != nullptr) {
      set_word(changed, field, 1);
    } else {
      changed.*field.text += "x";
    }
    const bool matters = field.text == nullptr && field.name != "clock_mhz";
    EXPECT_EQ(fingerprint(changed) != fingerprint(base), matters) << field.name;
  }
}

TEST(ArchConfig, TheFingerprintTellsSwappedFieldsApart) {
  ArchConfig a;
  a.array_rows = 16;
  a.array_cols = 32;
  ArchConfig b;
  b.array_rows = 32;
  b.array_cols = 16;
  EXPECT_NE(fingerprint(a), fingerprint(b));
}

TEST(ArchConfig, DerivesWordsSlotsAndHalves) {
  ArchConfig config;
  config.array_rows = 16;
  config.array_cols = 32;
  EXPECT_EQ(config.block_channels(), 32);
  EXPECT_EQ(config.act_words(), 16384);
  EXPECT_EQ(config.act_slot_words(), 8192);
  EXPECT_EQ(config.weight_words(), 2048);
  EXPECT_EQ(config.weight_slot_words(), 512);
  EXPECT_EQ(config.accumulator_half_words(), 256);
  EXPECT_EQ(config.output_words(), 512);
  EXPECT_EQ(config.output_half_words(), 256);
  EXPECT_EQ(config.param_block_bytes(), 160);
  config.requantizer = RequantizerKind::kDyadic;
  EXPECT_EQ(config.param_block_bytes(), 256);
}

// Programs and results that name no requantizer stay those of a machine that shifts.
TEST(ArchConfig, AFieldOfWordsIsWrittenWhereItIsNotItsDefault) {
  ArchConfig config;
  EXPECT_EQ(fingerprint(config), 0x62cf98c17b401158ull);
  int words = 0;
  for (const ArchConfigField& field : arch_config_fields()) {
    EXPECT_EQ(is_written(config, field), field.word == nullptr) << field.name;
    if (field.word == nullptr) continue;
    EXPECT_EQ(value_text(config, field), field.words[0]);
    set_word(config, field, 1);
    EXPECT_TRUE(is_written(config, field)) << field.name;
    EXPECT_EQ(value_text(config, field), field.words[1]);
    ++words;
  }
  EXPECT_EQ(words, 1);
  EXPECT_TRUE(config.is_dyadic());
}

}  // namespace
}  // namespace qsim
