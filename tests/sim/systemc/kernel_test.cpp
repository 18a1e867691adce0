// EXECUTE, POST, LOAD and STORE of the SystemC engine, every vector path, against the pseudo-code
// as plain loops: whole memories are compared, so a stray write fails too.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "core/dram_memory.h"
#include "sim/systemc/datapath/array_kernel.h"
#include "sim/systemc/datapath/post_kernel.h"
#include "sim/systemc/datapath/tile_copy.h"
#include "tests/sim/systemc/random_commands.h"
#include "tests/sim/systemc/reference_machine.h"

namespace qsim {
namespace {

struct ArraySize {
  std::int64_t rows;
  std::int64_t cols;
};

constexpr ArraySize kArraySizes[] = {{4, 4},   {8, 8},   {16, 16}, {16, 32}, {32, 32},  {4, 16},
                                     {16, 4},  {8, 4},   {4, 8},   {32, 16}, {64, 64},  {8, 64},
                                     {128, 8}, {4, 128}, {64, 16}, {16, 64}, {128, 128}};

template <typename T>
void copy_into(const std::vector<T>& from, std::span<T> to) {
  ASSERT_EQ(from.size(), to.size());
  std::copy(from.begin(), from.end(), to.begin());
}

Scratchpads copy_of(const ReferenceMachine& machine) {
  const ArchConfig& arch = machine.arch;
  Scratchpads copy(arch);
  copy_into(machine.activations, copy.written_activations(0, arch.act_words()));
  copy_into(machine.weights, copy.weights(0, arch.weight_words()));
  copy_into(machine.outputs, copy.outputs(0, arch.output_words()));
  for (std::int64_t slot = 0; slot < kParamSlots; ++slot) {
    const auto begin = machine.parameters.begin() + slot * arch.param_block_bytes();
    std::copy(begin, begin + arch.param_block_bytes(), copy.parameters(slot).begin());
  }
  for (std::uint32_t half = 0; half < 2; ++half) {
    copy_into(machine.psums[half], copy.psums(half, 0, arch.accumulator_half_words()));
  }
  return copy;
}

template <typename T>
void expect_same(const char* memory, const std::vector<T>& expected, std::span<const T> actual) {
  ASSERT_EQ(expected.size(), actual.size()) << memory;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(+expected[i], +actual[i]) << memory << " element " << i;
  }
}

void expect_same(const ReferenceMachine& machine, Scratchpads& scratchpads) {
  const ArchConfig& arch = machine.arch;
  expect_same<std::int8_t>("activations", machine.activations,
                           scratchpads.activations(0, arch.act_words()));
  expect_same<std::int8_t>("weights", machine.weights, scratchpads.weights(0, arch.weight_words()));
  expect_same<std::int8_t>("outputs", machine.outputs, scratchpads.outputs(0, arch.output_words()));
  for (std::int64_t slot = 0; slot < kParamSlots; ++slot) {
    const auto begin = machine.parameters.begin() + slot * arch.param_block_bytes();
    expect_same<std::int8_t>("parameters", {begin, begin + arch.param_block_bytes()},
                             scratchpads.parameters(slot));
  }
  for (std::uint32_t half = 0; half < 2; ++half) {
    expect_same<std::int32_t>("psums", machine.psums[half],
                              scratchpads.psums(half, 0, arch.accumulator_half_words()));
  }
}

std::string case_text(VectorPath path, const ArchConfig& arch, std::uint64_t seed) {
  return std::string(vector_path_name(path)) + ", array " + std::to_string(arch.array_rows) + "x" +
         std::to_string(arch.array_cols) + ", seed " + std::to_string(seed);
}

// Runs `body(path, arch, seed)` for every supported path and array size.
template <typename Body>
void for_each_case(std::uint64_t seeds, Body body) {
  for (const VectorPath path : kVectorPaths) {
    if (!is_supported(path)) continue;
    for (const ArraySize& size : kArraySizes) {
      const ArchConfig arch = small_arch(size.rows, size.cols);
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE(case_text(path, arch, seed));
        body(path, arch, seed);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

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

// Of 127 the biased products wrap while they are added, of -128 the corrections do.
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

TEST(PostKernel, EveryVectorPathPostsRandomCommandsAsThePseudoCodeDoes) {
  std::set<std::int8_t> values;
  for_each_case(16, [&](VectorPath path, const ArchConfig& arch, std::uint64_t seed) {
    Random random(seed * 104729 + static_cast<std::uint64_t>(arch.array_rows + arch.array_cols));
    ReferenceMachine reference(arch);
    reference.fill(random);
    Scratchpads scratchpads = copy_of(reference);
    for (int i = 0; i < 4; ++i) {
      const Post post = random_post(random, arch);
      reference.post(post);
      post_tile(post, arch, path, scratchpads);
      values.insert(reference.outputs[static_cast<std::size_t>(post.out_addr * arch.array_cols)]);
    }
    expect_same(reference, scratchpads);
  });
  EXPECT_GE(values.size(), 100u);  // the comparison is not one of clamped values only
}

// Random psums hardly ever lie half-way between two results; these all do, or one beside it.
TEST(PostKernel, HalvesRoundAsTheModeSaysForEveryShift) {
  for_each_case(1, [](VectorPath path, const ArchConfig& arch, std::uint64_t) {
    for (int shift = 0; shift <= 31; ++shift) {
      ReferenceMachine reference(arch);
      std::fill(reference.parameters.begin(), reference.parameters.end(), std::int8_t{0});
      const std::int64_t columns = arch.array_cols;
      for (std::int64_t c = 0; c < columns; ++c) {
        reference.parameters[static_cast<std::size_t>(4 * columns + c)] =
            static_cast<std::int8_t>(shift);
      }
      const std::int64_t half = shift == 0 ? 1 : std::int64_t{1} << (shift - 1);
      for (std::size_t i = 0; i < reference.psums[0].size(); ++i) {
        const auto multiple = static_cast<std::int64_t>(i % 11) - 5;
        const auto beside = static_cast<std::int64_t>(i / 11 % 3) - 1;
        reference.psums[0][i] = static_cast<std::int32_t>(
            std::clamp<std::int64_t>(multiple * half + beside, INT32_MIN, INT32_MAX));
      }
      Scratchpads scratchpads = copy_of(reference);
      Post post;
      post.in_rows = post.out_rows = 1;
      post.in_cols = post.out_cols = 16;
      post.pool_h = post.pool_w = post.pool_stride_h = post.pool_stride_w = 1;
      post.lo = -128;
      post.hi = 127;
      for (post.rounding = 0; post.rounding < 3; ++post.rounding) {
        post.out_addr = 16 * post.rounding;
        reference.post(post);
        post_tile(post, arch, path, scratchpads);
      }
      expect_same(reference, scratchpads);
    }
  });
}

TEST(PostKernel, AShiftIsTheLowFiveBitsOfItsByte) {
  const ArchConfig arch = small_arch(4, 4);
  Random random(3);
  ReferenceMachine reference(arch);
  reference.fill(random);
  const Post post = random_post(random, arch);
  const std::int64_t shifts = post.param_slot * 5 * arch.array_cols + 4 * arch.array_cols;
  Scratchpads plain = copy_of(reference);
  for (std::int64_t c = 0; c < arch.array_cols; ++c) {
    std::int8_t& shift = reference.parameters[static_cast<std::size_t>(shifts + c)];
    plain.parameters(post.param_slot)[static_cast<std::size_t>(4 * arch.array_cols + c)] =
        static_cast<std::int8_t>(shift & 31);
    shift = static_cast<std::int8_t>(shift | 96);
  }
  Scratchpads wide = copy_of(reference);
  post_tile(post, arch, VectorPath::kPortable, plain);
  post_tile(post, arch, VectorPath::kPortable, wide);
  const std::int64_t words = post.out_rows * post.out_cols;
  const auto expected = plain.outputs(post.out_addr, words);
  EXPECT_TRUE(std::ranges::equal(wide.outputs(post.out_addr, words), expected));
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
