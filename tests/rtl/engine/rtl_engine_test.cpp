// The RTL engine on programs whose cycles are worked out by hand
// (tests/sim/systemc/systemc_engine_test.cpp has the sum), against the SystemC model on random
// layers, and what it refuses.
#include "rtl/engine/rtl_engine.h"

#include <algorithm>
#include <array>

#include "compiler/compile.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "golden/graph/cpu/graph_executor.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/core/program_draft.h"
#include "tests/rtl/engine/rtl_support.h"
#include "tests/sim/systemc/hand_program.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace rtl;
using namespace sim;
namespace {

std::string failure_of(Engine& engine, const Program& program) {
  try {
    engine.run(program, hand_input(), {});
  } catch (const InternalError& error) {
    return error.what();
  }
  ADD_FAILURE() << "the run succeeds";
  return "";
}

// A layer of a network on pe4x4, compiled, with what golden makes of it.
struct Case {
  Program program;
  Tensor input;
  std::vector<Tensor> ofmaps;
};

Case random_case(std::uint64_t seed) {
  const ArchConfig arch = load_arch_config("configs/pe4x4.yaml");
  RandomLayer layer = make_random_layer(seed, arch);
  Case result{compile(layer.graph, arch), layer.input, {}};
  const std::vector<Tensor> golden = golden::run_graph(layer.graph, layer.input);
  for (const ProgramLayer& program_layer : result.program.layers) {
    result.ofmaps.push_back(golden[static_cast<std::size_t>(program_layer.graph_layer)]);
  }
  return result;
}

void expect_bytes(const RunResult& result, const Case& expected) {
  ASSERT_EQ(result.ofmaps.size(), expected.ofmaps.size());
  for (std::size_t l = 0; l < expected.ofmaps.size(); ++l) {
    EXPECT_EQ(result.ofmaps[l].bytes, expected.ofmaps[l].bytes) << "layer " << l;
  }
}

TEST(RtlEngine, TheModelOfTheTestsIsTheHardwareOfTheHandMadePrograms) {
  EXPECT_EQ(fingerprint(load_arch_config("tests/rtl/engine/hand.yaml")), fingerprint(hand_arch()));
}

TEST(RtlEngine, TimesOfAHandMadeProgramAreTheOnesWorkedOutOnPaper) {
  QSIM_NEEDS_RTL_MODELS();
  const auto engine = make_rtl_engine();
  const RunResult result = engine->run(hand_program(), hand_input(), {});
  const std::vector<CommandTime> load = {{0, 16, 26}, {16, 22, 32}, {22, 31, 41}};
  EXPECT_EQ(of(result, Unit::kLoad), load);
  EXPECT_EQ(of(result, Unit::kExecute), (std::vector<CommandTime>{{32, 48, 66}}));
  EXPECT_EQ(of(result, Unit::kPost), (std::vector<CommandTime>{{66, 82, 88}}));
  EXPECT_EQ(of(result, Unit::kStore), (std::vector<CommandTime>{{88, 104, 114}}));
  ASSERT_EQ(result.ofmaps.size(), 1u);
  EXPECT_EQ(result.ofmaps[0], hand_input());
  EXPECT_GT(result.wall_seconds, 0);
}

TEST(RtlEngine, HandsOverWhatItWouldReturn) {
  QSIM_NEEDS_RTL_MODELS();
  const auto engine = make_rtl_engine();
  const Program program = hand_program();
  std::vector<Tensor> taken;
  const RunResult result =
      engine->run(program, hand_input(),
                  {.take_ofmap = [&](std::size_t layer, std::span<const std::byte> dram) {
                    EXPECT_EQ(layer, 0u);
                    taken.push_back(unpack(program.layers[layer].ofmap, dram));
                  }});
  EXPECT_EQ(taken, std::vector<Tensor>{hand_input()});
  EXPECT_TRUE(result.ofmaps.empty());
  const TakeOfmap refuse = [](std::size_t, std::span<const std::byte>) {
    throw_bad_input("not wanted");
  };
  EXPECT_THROW(engine->run(program, hand_input(), {.take_ofmap = refuse}), Error);
  EXPECT_EQ(engine->run(program, hand_input(), {}).ofmaps[0], hand_input());
}

TEST(RtlEngine, AModelThatGxxBuiltHasTheSameBytesAndCycles) {
  QSIM_NEEDS_RTL_MODELS();
  if (find_program("g++").empty()) GTEST_SKIP() << "no g++";
  RtlEngineOptions options;
  options.model.compiler = "g++";
  Program program = hand_program();
  for (int i = 0; i < 6; ++i) append_round(program);
  const RunResult result = make_rtl_engine(options)->run(program, hand_input(), {});
  EXPECT_EQ(result.ofmaps[0], hand_input());
  EXPECT_EQ(result.times, make_systemc_engine()->run(program, hand_input(), {}).times);
}

TEST(RtlEngine, SeveralCoresOfAVariantWithScopesEndInAnyOrder) {
  QSIM_NEEDS_RTL_MODELS();
  RtlEngineOptions options;
  options.model.variant = "assert";
  std::array<std::size_t, 3> order = {0, 1, 2};
  do {
    std::array<std::unique_ptr<Engine>, 3> engines;
    for (std::unique_ptr<Engine>& engine : engines) {
      engine = make_rtl_engine(options);
      engine->run(hand_program(), hand_input(), {});
    }
    for (const std::size_t i : order) {
      EXPECT_EQ(engines[i]->run(hand_program(), hand_input(), {}).ofmaps[0], hand_input());
      engines[i].reset();
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(RtlEngine, AnAssertionIsItsOwnCoresAlsoWhenALaterCoreIsGone) {
  QSIM_NEEDS_RTL_MODELS();
  RtlEngineOptions options;
  options.model.variant = "assert";
  const auto engine = make_rtl_engine(options);
  engine->run(hand_program(), hand_input(), {});
  make_rtl_engine(options)->run(hand_program(), hand_input(), {});
  ProgramDraft draft(hand_program());
  draft.semaphores[9].initial = 15;
  draft.command(Unit::kStore, 0).signal_mask = 1u << 9;
  expect_contains(failure_of(*engine, draft.program()), "the RTL reports a failure in cycle 1");
}

TEST(RtlEngine, ACommandStartsWhenItsTokenComesAndNoCycleLater) {
  QSIM_NEEDS_RTL_MODELS();
  const auto engine = make_rtl_engine();
  for (const std::uint32_t out_cols : {3u, 4u}) {
    Program program = hand_program();
    append_round(program);
    ProgramDraft draft(program);
    draft.semaphores[kActFree].initial = 2;
    draft.fields<Execute>(0).out_cols = out_cols;
    const RunResult result = engine->run(draft.program(), hand_input(), {});
    const std::uint64_t first_free = of(result, Unit::kExecute)[0].free;
    EXPECT_EQ(first_free, 32 + 4 * out_cols);
    EXPECT_EQ(of(result, Unit::kLoad)[3], (CommandTime{31, 49, 59}));
    const std::uint64_t tokens = of(result, Unit::kLoad)[4].done;
    EXPECT_EQ(of(result, Unit::kExecute)[1].start, std::max(first_free, tokens));
  }
}

TEST(RtlEngine, AUnitThatIsBusyStartsItsNextCommandTheCycleItIsFree) {
  QSIM_NEEDS_RTL_MODELS();
  const auto engine = make_rtl_engine();
  Program program = hand_program();
  program.streams.append({0, 0, program.stream(Unit::kPost).fields<Post>(0)},
                         program.stream(Unit::kPost).origin(0));
  const RunResult result = engine->run(program, hand_input(), {});
  EXPECT_EQ(of(result, Unit::kPost)[1], (CommandTime{82, 98, 104}));
}

TEST(RtlEngine, ManyRunsOnTheSameCoreEqualTheFirst) {
  QSIM_NEEDS_RTL_MODELS();
  const auto engine = make_rtl_engine();
  Program longer = hand_program();
  for (int i = 0; i < 6; ++i) append_round(longer);
  const RunResult first = engine->run(hand_program(), hand_input(), {});
  const RunResult other = engine->run(longer, hand_input(), {});
  const RunResult second = engine->run(hand_program(), hand_input(), {});
  EXPECT_EQ(first.times, second.times);
  EXPECT_EQ(first.ofmaps, second.ofmaps);
  EXPECT_EQ(of(other, Unit::kExecute).size(), 7u);
  EXPECT_EQ(other.ofmaps[0], hand_input());
}

TEST(RtlEngine, RandomLayersHaveGoldensBytesAndTheCyclesOfTheSystemcModel) {
  QSIM_NEEDS_RTL_MODELS();
  const auto rtl = make_rtl_engine();
  const auto systemc = make_systemc_engine();
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case layer = random_case(seed);
    const RunResult result = rtl->run(layer.program, layer.input, {});
    expect_bytes(result, layer);
    EXPECT_EQ(result.times, systemc->run(layer.program, layer.input, {}).times);
    account(layer.program, result.times);
    if (HasFailure()) return;
  }
}

TEST(RtlEngine, BytesAreTheSameWhateverTheMemorysTiming) {
  QSIM_NEEDS_RTL_MODELS();
  const Case layer = random_case(3);
  const RunResult regular = make_rtl_engine()->run(layer.program, layer.input, {});
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("DRAM seed " + std::to_string(seed));
    RtlEngineOptions options;
    options.dram_seed = seed;
    const RunResult result = make_rtl_engine(options)->run(layer.program, layer.input, {});
    expect_bytes(result, layer);
    EXPECT_NE(result.times, regular.times);  // else nothing was delayed
  }
}

TEST(RtlEngine, BytesAndCyclesAreTheSameWhateverRegistersAndMemoriesHoldAtPowerUp) {
  QSIM_NEEDS_RTL_MODELS();
  const Case layer = random_case(4);
  const RunResult zeroed = make_rtl_engine()->run(layer.program, layer.input, {});
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("init seed " + std::to_string(seed));
    RtlEngineOptions options;
    options.init_seed = seed;
    const RunResult result = make_rtl_engine(options)->run(layer.program, layer.input, {});
    expect_bytes(result, layer);
    EXPECT_EQ(result.times, zeroed.times);
  }
}

TEST(RtlEngine, ADeadlockNamesWhoWaitsForWhatAndLeavesTheEngineUsable) {
  QSIM_NEEDS_RTL_MODELS();
  const auto engine = make_rtl_engine();
  ProgramDraft draft(hand_program());
  draft.command(Unit::kLoad, 1).signal_mask = 0;
  const std::string text = failure_of(*engine, draft.program());
  expect_contains(text, "nothing has happened for");
  expect_contains(text, "execute command 0 of 1 (conv tile 0");
  expect_contains(text, "waits for weight_ready (signalled by no command)");
  expect_contains(text, "acc_ready (signalled next by execute command 0)");
  EXPECT_EQ(text.find("load command"), std::string::npos) << text;
  EXPECT_EQ(engine->run(hand_program(), hand_input(), {}).ofmaps[0], hand_input());
}

TEST(RtlEngine, TokensLeftOverAtTheEndAreAnError) {
  QSIM_NEEDS_RTL_MODELS();
  ProgramDraft draft(hand_program());
  draft.command(Unit::kStore, 0).signal_mask = 1u << 9;
  expect_contains(failure_of(*make_rtl_engine(), draft.program()),
                  "ends with 1 tokens in semaphore 9");
}

TEST(RtlEngine, AssertionsHoldOnALegalProgramAndStopOneThatOverflowsASemaphore) {
  QSIM_NEEDS_RTL_MODELS();
  RtlEngineOptions options;
  options.model.variant = "assert";
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Program program = hand_program();
    for (int i = 0; i < 6; ++i) append_round(program);
    if (seed > 0) options.dram_seed = seed;
    const RunResult result = make_rtl_engine(options)->run(program, hand_input(), {});
    EXPECT_EQ(result.ofmaps[0], hand_input()) << "DRAM seed " << seed;
  }
  options.dram_seed.reset();
  ProgramDraft draft(hand_program());
  draft.semaphores[9].initial = 15;
  draft.command(Unit::kStore, 0).signal_mask = 1u << 9;
  const std::string text = failure_of(*make_rtl_engine(options), draft.program());
  expect_contains(text, "the RTL reports a failure in cycle 1");
  expect_contains(text, "semaphore");
}

TEST(RtlEngine, ALimitOfCyclesEndsTheRun) {
  QSIM_NEEDS_RTL_MODELS();
  RtlEngineOptions options;
  options.cycle_limit = 100;
  const std::string text = failure_of(*make_rtl_engine(options), hand_program());
  expect_contains(text, "the limit of 100 cycles is reached");
  expect_contains(text, "store command 0 of 1 (conv tile 0");
  options.cycle_limit = 115;  // the last done is at 114
  EXPECT_EQ(make_rtl_engine(options)->run(hand_program(), hand_input(), {}).ofmaps[0],
            hand_input());
}

TEST(RtlEngine, AWriteOutsideTheWritableAreaIsAnError) {
  QSIM_NEEDS_RTL_MODELS();
  ProgramDraft draft(hand_program());
  draft.fields<Store>(0).dram_addr = 0;
  expect_contains(failure_of(*make_rtl_engine(), draft.program()),
                  "DRAM write at 0 into the input");
}

TEST(RtlEngine, AProgramForOtherHardwareIsRefusedNamingWhatDiffers) {
  RtlEngineOptions options;
  options.arch = load_arch_config("configs/pe4x4.yaml");
  try {
    make_rtl_engine(options)->run(hand_program(), hand_input(), {});
    FAIL() << "it runs";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    expect_contains(error.what(), "ActWords=256 (wanted 16384)");
  }
}

TEST(RtlEngine, ARunWithoutDataAndAnInputThatDoesNotFitAreRefused) {
  QSIM_NEEDS_RTL_MODELS();
  const auto engine = make_rtl_engine();
  EXPECT_THROW(engine->run(hand_program(), hand_input(), {.move_data = false}), Error);
  EXPECT_THROW(engine->run(hand_program(), Tensor(DType::kInt8, {1, 4, 4, 3}), {}), Error);
  Program program = hand_program();
  program.arch.array_rows = 5;
  EXPECT_THROW(engine->run(program, hand_input(), {}), Error);
}

}  // namespace
}  // namespace qsim
