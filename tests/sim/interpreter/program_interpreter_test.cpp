// The interpreter's token rules: random order gives the bytes of plain order, and a program whose
// tokens are wrong is found out.
#include "sim/interpreter/program_interpreter.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/core/program_draft.h"
#include "tests/core/sample_program.h"

namespace qsim {

using namespace sim;
namespace {

RunResult run(const Program& program, bool random_order = false, std::uint64_t seed = 0) {
  return make_program_interpreter(random_order)->run(program, sample::input(), {true, seed});
}

// The message of the InternalError or Error that a run throws; "" when it throws none.
std::string failure(const Program& program, bool random_order = false) {
  try {
    run(program, random_order);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

// Layer "first" by plain loops over NHWC, straight from the segments.
std::int8_t first_layer_element(const Program& p, const Tensor& picture, std::int64_t oy,
                                std::int64_t ox, std::int64_t co) {
  const auto x = picture.as<std::int8_t>();
  const std::size_t block = static_cast<std::size_t>(co / 4);
  const std::size_t column = static_cast<std::size_t>(co % 4);
  std::int32_t psum = 0;
  for (std::int64_t tap = 0; tap < 9; ++tap) {
    const std::int64_t y = oy + tap / 3 - 1;
    const std::int64_t xx = ox + tap % 3 - 1;
    for (std::int64_t c = 0; c < 4; ++c) {
      const bool inside = y >= 0 && y < 4 && xx >= 0 && xx < 4;
      const int value = inside ? x[static_cast<std::size_t>((y * 4 + xx) * 4 + c)] : 3;
      const auto at = block * 144 + static_cast<std::size_t>(tap * 4 + c) * 4 + column;
      psum += value * static_cast<std::int8_t>(p.segments[0].bytes[at]);
    }
  }
  std::uint32_t bias = 0;
  for (std::size_t byte = 0; byte < 4; ++byte) {
    bias |= std::to_integer<std::uint32_t>(p.segments[1].bytes[block * 20 + column * 4 + byte])
            << (8 * byte);
  }
  return static_cast<std::int8_t>(
      requantize(psum, static_cast<std::int32_t>(bias), 9, RoundingMode::kHalfEven, 3, -100, 100));
}

TEST(ProgramInterpreter, FirstLayerOfTheSampleEqualsAPlainConvolution) {
  const Program program = sample::program();
  const RunResult result = run(program);
  ASSERT_EQ(result.ofmaps.size(), 2u);
  const auto ofmap = result.ofmaps[0].as<std::int8_t>();
  for (std::int64_t i = 0; i < 128; ++i) {
    ASSERT_EQ(ofmap[static_cast<std::size_t>(i)],
              first_layer_element(program, sample::input(), i / 32, i / 8 % 4, i % 8))
        << "element " << i;
  }
  const auto last = result.ofmaps[1].as<std::int8_t>();
  EXPECT_GT(std::set<std::int8_t>(last.begin(), last.end()).size(), 8u);
}

TEST(ProgramInterpreter, RandomOrderGivesTheBytesOfPlainOrder) {
  const Program program = sample::program();
  const RunResult plain = run(program);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_EQ(run(program, true, seed).ofmaps, plain.ofmaps);
  }
}

// Two commands lose the semaphore between them. The order must then be wrong for some seed.
bool caught_in_random_order(const Program& program, const RunResult& good) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    if (run(program, true, seed).ofmaps != good.ofmaps) return true;
  }
  return false;
}

void drop_semaphore(ProgramDraft& program, std::size_t semaphore) {
  const auto kept = static_cast<std::uint16_t>(~sample::mask(semaphore));
  for (auto& stream : program.streams()) {
    for (Instruction& instruction : stream) {
      instruction.command.wait_mask &= kept;
      instruction.command.signal_mask &= kept;
    }
  }
}

// act_free holds nobody up here: the third activation load has to wait for ofmap_done anyway.
TEST(ProgramInterpreter, RandomOrderShowsEveryMissingTokenAsWrongBytes) {
  const RunResult good = run(sample::program());
  for (const std::size_t semaphore :
       {sample::kActReady, sample::kWeightReady, sample::kParamReady, sample::kParamFree,
        sample::kAccReady, sample::kWeightFree, sample::kAccFree, sample::kOutReady,
        sample::kOutFree, sample::kOfmapDone}) {
    ProgramDraft program(sample::program());
    drop_semaphore(program, semaphore);
    EXPECT_TRUE(caught_in_random_order(program.program(), good))
        << program.semaphores[semaphore].name << " is not missed";
  }
}

TEST(ProgramInterpreter, RandomOrderStartsWithGarbageSoThatReadingWhatWasNeverWrittenShows) {
  const std::vector<Tensor> good = run(sample::program()).ofmaps;
  const auto expect_garbage = [&](const Program& program) {
    const std::vector<Tensor> first = run(program, true, 1).ofmaps;
    EXPECT_NE(first, good);
    EXPECT_NE(first, run(program, true, 2).ofmaps);
  };
  ProgramDraft draft(sample::program());
  draft.fields<Execute>(4).act_addr = 200;
  expect_garbage(draft.program());
  draft = ProgramDraft(sample::program());
  draft.fields<Execute>(4).weight_addr = 200;
  expect_garbage(draft.program());
  draft = ProgramDraft(sample::program());
  draft.fields<Post>(4).acc_addr = 16;
  expect_garbage(draft.program());
  draft = ProgramDraft(sample::program());
  draft.fields<Store>(4).out_addr = 100;
  expect_garbage(draft.program());
}

TEST(ProgramInterpreter, DeadlockNamesWhoWaitsForWhatAndWhoShouldSignalIt) {
  ProgramDraft draft(sample::program());
  draft.command(Unit::kPost, 0).signal_mask &=
      static_cast<std::uint16_t>(~sample::mask(sample::kOutReady));
  for (const bool random_order : {false, true}) {
    const std::string message = failure(draft.program(), random_order);
    EXPECT_NE(message.find("deadlock in program 'two layers'"), std::string::npos) << message;
    EXPECT_NE(message.find("(second tile 0, n 0..1, y 0..2, x 0..2, c 0..4) waits "
                           "for ofmap_done (signalled next by store command 3)"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("load command 12 of "), std::string::npos) << message;
    EXPECT_NE(message.find("(first tile 3"), std::string::npos) << message;
    EXPECT_NE(message.find("waits for out_ready (signalled next by post command 4)"),
              std::string::npos)
        << message;
  }
}

TEST(ProgramInterpreter, DeadlockSaysWhenNobodyIsLeftToSignal) {
  ProgramDraft draft(sample::program());
  draft.command(Unit::kPost, 4).signal_mask = 0;
  const std::string message = failure(draft.program());
  EXPECT_EQ(message.find("load command"), std::string::npos) << message;
  EXPECT_NE(message.find("waits for out_ready (signalled by post, which has no more of them)"),
            std::string::npos)
      << message;
}

TEST(ProgramInterpreter, SemaphoreAboveFifteenIsAnError) {
  ProgramDraft draft(sample::program());
  draft.semaphores[sample::kOutFree].initial = 15;
  draft.command(Unit::kPost, 0).wait_mask &=
      static_cast<std::uint16_t>(~sample::mask(sample::kOutFree));
  const std::string message = failure(draft.program());
  EXPECT_NE(message.find("raises out_free above 15"), std::string::npos) << message;
}

TEST(ProgramInterpreter, TokensLeftOverAtTheEndAreAnError) {
  ProgramDraft draft(sample::program());
  draft.command(Unit::kStore, 4).signal_mask |= sample::mask(sample::kOfmapDone);
  const std::string message = failure(draft.program());
  EXPECT_NE(message.find("ends with ofmap_done at 1; it began at 0"), std::string::npos) << message;
}

// One field of one command changed; the message must name the command and contain `expected`.
template <typename Fields>
void expect_refused(std::uint32_t Fields::*field, std::uint32_t value,
                    const std::string& expected) {
  ProgramDraft draft(sample::program());
  const auto unit = Command{0, 0, Fields{}}.unit();
  draft.fields<Fields>(0).*field = value;
  const std::string message = failure(draft.program());
  const std::string label =
      std::string(kUnitNames[static_cast<std::size_t>(unit)]) + " command 0 (first tile 0";
  EXPECT_NE(message.find(label), std::string::npos) << message;
  EXPECT_NE(message.find(expected), std::string::npos) << message;
}

TEST(ProgramInterpreter, CommandThatLeavesAMemoryIsRefusedByName) {
  expect_refused(&Load::local_addr, 250u, "words 256 to 256 of the activation scratchpad");
  expect_refused(&Load::memory, 3u, "memory is 3; allowed: 0 to 2");
  expect_refused(&Load::dram_addr, 1000000u, "DRAM read");
  expect_refused(&Load::run_bytes, 63u, "a multiple of the word's 4 bytes");
  expect_refused(&Execute::act_addr, 245u, "words 245 to 256 of the activation scratchpad");
  expect_refused(&Execute::weight_addr, 221u, "words 221 to 256 of the weight scratchpad");
  expect_refused(&Execute::acc_addr, 25u, "words 25 to 32 of the accumulator half; it has 32");
  expect_refused(&Post::acc_addr, 25u, "words 25 to 32 of the accumulator half");
  expect_refused(&Post::out_addr, 249u, "words 249 to 256 of the output scratchpad");
  expect_refused(&Post::rounding, 3u,
                 "rounding is 3 (float32), which needs requantizer: dyadic; allowed: 0 to 2");
  expect_refused(&Post::add, 1u, "add is 1, which needs requantizer: dyadic");
  expect_refused(&Post::lookup, 1u, "lookup is 1, which needs requantizer: dyadic");
  expect_refused(&Store::out_addr, 249u, "words 249 to 256 of the output scratchpad");
  expect_refused(&Store::dram_addr, 0u, "DRAM write at 0 into the input");
}

TEST(ProgramInterpreter, TransferLargerThanDramIsRefused) {
  ProgramDraft draft(sample::program());
  Load& load = draft.fields<Load>(0);
  load.groups = load.runs = 1024;
  load.run_bytes = 8192;
  const std::string message = failure(draft.program());
  EXPECT_NE(message.find("transfer of 1048576 runs of 8192 bytes; at most 2^32 bytes are allowed"),
            std::string::npos)
      << message;
}

TEST(ProgramInterpreter, RefusesAnInvalidConfigAndAnotherShapeOfInput) {
  Program program = sample::program();
  program.arch.array_rows = 5;
  EXPECT_NE(failure(program).find("array_rows is 5"), std::string::npos);
  const Tensor wrong(DType::kInt8, {1, 4, 4, 3});
  EXPECT_THROW(make_program_interpreter()->run(sample::program(), wrong, {}), Error);
}

TEST(ProgramInterpreter, WithoutDataItChecksTokensAlone) {
  Program program = sample::program();
  const RunOptions no_data{false, 0};
  EXPECT_TRUE(make_program_interpreter()->run(program, sample::input(), no_data).ofmaps.empty());
  ProgramDraft draft(program);
  draft.command(Unit::kPost, 4).signal_mask = 0;
  EXPECT_THROW(make_program_interpreter()->run(draft.program(), sample::input(), no_data),
               InternalError);
}

}  // namespace
}  // namespace qsim
