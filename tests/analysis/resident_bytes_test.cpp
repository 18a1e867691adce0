// report/analysis/resident_bytes.h against a count word by word.
#include "report/analysis/resident_bytes.h"

#include <map>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/machine/dram_channel.h"
#include "core/machine/mapping.h"
#include "formats/settings/arch_config_file.h"
#include "formats/workload/random_layer.h"
#include "sim/recurrence/program_times.h"

namespace qsim {

using namespace compiler;
using namespace formats;
using namespace report;
using namespace sim;
namespace {

// One use of a word: who writes it, who reads it last.
struct Use {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

// What one command does with single words of a memory, by the address formulas of
// core/machine/isa/commands.h, word for word.
struct Touch {
  std::uint64_t start = 0;
  std::uint64_t free = 0;
  int kind = 0;  // 0 reads, 1 writes, 2 adds to what is there
  std::vector<std::int64_t> words;
};

std::vector<Touch> touches(const Program& program, const CommandTimes& times, OnChipMemory memory) {
  const ArchConfig& arch = program.arch;
  std::vector<Touch> result;
  const auto add = [&](std::size_t unit, std::size_t i, int kind) -> Touch& {
    const CommandTime& time = times[unit][i];
    return result.emplace_back(Touch{time.start, time.free, kind, {}});
  };
  for (std::size_t i = 0; i < times[0].size(); ++i) {
    const auto load = program.streams[0].fields<Load>(i);
    const auto bytes = std::int64_t(dram_transfer(load, arch).bytes);
    if (memory == OnChipMemory::kActivation && load.memory == 0) {
      Touch& touch = add(0, i, 1);
      const std::int64_t s = arch.block_channels() / arch.array_rows;
      const std::int64_t p = load.plane_words;
      for (std::int64_t w = 0; w < bytes / arch.array_rows; ++w) {
        const std::int64_t word = s == 1 ? w : w / (s * p) * (s * p) + w % s * p + w / s % p;
        touch.words.push_back(load.local_addr + word);
      }
    }
    if (memory == OnChipMemory::kWeight && load.memory == 1) {
      Touch& touch = add(0, i, 1);
      for (std::int64_t w = 0; w < bytes / arch.block_channels(); ++w) {
        touch.words.push_back(load.local_addr + w);
      }
    }
  }
  for (std::size_t i = 0; i < times[1].size(); ++i) {
    const auto e = program.streams[1].fields<Execute>(i);
    const std::int64_t folds = std::int64_t{e.planes} * e.kernel_h * e.kernel_w;
    const std::int64_t pixels = std::int64_t{e.out_rows} * e.out_cols;
    if (memory == OnChipMemory::kActivation) {
      Touch& touch = add(1, i, 0);
      for (std::int64_t p = 0; p < e.planes; ++p) {
        std::int64_t first = INT64_MAX;
        std::int64_t last = -1;
        for (std::int64_t oy = 0; oy < e.out_rows; ++oy) {
          for (std::int64_t ox = 0; ox < e.out_cols; ++ox) {
            for (std::int64_t k = 0; k < std::int64_t{e.kernel_h} * e.kernel_w; ++k) {
              const std::int64_t iy = oy * e.stride_h + k / e.kernel_w + e.origin_row;
              const std::int64_t ix = ox * e.stride_w + k % e.kernel_w + e.origin_col;
              if (iy < 0 || ix < 0 || iy >= e.in_rows || ix >= e.in_cols) continue;
              const std::int64_t word =
                  e.act_addr + p * e.act_plane_words + iy * e.act_row_words + ix;
              first = std::min(first, word);
              last = std::max(last, word);
            }
          }
        }
        for (std::int64_t word = first; word <= last; ++word) touch.words.push_back(word);
      }
    } else if (memory == OnChipMemory::kWeight) {
      Touch& touch = add(1, i, 0);
      for (std::int64_t w = 0; w < folds * e.blocks * arch.fold_words(); ++w) {
        touch.words.push_back(e.weight_addr + w);
      }
    } else if (memory == OnChipMemory::kAccumulator) {
      Touch& touch = add(1, i, e.accumulate == 1 ? 2 : 1);
      for (std::int64_t w = 0; w < pixels * e.blocks; ++w) {
        touch.words.push_back(e.acc_half * arch.accumulator_half_words() + e.acc_addr + w);
      }
    }
  }
  for (std::size_t i = 0; i < times[2].size(); ++i) {
    const auto post = program.streams[2].fields<Post>(i);
    if (memory == OnChipMemory::kAccumulator) {
      Touch& touch = add(2, i, 0);
      for (std::int64_t w = 0; w < std::int64_t{post.in_rows} * post.in_cols; ++w) {
        touch.words.push_back(post.acc_half * arch.accumulator_half_words() + post.acc_addr + w);
      }
    } else if (memory == OnChipMemory::kOutput) {
      Touch& touch = add(2, i, 1);
      for (std::int64_t w = 0; w < std::int64_t{post.out_rows} * post.out_cols; ++w) {
        touch.words.push_back(post.out_addr + w);
      }
    }
  }
  for (std::size_t i = 0; memory == OnChipMemory::kOutput && i < times[3].size(); ++i) {
    const auto store = program.streams[3].fields<Store>(i);
    Touch& touch = add(3, i, 0);
    const auto bytes = std::int64_t(dram_transfer(store, arch).bytes);
    for (std::int64_t w = 0; w < bytes / arch.array_cols; ++w) {
      touch.words.push_back(store.out_addr + w);
    }
  }
  std::stable_sort(result.begin(), result.end(), [](const Touch& a, const Touch& b) {
    return std::pair(a.start, a.kind) < std::pair(b.start, b.kind);
  });
  return result;
}

std::vector<ResidentLevel> counted_by_word(const Program& program, const CommandTimes& times,
                                           OnChipMemory memory, std::int64_t word_bytes) {
  std::map<std::int64_t, Use> open;  // by word
  std::map<std::uint64_t, std::int64_t> changes;
  const auto close = [&](const Use& use) {
    changes[use.start] += word_bytes;
    changes[use.end] -= word_bytes;
  };
  for (const Touch& touch : touches(program, times, memory)) {
    for (const std::int64_t word : touch.words) {
      const auto found = open.find(word);
      if (touch.kind == 1 || (touch.kind == 2 && found == open.end())) {
        if (found != open.end()) close(found->second);
        open[word] = {touch.start, touch.free};
      } else if (found != open.end()) {
        found->second.end = std::max(found->second.end, touch.free);
      }
    }
  }
  for (const auto& [word, use] : open) close(use);
  std::vector<ResidentLevel> levels;
  std::int64_t level = 0;
  for (const auto& [cycle, change] : changes) {
    if (change == 0) continue;
    level += change;
    levels.push_back({cycle, std::uint64_t(level)});
  }
  return levels;
}

struct Memory {
  OnChipMemory memory;
  std::int64_t word_bytes;
  std::int64_t bytes;
};

std::vector<Memory> memories_of(const ArchConfig& arch) {
  return {{OnChipMemory::kActivation, arch.array_rows, arch.act_scratchpad_kib * 1024},
          {OnChipMemory::kWeight, arch.block_channels(), arch.weight_scratchpad_kib * 1024},
          {OnChipMemory::kAccumulator, 4 * arch.array_cols, arch.accumulator_kib * 1024},
          {OnChipMemory::kOutput, arch.array_cols, arch.output_scratchpad_kib * 1024}};
}

// One LOAD of six pixels of a block, starting at 0 and free at 10; one EXECUTE from 100 to 200 that
// reads `cols` of `resident` columns of one plane, from word `act_addr` on.
std::vector<ResidentLevel> one_of_each(std::uint32_t act_addr, std::uint32_t cols,
                                       std::uint32_t resident) {
  Program program;
  program.arch.array_rows = 4;
  program.arch.array_cols = 8;
  Load load;
  load.groups = load.runs = 1;
  load.run_bytes = 6 * 8;  // two words of 4 bytes a pixel
  load.plane_words = 10;
  program.streams.append({0, 0, load}, {});
  Execute execute;
  execute.act_addr = act_addr;
  execute.act_row_words = resident;
  execute.in_rows = execute.out_rows = 1;
  execute.in_cols = resident;
  execute.out_cols = cols;
  execute.kernel_h = execute.kernel_w = execute.stride_h = execute.stride_w = 1;
  execute.planes = execute.blocks = 1;
  program.streams.append({0, 0, execute}, {});
  CommandTimes times;
  times[0] = {{0, 10, 30}};
  times[1] = {{100, 200, 220}};
  return resident_bytes(program, times, OnChipMemory::kActivation);
}

// The block's first four channels are in words 0 to 5, the others in words 10 to 15.
TEST(ResidentBytes, OfALoadThatFillsNoPlaneAreInOnePieceAPlane) {
  EXPECT_EQ(one_of_each(0, 6, 6), (std::vector<ResidentLevel>{{0, 48}, {10, 24}, {200, 0}}));
  EXPECT_EQ(one_of_each(10, 6, 6), (std::vector<ResidentLevel>{{0, 48}, {10, 24}, {200, 0}}));
  EXPECT_EQ(one_of_each(6, 4, 4), (std::vector<ResidentLevel>{{0, 48}, {10, 0}}));
}

TEST(ResidentBytes, OfColumnsThatNoOutputNeedsAreNotRead) {
  EXPECT_EQ(one_of_each(0, 2, 6), (std::vector<ResidentLevel>{{0, 48}, {10, 8}, {200, 0}}));
}

TEST(ResidentBytes, AreThoseThatACountOfEachWordGives) {
  const char* configs[] = {"configs/pe4x4.yaml", "configs/pe8x8.yaml", "configs/pe16x32.yaml"};
  std::array<std::uint64_t, kOnChipMemories> changes{};
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const ArchConfig arch = shrink_memories(load_arch_config(configs[seed % 3]), random);
    CompileOptions options;
    options.dataflow = static_cast<Dataflow>(seed / 3 % kDataflows);
    const Program program = compile(make_random_layer(seed, arch).graph, arch, options);
    const CommandTimes times = command_times(program);
    for (const Memory& m : memories_of(arch)) {
      const auto number = static_cast<std::size_t>(m.memory);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::string(kOnChipMemoryNames[number]));
      const std::vector<ResidentLevel> levels = resident_bytes(program, times, m.memory);
      EXPECT_EQ(levels, counted_by_word(program, times, m.memory, m.word_bytes));
      ASSERT_FALSE(levels.empty());
      EXPECT_EQ(levels.back().bytes, 0u);
      for (const ResidentLevel& level : levels) EXPECT_LE(level.bytes, std::uint64_t(m.bytes));
      changes[number] += levels.size();
    }
  }
  for (const std::uint64_t count : changes) EXPECT_GT(count, 100u);
}

}  // namespace
}  // namespace qsim
