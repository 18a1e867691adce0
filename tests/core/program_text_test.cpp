// parse(print(p)) == p for programs by hand and at random, and every malformed text is refused
// with source:line:column, what was found and what is expected.
#include "core/machine/program_text.h"

#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/text_line.h"
#include "core/machine/isa/command_codec.h"
#include "tests/core/program_draft.h"
#include "tests/core/sample_program.h"

namespace qsim {
namespace {

std::string printed(const Program& program) {
  std::ostringstream out;
  print_program(program, out);
  return out.str();
}

void expect_round_trip(const Program& program) {
  const std::string text = printed(program);
  const Program parsed = parse_program(text, "p.txt");
  EXPECT_EQ(parsed.name, program.name);
  EXPECT_EQ(parsed.arch, program.arch);
  EXPECT_EQ(parsed.semaphores, program.semaphores);
  EXPECT_EQ(parsed.input, program.input);
  EXPECT_EQ(parsed.segments, program.segments);
  EXPECT_EQ(parsed.layers, program.layers);
  EXPECT_EQ(parsed.streams, program.streams);
  EXPECT_TRUE(parsed == program);
  EXPECT_EQ(printed(parsed), text);
}

TEST(ProgramText, HandMadeProgramSurvivesTheRoundTrip) { expect_round_trip(sample::program()); }

TEST(ProgramText, TapsOddNamesAndUnnamedSemaphoresSurviveTheRoundTrip) {
  Program program = sample::program();
  program.name = "a \"quoted\" \\ name\nof two lines=\x01\x7f \xc3\xa9";
  program.arch.name = "";
  program.layers[0].mapping = "tile 4 x 4, c = 8";
  program.layers[1].ofmap.value.dtype = DType::kUint8;
  program.layers[1].ofmap.value.zero_point = 255;
  program.layers[1].ofmap.value.scale = Scale::power_of_two(3);
  program.segments[0].name = "7";
  program.segments.push_back({"empty", 1000, {}});
  program.input.taps = TapPacking{{1, 2, 3, 4, 5, 6, 7, 8}, {1, 9, 10, 3}};
  program.semaphores[sample::kAccReady].name = "";      // used, but without a name
  program.semaphores[sample::kAccFree].name = "3";      // would read as a number
  program.semaphores[sample::kOutFree].name = "a,b";    // would read as two
  program.semaphores[sample::kActReady].name = "same";  // ambiguous
  program.semaphores[sample::kActFree].name = "same";
  program.semaphores[15] = {"spare", 15};
  expect_round_trip(program);
}

Program random_program(std::uint64_t seed) {
  Random random(seed);
  Program program = sample::program(seed);
  for (const ArchConfigField& field : arch_config_fields()) {
    if (field.text != nullptr) {
      program.arch.*field.text = std::string(1, static_cast<char>(random.uniform(1, 255)));
    }
  }
  program.arch.clock_mhz = random.uniform(1, 10000);
  ProgramDraft draft(std::move(program));
  for (std::size_t unit = 0; unit < kUnits; ++unit) {
    draft.streams()[unit].resize(static_cast<std::size_t>(random.uniform(0, 20)));
    for (Instruction& instruction : draft.streams()[unit]) {
      instruction.command = empty_command(static_cast<Unit>(unit));
      instruction.command.wait_mask = static_cast<std::uint16_t>(random.next());
      instruction.command.signal_mask = static_cast<std::uint16_t>(random.next());
      const auto fields = command_fields(static_cast<Unit>(unit));
      for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::int64_t high = (1ll << (fields[i].bits - (fields[i].is_signed ? 1 : 0))) - 1;
        const std::int64_t low = fields[i].is_signed ? -high - 1 : 0;
        set_field(instruction.command, i, random.uniform(low, high));
      }
      Origin& o = instruction.origin;
      for (std::int32_t* part :
           {&o.layer, &o.tile, &o.n0, &o.n1, &o.y0, &o.y1, &o.x0, &o.x1, &o.c0, &o.c1}) {
        *part = static_cast<std::int32_t>(random.next());
      }
    }
  }
  return draft.program();
}

TEST(ProgramText, EveryScaleSurvivesTheRoundTrip) {
  Program program = sample::program();
  for (const float real :
       {0x1p-149F, 0x1.8p-148F, 0x1p-126F, 0.1F, 1.0F, 0x1p127F, 0x1.fffffep127F}) {
    program.input.tensor.value.scale = Scale::of(real);
    expect_round_trip(program);
  }
}

TEST(ProgramText, TheRequantizerIsWrittenWhereItIsDyadic) {
  Program program = sample::program();
  EXPECT_EQ(printed(program).find("requantizer"), std::string::npos);
  program.arch.requantizer = RequantizerKind::kDyadic;
  EXPECT_NE(printed(program).find(" requantizer=dyadic "), std::string::npos);
  expect_round_trip(program);
}

TEST(ProgramText, RandomCommandsOfEveryFieldValueSurviveTheRoundTrip) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_round_trip(random_program(seed));
  }
}

TEST(ProgramText, ControlCharactersAreEscapedAndPlainWordsAreNot) {
  EXPECT_EQ(quoted_word("conv1.weights/3,a+b:c_d-e"), "conv1.weights/3,a+b:c_d-e");
  EXPECT_EQ(quoted_word(""), "\"\"");
  EXPECT_EQ(quoted_word("a b"), "\"a b\"");
  EXPECT_EQ(quoted_word("\x1b\x1f\n"), "\"\\x1b\\x1f\\x0a\"");
}

TEST(ProgramText, CommandTextNamesSemaphoresAndFields) {
  const Program program = sample::program();
  EXPECT_EQ(command_text(program, program.stream(Unit::kStore).command(3)),
            "store wait=out_ready signal=out_free,ofmap_done dram_addr=160 out_addr=128 "
            "run_bytes=32 runs=1 run_stride=32 groups=1 group_stride=32");
  EXPECT_EQ(command_label(program, Unit::kPost, 1),
            "post command 1 (first tile 1, n 0..1, y 0..2, x 0..4, c 4..8)");
}

// The message of the Error for the sample's text with the first `from` replaced by `to`.
std::string complaint(const std::string& from, const std::string& to) {
  std::string text = printed(sample::program());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "no '" << from << "' in the text";
  text.replace(at, from.size(), to);
  try {
    parse_program(text, "p.txt");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "no complaint";
}

TEST(ProgramText, ARequantizerIsOneOfTheWords) {
  const std::string message = complaint(" model=", " requantizer=multiply model=");
  EXPECT_TRUE(message.starts_with("p.txt:2:")) << message;
  EXPECT_TRUE(message.ends_with(": found requantizer='multiply'; expected 'shift', 'dyadic'"))
      << message;
}

TEST(ProgramText, HeaderErrorsSayWhereWhatAndWhatIsExpected) {
  EXPECT_EQ(
      complaint("program \"two layers\"", "programme x"),
      "p.txt:1:1: found text that is not a program; expected 'program NAME' in the first line, as "
      "`qsim compile --out FILE` writes it");
  EXPECT_EQ(complaint("program \"two layers\"", "program"),
            "p.txt:1:8: found the end of the line; expected a name");
  EXPECT_EQ(complaint("program \"two layers\"", "program \"two"),
            "p.txt:1:9: found a quote; expected a closing quote on the line");
  EXPECT_EQ(complaint("program \"two layers\"", "program \"two\\q\""),
            "p.txt:1:13: found a backslash; expected \\\", \\\\ or \\x and two lower-case digits");
  EXPECT_EQ(complaint("program \"two layers\"", "program \"two\"layers"),
            "p.txt:1:14: found l; expected a space between fields");
  EXPECT_EQ(complaint("array_rows=4", "array_rows=1024"),
            "p.txt:2:27: found array_rows='1024'; expected a number from 4 to 256");
  EXPECT_NE(complaint("array_rows=4", "array_rows=12").find("p.txt:2:1: found config 'tiny': "),
            std::string::npos);
  EXPECT_NE(complaint("array_rows=4", "aray_rows=4")
                .find("p.txt:2:16: found unknown field 'aray_rows'; expected one of: name, "
                      "array_rows, array_cols"),
            std::string::npos);
  EXPECT_EQ(complaint("semaphore 1 ", "semaphore 0 "),
            "p.txt:4:11: found '0'; expected a semaphore that has not been described");
  EXPECT_EQ(complaint("semaphore 1 ", "semaphore 16 "),
            "p.txt:4:11: found '16'; expected a number from 0 to 15");
  EXPECT_EQ(complaint("initial=2", "initial=16"),
            "p.txt:4:35: found initial='16'; expected a number from 0 to 15");
}

TEST(ProgramText, RegionErrorsSayWhereWhatAndWhatIsExpected) {
  EXPECT_EQ(complaint("writable_bytes 256", "writable_bytes 99999999999"),
            "p.txt:14:16: found '99999999999'; expected a number from 0 to 4294967296");
  EXPECT_EQ(complaint("input address=0", "input address=200"),
            "p.txt:15:15: found address='200'; expected a tensor that lies within the 256 "
            "writable bytes");
  EXPECT_NE(complaint("height=4 width=4", "height=2147483647 width=2147483647").find("p.txt:15:15"),
            std::string::npos);
  EXPECT_EQ(complaint("dtype=int8", "dtype=int32"),
            "p.txt:15:31: found dtype='int32'; expected int8 or uint8");
  EXPECT_EQ(complaint("input address", "input scale_exponent=150 address"),
            "p.txt:15:22: found scale_exponent='150'; expected a scale that float32 represents "
            "exactly");
  EXPECT_NE(complaint("input address", "input scale_multiplier=3 scale_exponent=150 address")
                .find("represents exactly"),
            std::string::npos);
  EXPECT_EQ(complaint("input address", "input scale_exponent=173 address"),
            "p.txt:15:22: found scale_exponent='173'; expected a number from -127 to 172");
  EXPECT_EQ(complaint("layer 1 ", "layer 2 "),
            "p.txt:17:7: found '2'; expected a number from 1 to 1");
  EXPECT_EQ(complaint("address=544", "address=543"),
            "p.txt:24:30: found address='543'; expected a number from 544 to 4294967296");
  EXPECT_EQ(complaint("bytes=288", "bytes=2000000000"),
            "p.txt:18:41: found bytes='2000000000'; expected as many bytes as the text holds");
  EXPECT_NE(
      complaint("bytes=288", "bytes=289").find("p.txt:23:65: found 64 characters; expected 66"),
      std::string::npos);
  EXPECT_NE(
      complaint("bytes=288", "bytes=287").find("p.txt:23:63: found 64 characters; expected 62"),
      std::string::npos);
}

TEST(ProgramText, HexErrorsNameTheColumn) {
  std::string text = printed(sample::program());
  const std::size_t line = text.find('\n', text.find("segment first.weights")) + 1;
  for (const std::size_t column : {0, 1, 126, 127}) {
    std::string broken = text;
    broken[line + column] = 'G';
    try {
      parse_program(broken, "p.txt");
      ADD_FAILURE() << "no complaint";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "p.txt:19:" + std::to_string(column + 1) +
                                               ": found 'G'; expected a hexadecimal digit, lower "
                                               "case");
    }
  }
}

TEST(ProgramText, CommandErrorsSayWhereWhatAndWhatIsExpected) {
  EXPECT_EQ(complaint("stream load", "stream store"), "p.txt:30:8: found 'store'; expected 'load'");
  EXPECT_EQ(complaint("memory=0", "memory=4"),
            "p.txt:31:44: found memory='4'; expected a number from 0 to 3");
  EXPECT_EQ(complaint("origin_row=-1", "origin_row=-65").substr(0, 6), "p.txt:");
  EXPECT_NE(complaint("origin_row=-1", "origin_row=-65")
                .find("found origin_row='-65'; expected a number from -64 to 63"),
            std::string::npos);
  EXPECT_NE(complaint("memory=0", "memroy=0")
                .find("p.txt:31:37: found unknown field 'memroy'; expected one of: wait, signal, "
                      "layer, tile, n, y, x, c, memory, dram_addr"),
            std::string::npos);
  EXPECT_NE(complaint("memory=0 ", "").find("; expected field 'memory'"), std::string::npos);
  EXPECT_EQ(complaint("memory=0", "memory=0 memory=0"),
            "p.txt:31:46: found field 'memory' a second time; expected every field once");
  EXPECT_EQ(complaint("wait=act_free", "wait=act_fee"),
            "p.txt:31:11: found wait='act_fee'; expected names of the program's semaphores, or 0 "
            "to 15, with commas between");
  EXPECT_EQ(complaint("wait=act_free", "wait=act_free,1"),
            "p.txt:31:11: found wait='act_free,1'; expected every semaphore once");
  EXPECT_EQ(complaint("y=0..2", "y=0-2").substr(0, 9), "p.txt:31:");
  EXPECT_NE(complaint("y=0..2", "y=0-2").find("found y='0-2'; expected two numbers as in 0..8"),
            std::string::npos);
  EXPECT_NE(complaint("y=0..2", "y=0..2147483648")
                .find("found y='2147483648'; expected a number from -2147483648 to 2147483647"),
            std::string::npos);
}

TEST(ProgramText, WordsAndFieldsInEachOthersPlaceAreNoticed) {
  EXPECT_NE(complaint("writable_bytes 256", "writable_bytes 256 8")
                .find("found '8'; expected a field key=value or the end of the line"),
            std::string::npos);
  EXPECT_NE(complaint("semaphore 0 ", "semaphore ").find("found field 'name'; expected a number"),
            std::string::npos);
  EXPECT_NE(
      complaint("memory=0", "memory=0 memory").find("found 'memory'; expected a field key=value"),
      std::string::npos);
}

TEST(ProgramText, TruncationAnywhereIsNoticed) {
  const std::string text = printed(sample::program());
  for (std::size_t size = 0; size < text.size(); size += 1 + size % 7) {
    EXPECT_THROW(parse_program(std::string_view(text).substr(0, size), "p.txt"), Error) << size;
  }
  EXPECT_THROW(parse_program(text + "\n", "p.txt"), Error);
}

}  // namespace
}  // namespace qsim
