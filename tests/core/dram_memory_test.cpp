// core/machine/dram_memory.h: memory that comes when it is written and goes when it is released,
// and what it gives of ofmaps.
#include "core/machine/dram_memory.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/machine/engine.h"

namespace qsim {
namespace {

// Large enough to come straight from the operating system.
constexpr std::int64_t kOfmapBytes = std::int64_t{8} << 20;
constexpr std::byte kFilled{0x5A};

// 64 bytes of input, two ofmaps.
Program two_ofmaps() {
  Program program;
  program.input.tensor.block = 64;
  program.input.tensor.value.shape = {1, 1, 1, 64};
  program.writable_bytes = 64 + 2 * kOfmapBytes;
  program.layers.resize(2);
  for (std::int64_t i = 0; i < 2; ++i) {
    DramTensor& ofmap = program.layers[static_cast<std::size_t>(i)].ofmap;
    ofmap.address = 64 + i * kOfmapBytes;
    ofmap.block = 64;
    ofmap.value.shape = {1, kOfmapBytes / 64, 1, 64};
  }
  return program;
}

Tensor filled_input() {
  Tensor input(DType::kInt8, {1, 1, 1, 64});
  std::ranges::fill(input.bytes, kFilled);
  return input;
}

// Counts the pages inside `bytes` that are in memory.
std::size_t resident_pages(std::span<const std::byte> bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::size_t lead = (page - start % page) % page;
  const std::size_t count = (bytes.size() - lead) / page;
  std::vector<unsigned char> resident(count);
  void* const first = const_cast<std::byte*>(bytes.data() + lead);
  EXPECT_EQ(mincore(first, count * page, resident.data()), 0);
  return static_cast<std::size_t>(std::ranges::count_if(
      resident, [](unsigned char in_memory) { return (in_memory & 1) != 0; }));
}

// The whole pages inside a range that begins and ends within a page.
std::size_t pages_inside(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes / sysconf(_SC_PAGESIZE)) - 1;
}

bool all_are(std::span<const std::byte> bytes, std::byte value) {
  return std::ranges::all_of(bytes, [=](std::byte byte) { return byte == value; });
}

TEST(DramMemory, StartsAsZeroAndTakesMemoryWhenItIsWritten) {
  const Program program = two_ofmaps();
  DramMemory dram(program, filled_input());
  EXPECT_EQ(resident_pages(dram.ofmap(1)), 0u);
  const std::int64_t half = kOfmapBytes / 2;
  std::ranges::fill(dram.write(program.layers[1].ofmap.address, half), kFilled);
  EXPECT_EQ(resident_pages(dram.ofmap(1).first(std::size_t(half))), pages_inside(half));
  EXPECT_EQ(resident_pages(dram.ofmap(1).subspan(std::size_t(half))), 0u);
  EXPECT_TRUE(all_are(dram.read(0, 64), kFilled));
  EXPECT_TRUE(all_are(dram.ofmap(0), std::byte{0}));
  EXPECT_TRUE(all_are(dram.ofmap(1).first(std::size_t(half)), kFilled));
  EXPECT_TRUE(all_are(dram.ofmap(1).subspan(std::size_t(half)), std::byte{0}));
}

TEST(DramMemory, ReleasesWholePagesOfARangeAndNoOtherByte) {
  const Program program = two_ofmaps();
  DramMemory dram(program, filled_input());
  for (std::size_t i = 0; i < 2; ++i) {
    std::ranges::fill(dram.write(program.layers[i].ofmap.address, kOfmapBytes), kFilled);
  }
  const std::int64_t border = program.layers[1].ofmap.address;
  dram.release(border, border + kOfmapBytes);
  EXPECT_EQ(resident_pages(dram.ofmap(1)), 0u);
  EXPECT_TRUE(all_are(dram.read(0, border), kFilled));
  std::ranges::fill(dram.write(border, kOfmapBytes), kFilled);  // may be written again
  EXPECT_TRUE(all_are(dram.ofmap(1), kFilled));
}

TEST(DramMemory, OfmapsAreTakenOnceAndHandedOverOrReturned) {
  const Program program = two_ofmaps();
  DramMemory dram(program, filled_input());
  for (std::size_t i = 0; i < 2; ++i) {
    std::ranges::fill(dram.write(program.layers[i].ofmap.address, kOfmapBytes), std::byte(i + 1));
  }
  RunResult returned;
  deliver_ofmaps(program, dram, {}, returned);
  RunResult handed_over;
  std::vector<Tensor> taken;
  const auto take = [&](std::size_t layer, std::span<const std::byte> bytes) {
    EXPECT_EQ(layer, taken.size());
    taken.push_back(unpack(program.layers[layer].ofmap, bytes));
  };
  deliver_ofmaps(program, dram, {.take_ofmap = take}, handed_over);
  EXPECT_TRUE(handed_over.ofmaps.empty());
  EXPECT_TRUE(all_are(taken.at(1).bytes, std::byte{2}));
  EXPECT_TRUE(taken == returned.ofmaps);
  EXPECT_TRUE(dram.take_ofmaps() == taken);
  EXPECT_EQ(resident_pages(dram.ofmap(1)), 0u);
}

}  // namespace
}  // namespace qsim
