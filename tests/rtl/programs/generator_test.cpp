// Random programs are legal, the same for the same seed, and as arbitrary as they are meant to be.
#include <set>

#include <gtest/gtest.h>

#include "compiler/verifier/verify.h"
#include "core/machine/dram_memory.h"
#include "core/machine/isa/command_codec.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/rtl/programs/coverage_bins.h"
#include "tests/rtl/programs/program_generator.h"
#include "tests/rtl/programs/shape_draw.h"
#include "tests/rtl/programs/witnesses.h"
#include "tests/rtl/programs/word_spans.h"

namespace qsim {

using namespace sim;
namespace {

constexpr const char* kConfigs[] = {"pe4x4",    "pe8x8",   "pe16x16",
                                    "pe16x32",  "pe32x32", "narrow_bus",
                                    "wide_bus", "dyadic",  "dyadic_wide_bus"};

void expect_legal(const ArchConfig& arch, std::uint64_t seed) {
  const BuiltCase built = build_case(draw_plan(arch, seed), "test");
  ASSERT_EQ(built.violation, "") << arch.name << " seed " << seed;
}

TEST(RandomPrograms, EveryOneIsLegal) {
  for (const char* name : kConfigs) {
    const ArchConfig arch = named_config(name);
    for (std::uint64_t seed = 0; seed < 400; ++seed) expect_legal(arch, seed);
    expect_legal(arch, 1007);
  }
}

// Some fields a compiler always gives one value: these programs are where they vary.
TEST(RandomPrograms, EveryFieldOfEveryCommandTakesSeveralValues) {
  std::array<std::vector<std::set<std::int64_t>>, kUnits> seen;
  for (const char* name : {"pe4x4", "pe16x32", "dyadic"}) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Program program = make_random_case(named_config(name), seed).program;
      for (std::size_t unit = 0; unit < kUnits; ++unit) {
        seen[unit].resize(command_fields(static_cast<Unit>(unit)).size());
        for (const Instruction& instruction : program.streams[unit]) {
          for (std::size_t i = 0; i < seen[unit].size(); ++i) {
            seen[unit][i].insert(field_value(instruction.command, i));
          }
        }
      }
    }
  }
  for (std::size_t unit = 0; unit < kUnits; ++unit) {
    for (std::size_t i = 0; i < seen[unit].size(); ++i) {
      EXPECT_GT(seen[unit][i].size(), 1u)
          << kUnitNames[unit] << "." << command_fields(static_cast<Unit>(unit))[i].name;
    }
  }
}

ArchConfig small_memories(std::int64_t rows, std::int64_t cols, std::array<std::int64_t, 4> kib) {
  ArchConfig arch;
  arch.array_rows = rows;
  arch.array_cols = cols;
  arch.act_scratchpad_kib = kib[0];
  arch.weight_scratchpad_kib = kib[1];
  arch.accumulator_kib = kib[2];
  arch.output_scratchpad_kib = kib[3];
  arch.act_slots = arch.weight_slots = 2;
  arch.bus_bytes = 4;
  arch.name = std::to_string(rows) + "x" + std::to_string(cols) + " with small memories";
  validate(arch);
  return arch;
}

// Slots of a few folds, halves of a psum or two: most draws do not fit.
TEST(RandomPrograms, FitSmallMemories) {
  for (const ArchConfig& arch :
       {small_memories(16, 4, {8, 2, 2, 2}), small_memories(4, 16, {2, 4, 2, 2}),
        small_memories(4, 128, {1, 1, 1, 1}), small_memories(32, 4, {4, 2, 1, 1}),
        small_memories(256, 4, {1, 2, 1, 1}), small_memories(4, 4, {1, 1, 1, 1}),
        small_memories(32, 32, {1, 2, 1, 1}), small_memories(4, 64, {8, 8, 64, 1}),
        named_config("tiny")}) {
    for (std::uint64_t seed = 0; seed < 1200; ++seed) expect_legal(arch, seed);
  }
}

TEST(RandomPrograms, SeedMeansOneProgram) {
  const ArchConfig arch = named_config("pe8x8");
  const RandomCase first = make_random_case(arch, 11);
  const RandomCase again = make_random_case(arch, 11);
  EXPECT_TRUE(first.program == again.program);
  EXPECT_TRUE(first.input == again.input);
  EXPECT_FALSE(first.program == make_random_case(arch, 12).program);
}

// What the programs of one configuration have, each counted over programs.
class Census {
 public:
  void add(const Program& program) {
    std::set<std::string> seen;
    for (const Instruction& i : program.stream(Unit::kLoad)) {
      add_load(std::get<Load>(i.command.fields), program, seen);
    }
    for (const Instruction& i : program.stream(Unit::kExecute)) {
      add_execute(std::get<Execute>(i.command.fields), program.arch, seen);
    }
    for (const Instruction& i : program.stream(Unit::kStore)) {
      const Store& s = std::get<Store>(i.command.fields);
      if (s.runs > 1 && s.run_stride > s.run_bytes) seen.insert("store with gaps");
      if (s.runs > 1 && s.groups > 1) seen.insert("store of groups and runs");
    }
    add_pairs(program.stream(Unit::kExecute), seen);
    add_tokens(program, seen);
    for (const std::string& feature : seen) ++programs_[feature];
  }
  int operator[](const std::string& feature) { return programs_[feature]; }

 private:
  static void add_load(const Load& load, const Program& program, std::set<std::string>& seen) {
    if (load.groups > 1 && load.runs > 1) seen.insert("load of groups and runs");
    if (load.runs > 1 && load.run_stride < load.run_bytes) seen.insert("load that overlaps");
    if (load.runs > 1 && load.run_stride > load.run_bytes) seen.insert("load with gaps");
    if (load.memory == 0 && program.arch.array_rows < program.arch.array_cols &&
        load.plane_words > 1) {
      seen.insert("deinterleaved");
    }
    for (const ProgramLayer& layer : program.layers) {
      const std::int64_t at = std::int64_t{load.dram_addr} - layer.ofmap.address;
      if (at >= 0 && at < layer.ofmap.size_bytes()) seen.insert("load of an ofmap");
    }
    if (load.dram_addr > 0xf0000000u) seen.insert("far address");
    if (load.runs > 1 && load.run_stride > (1u << 27)) seen.insert("long run stride");
    if (load.groups > 1 && load.group_stride > (1u << 29)) seen.insert("long group stride");
  }
  static void add_execute(const Execute& e, const ArchConfig& arch, std::set<std::string>& seen) {
    const std::int64_t pixels = std::int64_t{e.out_rows} * e.out_cols;
    if (pixels == 1) seen.insert("one pixel");
    if (pixels < arch.array_rows) seen.insert("fewer pixels than rows");
    if (pixels > 3 * arch.array_rows) seen.insert("many pixels");
    if (e.accumulate != 0) seen.insert("accumulate");
    seen.insert(std::string(kDataflowNames[e.dataflow]));
    if (e.blocks > 1) seen.insert("blocks");
    if (e.planes > 1) seen.insert("planes");
    if (e.kernel_h != e.kernel_w) seen.insert("oblong kernel");
    if (e.acc_half != 0) seen.insert("second half");
    if (e.planes * e.kernel_h * e.kernel_w == 1) seen.insert("one fold");
  }
  // Adds what is seen in pairs of EXECUTEs that follow one another.
  static void add_pairs(const CommandStream& executes, std::set<std::string>& seen) {
    for (std::size_t i = 1; i < executes.size(); ++i) {
      const auto a = executes.fields<Execute>(i - 1);
      const auto b = executes.fields<Execute>(i);
      if (a.dataflow != b.dataflow) seen.insert("switch");
      const bool meet = b.accumulate != 0 && executes.wait_mask(i) == 0 &&
                        a.dataflow == b.dataflow && a.acc_half != b.acc_half;
      if (meet) seen.insert("accumulates in the other half at once");
    }
  }
  static void add_tokens(const Program& program, std::set<std::string>& seen) {
    for (std::size_t s = 0; s < kSemaphores; ++s) {
      const Semaphore& semaphore = program.semaphores[s];
      if (semaphore.name == "act_free" && semaphore.initial > 1) seen.insert("turns in flight");
      if (semaphore.name == "stored") seen.insert("loads that wait for stores");
      if (semaphore.name.starts_with("noise")) seen.insert("noise");
      if (semaphore.initial > 4) seen.insert("many tokens");
    }
  }
  std::map<std::string, int> programs_;
};

TEST(RandomPrograms, HaveEveryFeatureOften) {
  Census all;
  for (const char* name : {"pe4x4", "pe16x32", "narrow_bus", "wide_bus"}) {
    const ArchConfig arch = named_config(name);
    Census census;
    for (std::uint64_t seed = 1000; seed < 1400; ++seed) {
      const Program program = make_random_case(arch, seed).program;
      census.add(program);
      all.add(program);
    }
    for (const char* feature : {"load of groups and runs",
                                "load that overlaps",
                                "load with gaps",
                                "load of an ofmap",
                                "far address",
                                "store with gaps",
                                "store of groups and runs",
                                "one pixel",
                                "fewer pixels than rows",
                                "many pixels",
                                "accumulate",
                                "planes",
                                "oblong kernel",
                                "second half",
                                "one fold",
                                "turns in flight",
                                "loads that wait for stores",
                                "noise",
                                "many tokens",
                                "weight_stationary",
                                "output_stationary",
                                "input_stationary",
                                "blocks",
                                "switch",
                                "accumulates in the other half at once"}) {
      EXPECT_GE(census[feature], 8) << name << ": " << feature;
    }
    EXPECT_EQ(census["deinterleaved"] > 0, arch.array_rows < arch.array_cols) << name;
  }
  for (const char* rare : {"long run stride", "long group stride"}) EXPECT_GE(all[rare], 8) << rare;
}

TEST(RandomPrograms, OfADyadicMachineHaveEveryRoundingOften) {
  for (const char* name : {"dyadic", "dyadic_wide_bus"}) {
    std::array<int, kAcceleratorRequantizerRoundings> posts{};
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const Program program = make_random_case(named_config(name), seed).program;
      for (const Instruction& instruction : program.stream(Unit::kPost)) {
        ++posts.at(std::get<Post>(instruction.command.fields).rounding);
      }
    }
    for (const int count : posts) EXPECT_GE(count, 30) << name;
  }
}

TEST(RandomPrograms, OfADyadicMachineAddAndLookUpOften) {
  for (const char* name : {"dyadic", "dyadic_wide_bus"}) {
    std::map<std::string, int> posts;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      const Program program = make_random_case(named_config(name), seed).program;
      for (const Instruction& instruction : program.stream(Unit::kPost)) {
        const Post& p = std::get<Post>(instruction.command.fields);
        const std::string rounding = std::to_string(p.rounding);
        const bool pools = p.pool_h * p.pool_w > 1;
        if (p.add != 0) ++posts["adds, rounding " + rounding];
        if (p.add != 0 && p.acc_half != p.second_half) ++posts["adds across halves"];
        if (p.add != 0 && pools) ++posts["adds and pools"];
        if (p.lookup != 0) ++posts[pools ? "looks up and pools" : "looks up"];
        if (p.lookup != 0 && p.add != 0) ++posts["adds and looks up"];
      }
    }
    for (const char* feature : {"adds, rounding 0", "adds, rounding 1", "adds, rounding 2",
                                "adds, rounding 3", "adds across halves", "adds and pools",
                                "looks up", "looks up and pools", "adds and looks up"}) {
      EXPECT_GE(posts[feature], 10) << name << ": " << feature;
    }
  }
}

class RandomProgramBytes : public testing::TestWithParam<const char*> {};

// A test of bytes is worth something only while bytes differ from their clamps.
TEST_P(RandomProgramBytes, HaveManyDistinctValues) {
  const auto interpreter = make_program_interpreter();
  std::array<std::int64_t, 256> values{};
  std::int64_t all = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomCase made = make_random_case(named_config(GetParam()), seed);
    for (const Tensor& ofmap : interpreter->run(made.program, made.input, {}).ofmaps) {
      for (const std::byte byte : ofmap.bytes) ++values[std::to_integer<std::size_t>(byte)];
      all += ofmap.elems();
    }
  }
  for (const std::int64_t count : values) EXPECT_GT(count, 0);
  EXPECT_LT(values[0x80] + values[0x7f], all * 6 / 10);
}

INSTANTIATE_TEST_SUITE_P(OfBothRequantizers, RandomProgramBytes,
                         testing::Values("pe8x8", "dyadic"));

// The psums of the wrapping turn in 64 bits, as if nothing wrapped, at least: each resident pixel
// may take away as much as a padded one adds.
std::int64_t least_sum(const Program& program) {
  std::int64_t sum = 0;
  const CommandStream executes = program.stream(Unit::kExecute);
  const auto first = executes.fields<Execute>(0);
  for (const Instruction& i : executes) {
    const Execute& e = std::get<Execute>(i.command.fields);
    if (e.acc_half != first.acc_half) continue;  // of another turn, in between
    if (sum != 0 && e.accumulate == 0) break;
    if (e.acc_addr != first.acc_addr || e.pad_value != first.pad_value) return 0;
    sum += std::int64_t{e.planes} * (e.kernel_h * e.kernel_w - 2) * program.arch.array_rows * 128 *
           (e.pad_value < 0 ? -e.pad_value : e.pad_value);
  }
  return sum;
}

bool all_weights_are_lowest(const Program& program) {
  std::size_t loads = 0;
  for (const Instruction& i : program.stream(Unit::kLoad)) {
    const Load& load = std::get<Load>(i.command.fields);
    if (load.memory != static_cast<std::uint32_t>(LoadMemory::kWeight)) continue;
    ++loads;
    for (const DramSegment& s : program.segments) {
      const std::int64_t at = std::int64_t{load.dram_addr} - s.address;
      if (at < 0 || at >= static_cast<std::int64_t>(s.bytes.size())) continue;
      if (s.bytes[static_cast<std::size_t>(at)] != std::byte{0x80}) return false;
    }
  }
  return loads > 0;
}

TEST(RandomPrograms, SomeWrapTheAccumulator) {
  const std::pair<const char*, std::uint64_t> wrapping[] = {
      {"pe4x4", 407}, {"pe8x8", 1007}, {"pe16x16", 1007}, {"pe16x32", 3007}};
  for (const auto& [name, seed] : wrapping) {
    const Program program = make_random_case(named_config(name), seed).program;
    EXPECT_GT(least_sum(program), std::int64_t{1} << 31) << name;
    EXPECT_TRUE(all_weights_are_lowest(program)) << name;
  }
  int small = 0, large = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto wraps = [&](const char* name) {
      return draw_plan(named_config(name), seed).layers[0].turns[0].executes.size() > 50 ? 1 : 0;
    };
    small += wraps("pe4x4");
    large += wraps("pe16x16");
  }
  EXPECT_EQ(small, 5);
  EXPECT_EQ(large, 1);
}

TEST(RandomShapes, FallIntoTheBinsThatAreAskedFor) {
  const ArchConfig arch = named_config("pe16x16");
  Random random(5);
  int missed = 0;
  for (int i = 0; i < 2000; ++i) {
    const ExecuteBins bins{static_cast<std::size_t>(random.uniform(0, 3)),
                           static_cast<std::size_t>(random.uniform(0, 2)),
                           static_cast<PadBin>(random.uniform(0, 2))};
    missed += bins_of(draw_execute(random, arch, bins, {})) == bins ? 0 : 1;
    const auto pool = static_cast<PoolBin>(random.uniform(0, 3));
    const Post post = draw_post(random, arch, pool, 40, 200);
    missed += pool_bin_of(post) == pool ? 0 : 1;
    EXPECT_LE(span_of(words_of(post, arch)).size(), 40);
  }
  EXPECT_LT(missed, 80);
}

Execute sliding(std::uint32_t kernel, std::uint32_t stride, std::int32_t origin,
                std::uint32_t size) {
  Execute e;
  e.blocks = 1;
  e.kernel_h = e.kernel_w = kernel;
  e.stride_h = e.stride_w = stride;
  e.origin_row = e.origin_col = origin;
  e.in_rows = e.in_cols = size;
  e.out_rows = e.out_cols = 2;
  e.planes = 1;
  return e;
}

TEST(CoverageBins, FollowTheirDefinition) {
  EXPECT_EQ(bins_of(sliding(1, 1, 0, 2)), (ExecuteBins{0, 0, PadBin::kNone}));
  EXPECT_EQ(bins_of(sliding(3, 2, 0, 5)), (ExecuteBins{1, 1, PadBin::kNone}));
  EXPECT_EQ(bins_of(sliding(3, 2, 0, 4)), (ExecuteBins{1, 1, PadBin::kSome}));
  EXPECT_EQ(bins_of(sliding(7, 7, -1, 40)), (ExecuteBins{2, 2, PadBin::kSome}));
  EXPECT_EQ(bins_of(sliding(8, 3, -11, 9)), (ExecuteBins{3, 2, PadBin::kAll}));
  // Columns -1 and 2 of a tile of two: the stride steps over it.
  EXPECT_EQ(bins_of(sliding(1, 3, -1, 2)), (ExecuteBins{0, 2, PadBin::kAll}));
  Post p;
  p.in_rows = p.in_cols = 4;
  p.out_rows = p.out_cols = p.pool_h = p.pool_w = p.pool_stride_h = p.pool_stride_w = 1;
  EXPECT_EQ(pool_bin_of(p), PoolBin::kNone);
  p.pool_h = p.pool_w = 2;
  EXPECT_EQ(pool_bin_of(p), PoolBin::kDisjoint);  // one window overlaps with nothing
  p.out_cols = 2;
  EXPECT_EQ(pool_bin_of(p), PoolBin::kOverlapping);
  p.origin_row = -1;
  EXPECT_EQ(pool_bin_of(p), PoolBin::kPadded);
  const int shifts[] = {0, 1, 7, 8, 30, 31};
  const std::size_t bins[] = {0, 1, 1, 2, 2, 3};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(shift_bin_of(shifts[i]), bins[i]);
}

}  // namespace
}  // namespace qsim
