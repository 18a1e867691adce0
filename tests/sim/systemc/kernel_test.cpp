// EXECUTE, LOAD and STORE of the SystemC engine, every vector path, against the pseudo-code
// as plain loops: whole memories are compared, so a stray write fails too.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/machine/dram_memory.h"
#include "sim/systemc/datapath/array_kernel.h"
#include "sim/systemc/datapath/tile_copy.h"
#include "tests/sim/systemc/kernel_cases.h"
#include "tests/sim/systemc/random_commands.h"

namespace qsim {

using namespace sim;
namespace {

TEST(ArrayKernel, EveryVectorPathExecutesRandomCommandsAsThePseudoCodeDoes) {
  for_each_case(12, [](VectorPath path, const ArchConfig& arch, std::uint64_t seed) {
    Random random(seed * 7919 +
                  static_cast<std::uint64_t>(arch.array_rows * 1000 + arch.array_cols));
    ReferenceMachine reference(arch);
    reference.fill(random);
    Scratchpads scratchpads = copy_of(reference);
    ArrayKernel kernel(path);
    // Several in a row: later ones accumulate on the psums of earlier ones and reuse the storage.
    for (int i = 0; i < 3; ++i) {
      const Execute execute = random_execute(random, arch);
      reference.execute(execute);
      kernel.execute(execute, arch, scratchpads);
    }
    expect_same(reference, scratchpads);
  });
}

// With 127 the biased products wrap while they are added, with -128 the corrections do.
TEST(ArrayKernel, PsumsWrapAtTwoToThe32) {
  for_each_case(2, [](VectorPath path, const ArchConfig& arch, std::uint64_t seed) {
    const std::int8_t value = seed == 1 ? -128 : 127;
    ReferenceMachine reference(arch);
    std::ranges::fill(reference.activations, value);
    std::ranges::fill(reference.weights, value);
    for (auto& half : reference.psums) std::ranges::fill(half, 2147483647);
    Scratchpads scratchpads = copy_of(reference);
    Execute execute;
    execute.in_rows = execute.in_cols = execute.out_rows = execute.out_cols = 1;
    execute.act_row_words = execute.act_plane_words = 1;
    execute.kernel_h = execute.kernel_w = execute.stride_h = execute.stride_w = 1;
    execute.planes = execute.accumulate = execute.blocks = 1;
    reference.execute(execute);
    ArrayKernel(path).execute(execute, arch, scratchpads);
    EXPECT_LT(scratchpads.psums(0, 0, 1)[0], 0);
    expect_same(reference, scratchpads);
  });
}

TEST(ArrayKernel, ACommandBeyondTheEndOfAMemoryIsAnInternalError) {
  const ArchConfig arch = small_arch(16, 16);
  Scratchpads scratchpads(arch);
  Random random(1);
  for (const VectorPath path : kVectorPaths) {
    if (!is_supported(path)) continue;
    Execute execute = random_execute(random, arch);
    execute.acc_addr = static_cast<std::uint32_t>(arch.accumulator_half_words());
    EXPECT_THROW(ArrayKernel(path).execute(execute, arch, scratchpads), InternalError);
    execute = random_execute(random, arch);
    execute.weight_addr = static_cast<std::uint32_t>(arch.weight_words());
    EXPECT_THROW(ArrayKernel(path).execute(execute, arch, scratchpads), InternalError);
    execute = random_execute(random, arch);
    execute.origin_row = execute.origin_col = 0;
    execute.act_addr = static_cast<std::uint32_t>(arch.act_words());
    EXPECT_THROW(ArrayKernel(path).execute(execute, arch, scratchpads), InternalError);
  }
}

// A program that is only DRAM: input, then writable bytes, then one segment of random bytes.
Program dram_program(std::int64_t input_bytes, std::int64_t writable_bytes,
                     std::int64_t segment_bytes, Random& random) {
  Program program;
  program.input.tensor.value.shape = {1, 1, 1, input_bytes};
  program.input.tensor.block = input_bytes;
  program.writable_bytes = writable_bytes;
  DramSegment segment{"constants", writable_bytes, {}};
  for (std::int64_t i = 0; i < segment_bytes; ++i) {
    segment.bytes.push_back(static_cast<std::byte>(random.next()));
  }
  program.segments.push_back(segment);
  return program;
}

TEST(TileCopy, RandomLoadsAndStoresMoveBytesAsThePseudoCodeDoes) {
  constexpr std::int64_t kInput = 4096, kWritable = 64 * 1024, kSegment = 128 * 1024;
  for (const ArraySize& size : kArraySizes) {
    const ArchConfig arch = small_arch(size.rows, size.cols);
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(case_text(VectorPath::kPortable, arch, seed));
      Random random(seed);
      const Program program = dram_program(kInput, kWritable, kSegment, random);
      Tensor input(DType::kInt8, {1, 1, 1, kInput});
      for (std::byte& byte : input.bytes) byte = static_cast<std::byte>(random.next());
      ReferenceMachine reference(arch);
      reference.fill(random);
      reference.dram = input.bytes;
      reference.dram.resize(kWritable);
      const std::vector<std::byte>& constants = program.segments[0].bytes;
      reference.dram.insert(reference.dram.end(), constants.begin(), constants.end());
      Scratchpads scratchpads = copy_of(reference);
      DramMemory dram(program, input);
      for (int i = 0; i < 6; ++i) {
        const auto memory = static_cast<LoadMemory>(i % 3);
        const std::int64_t first = i < 3 ? 0 : kWritable;
        const Load load = random_load(random, arch, memory, first, first + kWritable);
        reference.load(load);
        load_tile(load, arch, dram, scratchpads);
        const Store store = random_store(random, arch, kInput, kWritable);
        reference.store(store);
        store_tile(store, arch, scratchpads, dram);
      }
      expect_same(reference, scratchpads);
      reference.dram.resize(kWritable);
      const std::span<const std::byte> written = dram.read(0, kWritable);
      ASSERT_TRUE(std::equal(written.begin(), written.end(), reference.dram.begin()));
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace qsim
