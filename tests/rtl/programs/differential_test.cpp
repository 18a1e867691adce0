// The checker sees a wrong byte, a wrong cycle and an engine that gives up; the shrinker makes the
// program small; the reproducer replays.
#include <gtest/gtest.h>

#include "compiler/verifier/verify.h"
#include "core/base/error.h"
#include "formats/files/files.h"
#include "sim/interpreter/program_interpreter.h"
#include "sim/recurrence/recurrence_engine.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/core/program_draft.h"
#include "tests/rtl/programs/campaign.h"
#include "tests/rtl/programs/reproducer.h"
#include "tests/rtl/programs/shrinker.h"
#include "tests/rtl/programs/witnesses.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace sim;
namespace {

namespace fs = std::filesystem;

// Another engine's results, after `before` has changed the program and `after` the results.
class Broken : public Engine {
 public:
  using Before = std::function<void(ProgramDraft&)>;
  using After = std::function<void(const Program&, RunResult&)>;
  Broken(Engine& engine, Before before, After after)
      : engine_(engine), before_(std::move(before)), after_(std::move(after)) {}
  std::string_view name() const override { return "broken"; }
  bool has_time() const override { return engine_.has_time(); }
  RunResult run(const Program& program, const Tensor& input, const RunOptions& options) override {
    ProgramDraft changed(program);
    if (before_) before_(changed);
    RunResult result = engine_.run(changed.program(), input, options);
    if (after_) after_(program, result);
    return result;
  }

 private:
  Engine& engine_;
  Before before_;
  After after_;
};

void floor_for_half_even(ProgramDraft& program) {
  for (Instruction& i : program.stream(Unit::kPost)) {
    Post& post = std::get<Post>(i.command.fields);
    if (post.rounding == 1) post.rounding = 0;
  }
}

// An EXECUTE of more than one plane is done a cycle late.
void late_planes(const Program& program, RunResult& result) {
  const CommandStream executes = program.stream(Unit::kExecute);
  for (std::size_t i = 0; i < executes.size(); ++i) {
    const bool has_planes = executes.fields<Execute>(i).planes > 1;
    if (has_planes) ++result.times[static_cast<std::size_t>(Unit::kExecute)][i].done;
  }
}

void gives_up_on_pads(const Program& program, RunResult&) {
  for (const Instruction& i : program.stream(Unit::kExecute)) {
    const Execute& e = std::get<Execute>(i.command.fields);
    if (bins_of(e).pad == PadBin::kAll) throw InternalError("nothing but pad");
  }
}

class DifferentialTest : public ::testing::Test {
 protected:
  DifferentialTest()
      : folder_(fs::temp_directory_path() / ("qsim-repro-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    interpreter_ = make_program_interpreter();
    systemc_ = make_systemc_engine();
  }
  ~DifferentialTest() override { fs::remove_all(folder_); }

  Differential differential(Broken::Before before, Broken::After after, bool timed) {
    std::vector<Witness> witnesses;
    witnesses.push_back({"interpreter", std::make_unique<Broken>(*interpreter_, nullptr, nullptr)});
    witnesses.push_back({"systemc", std::make_unique<Broken>(*systemc_, nullptr, nullptr)});
    Engine& engine = timed ? *systemc_ : *interpreter_;
    witnesses.push_back({"broken", std::make_unique<Broken>(engine, before, after)});
    return Differential(std::move(witnesses));
  }

  // Random programs until one differs; it is made small, and its file replays. Returns the commands
  // that are left.
  std::size_t find_and_shrink(Differential& found_by, const std::string& expected) {
    CampaignOptions options;
    options.configs = {named_config("pe4x4"), named_config("pe16x32")};
    options.programs = 400;
    options.reproducer_folder = folder_.string();
    const Tally tally = run_campaign(options, found_by);
    EXPECT_EQ(tally.mismatches.size(), 1u);
    if (tally.mismatches.empty()) return 0;
    EXPECT_NE(tally.mismatches[0].find(expected), std::string::npos) << tally.mismatches[0];
    fs::path file;
    for (const auto& entry : fs::directory_iterator(folder_)) file = entry.path();
    const RandomCase replayed = read_reproducer(file);
    EXPECT_TRUE(verify(replayed.program, replayed.program.arch).empty());
    const DifferentialResult result = found_by.check(replayed);
    EXPECT_TRUE(result.difference.has_value());
    if (result.difference) {
      EXPECT_EQ(result.difference->witness, 2u);
      EXPECT_NE(result.difference->text.find(expected), std::string::npos);
    }
    smallest_ = replayed;
    return replayed.program.command_count();
  }

  fs::path folder_;
  std::unique_ptr<Engine> interpreter_;
  std::unique_ptr<Engine> systemc_;
  RandomCase smallest_;
};

TEST_F(DifferentialTest, EnginesThatAgreeHaveNoDifference) {
  Differential same = differential(nullptr, nullptr, true);
  CampaignOptions options;
  options.configs = {named_config("pe4x4"), named_config("narrow_bus"), named_config("wide_bus"),
                     named_config("dyadic")};
  options.programs = 300;
  options.reproducer_folder = folder_.string();
  const Tally tally = run_campaign(options, same);
  EXPECT_TRUE(tally.mismatches.empty()) << tally.mismatches[0];
  EXPECT_EQ(tally.programs, 300u);
  EXPECT_GT(tally.cycles, 100000u);
}

// What the token rules cannot show: all times follow from one another, on another memory.
TEST_F(DifferentialTest, TheRecurrenceFindsAModelWithAnotherDramLatency) {
  const auto slower = [](ProgramDraft& program) { ++program.arch.dram_latency_cycles; };
  std::vector<Witness> witnesses;
  witnesses.push_back({"interpreter", std::make_unique<Broken>(*interpreter_, nullptr, nullptr)});
  witnesses.push_back({"systemc", std::make_unique<Broken>(*systemc_, slower, nullptr)});
  witnesses.push_back({"recurrence", make_recurrence_engine()});
  Differential differential(std::move(witnesses));
  const RandomCase made = make_random_case(named_config("pe8x8"), 4);
  const DifferentialResult result = differential.check(made);
  ASSERT_TRUE(result.difference.has_value());
  EXPECT_NE(result.difference->text.find("recurrence: load command 0"), std::string::npos)
      << result.difference->text;
}

// LOADs of activations, weights and parameters, EXECUTE, POST, STORE: no program has fewer.
TEST_F(DifferentialTest, WrongRoundingShrinksToSixCommands) {
  Differential broken = differential(floor_for_half_even, nullptr, false);
  EXPECT_EQ(find_and_shrink(broken, "broken: store command "), 6u);
  const auto post = smallest_.program.stream(Unit::kPost).fields<Post>(0);
  EXPECT_EQ(post.rounding, 1u);
  EXPECT_LE(post.out_rows * post.out_cols, 2u);
}

TEST_F(DifferentialTest, WrongCycleShrinksToSixCommands) {
  Differential broken = differential(nullptr, late_planes, true);
  EXPECT_EQ(find_and_shrink(broken, ": done at cycle "), 6u);
  const auto e = smallest_.program.stream(Unit::kExecute).fields<Execute>(0);
  EXPECT_EQ(e.planes, 2u);
  EXPECT_EQ(e.kernel_h * e.kernel_w * e.out_rows * e.out_cols, 1u);
}

TEST_F(DifferentialTest, EngineThatGivesUpIsADifference) {
  Differential broken = differential(nullptr, gives_up_on_pads, false);
  EXPECT_EQ(find_and_shrink(broken, "broken: nothing but pad"), 6u);
}

// What earlier programs left in the hardware can make one fail that is right by itself.
TEST_F(DifferentialTest, DifferenceThatDoesNotRepeatIsReportedAsItIs) {
  int runs = 0;
  Differential broken = differential(
      nullptr,
      [&runs](const Program&, RunResult& result) {
        if (++runs == 10) result.ofmaps[0].bytes[0] ^= std::byte{1};
      },
      false);
  CampaignOptions options;
  options.configs = {named_config("pe4x4")};
  options.programs = 40;
  options.reproducer_folder = folder_.string();
  const Tally tally = run_campaign(options, broken);
  EXPECT_EQ(tally.programs, 10u);
  ASSERT_EQ(tally.mismatches.size(), 1u);
  EXPECT_NE(tally.mismatches[0].find("only after the programs before it"), std::string::npos)
      << tally.mismatches[0];
  const fs::path file = folder_ / "random-pe4x4-seed-9.repro";
  EXPECT_TRUE(read_reproducer(file).program == make_random_case(options.configs[0], 9).program);
}

// Every fifth of 30 programs differs.
TEST_F(DifferentialTest, FindersAreCountedAndNoneIsMadeSmall) {
  CampaignOptions options;
  options.configs = {named_config("pe4x4")};
  options.programs = 30;
  options.reproducer_folder = folder_.string();
  const auto count = [&](std::int64_t finders) {
    int runs = 0;
    Differential broken = differential(
        nullptr,
        [&runs](const Program&, RunResult& result) {
          if (++runs % 5 == 0) result.ofmaps[0].bytes[0] ^= std::byte{1};
        },
        false);
    options.finders = finders;
    return run_campaign(options, broken);
  };
  const Tally all = count(100);
  EXPECT_EQ(all.programs, 30u);
  EXPECT_EQ(all.finders, 6u);
  EXPECT_EQ(all.first_finder, 5u);
  ASSERT_EQ(all.mismatches.size(), 1u);
  EXPECT_NE(all.mismatches[0].find("random pe4x4 seed 4: broken: store"), std::string::npos)
      << all.mismatches[0];
  EXPECT_TRUE(fs::is_empty(folder_));
  const Tally three = count(3);
  EXPECT_EQ(three.programs, 15u);
  EXPECT_EQ(three.finders, 3u);

  std::stringstream text;
  print_tally(three, text);
  Tally both = read_tally(text);
  Tally earlier;
  earlier.programs = 7;
  earlier.finders = 1;
  earlier.first_finder = 2;
  both.add(earlier);
  EXPECT_EQ(both.finders, 4u);
  EXPECT_EQ(both.first_finder, 2u);
  EXPECT_EQ(both.programs, 22u);
}

TEST_F(DifferentialTest, ReproducerKeepsEveryByte) {
  const RandomCase made = make_random_case(named_config("pe8x8"), 4);
  const fs::path file = folder_ / "a.repro";
  write_file_atomically(file, reproducer_text(made, "what \"differed\""));
  const RandomCase read = read_reproducer(file);
  EXPECT_TRUE(read.program == made.program);
  EXPECT_TRUE(read.input == made.input);
}

TEST_F(DifferentialTest, MalformedReproducersAreRefused) {
  const std::string good = reproducer_text(make_random_case(named_config("pe4x4"), 3), "something");
  const auto refused = [&](const std::string& text, const std::string& expected) {
    const fs::path file = folder_ / "bad.repro";
    write_file_atomically(file, text);
    try {
      read_reproducer(file);
      ADD_FAILURE() << "accepted; expected: " << expected;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  };
  refused("", "bad.repro:1:1: found the end of the text");
  refused("program x\n", "bad.repro:1:1:");
  refused(good.substr(0, 200), "bad.repro:");
  std::string text = good;
  text.replace(text.find("input bytes="), 13, "input bytes=9");
  refused(text, "bad.repro:");
  text = good;
  text.replace(text.find("kernel_h="), 10, "kernel_h=0");
  refused(text, "kernel_h is 0");
}

}  // namespace
}  // namespace qsim
