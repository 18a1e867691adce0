// Each command's effect against values worked out by hand.
#include "sim/interpreter/command_effects.h"

#include <gtest/gtest.h>

#include "core/machine/isa/adder_block.h"
#include "core/machine/isa/parameter_block.h"
#include "sim/interpreter/fold_kernel.h"
#include "tests/core/program_draft.h"
#include "tests/core/sample_program.h"

namespace qsim {
namespace {

namespace interpreter = sim::interpreter;

using interpreter::apply;
using interpreter::Machine;

// A machine whose DRAM holds the sample's input: byte i of the picture is i + 1.
class CommandEffects : public ::testing::Test {
 protected:
  static Tensor counting_picture() {
    Tensor picture(DType::kInt8, {1, 4, 4, 4});
    for (std::size_t i = 0; i < 64; ++i) picture.bytes[i] = static_cast<std::byte>(i + 1);
    return picture;
  }

  Program program_ = sample::program();
  Machine machine_{program_, counting_picture()};
};

TEST_F(CommandEffects, LoadGathersItsRunsIntoConsecutiveActivationWords) {
  Load load = sample::load(LoadMemory::kActivation, 4, 10, 8);
  load.runs = 2;
  load.run_stride = 16;
  load.groups = 2;
  load.group_stride = 4;
  apply(load, machine_);
  // Runs at 4, 20, 8, 24; byte at address a is a + 1.
  const std::vector<std::int8_t> expected = {5,  6,  7,  8,  9,  10, 11, 12, 21, 22, 23,
                                             24, 25, 26, 27, 28, 9,  10, 11, 12, 13, 14,
                                             15, 16, 25, 26, 27, 28, 29, 30, 31, 32};
  EXPECT_EQ(std::vector<std::int8_t>(machine_.act.begin() + 40, machine_.act.begin() + 72),
            expected);
  EXPECT_EQ(machine_.act[39], 0);
  EXPECT_EQ(machine_.act[72], 0);
}

TEST_F(CommandEffects, LoadDealsThePixelsOfAWideBlockToPlanes) {
  program_.arch.array_cols = 8;  // B = 8: two words of R = 4 a pixel
  program_.input.tensor.block = 4;
  Machine machine(program_, counting_picture());
  apply(sample::load(LoadMemory::kActivation, 0, 0, 48, 3), machine);
  // Six pixels of 8 bytes, three a plane: block 0's pixels are 0..2, block 1's 3..5; first bytes.
  const std::vector<int> first_bytes = {1, 9, 17, 5, 13, 21, 25, 33, 41, 29, 37, 45};
  for (std::size_t word = 0; word < first_bytes.size(); ++word) {
    EXPECT_EQ(machine.act[word * 4], first_bytes[word]) << "word " << word;
  }
}

TEST_F(CommandEffects, LoadPutsWeightsAndParametersWhereTheirCommandsFindThem) {
  apply(sample::load(LoadMemory::kWeight, 8, 3, 8), machine_);
  EXPECT_EQ(machine_.weight[11], 0);
  EXPECT_EQ(machine_.weight[12], 9);
  EXPECT_EQ(machine_.weight[19], 16);
  apply(sample::load(LoadMemory::kParameter, 0, 1, 20), machine_);
  EXPECT_EQ(machine_.params[0][0], 0);
  EXPECT_EQ(machine_.params[1][0], 1);
  EXPECT_EQ(machine_.params[1][19], 20);
}

// Weights of a fold: row r, column c holds 10 r + c; the pixel's word is {1, 2, 3, 4} + 4 pixel.
TEST_F(CommandEffects, ExecuteSumsTheRowsAndOverwritesOrAccumulates) {
  apply(sample::load(LoadMemory::kActivation, 0, 0, 64), machine_);
  for (std::size_t i = 0; i < 16; ++i) {
    machine_.weight[i] = static_cast<std::int8_t>(10 * (i / 4) + i % 4);
  }
  Execute e = sample::conv3x3(0, 0);
  e.origin_row = e.origin_col = 0;
  e.kernel_h = e.kernel_w = 1;
  e.out_rows = 1;
  e.out_cols = 2;
  e.acc_addr = 5;
  machine_.accumulator[0][20] = 77;
  apply(e, machine_);
  // Pixel 0: 0*1 + 10*2 + 20*3 + 30*4 = 200, plus c * (1 + 2 + 3 + 4); pixel 1: 440 + 26 c.
  const std::vector<std::uint32_t> expected = {200, 210, 220, 230, 440, 466, 492, 518};
  const auto& acc = machine_.accumulator[0];
  EXPECT_EQ(std::vector<std::uint32_t>(acc.begin() + 20, acc.begin() + 28), expected);
  e.accumulate = 1;
  apply(e, machine_);
  EXPECT_EQ(acc[20], 400u);
  EXPECT_EQ(acc[27], 1036u);
  EXPECT_EQ(acc[28], 0u);
}

TEST_F(CommandEffects, ExecuteReadsThePadValueOutsideTheResidentRowsAndColumns) {
  apply(sample::load(LoadMemory::kActivation, 0, 0, 64), machine_);
  for (std::size_t i = 0; i < 36 * 4; ++i) machine_.weight[i] = i % 16 == 0 ? 1 : 0;
  Execute e = sample::conv3x3(0, 0);  // sums lane 0 over the 3x3 window, into column 0
  e.out_rows = 4;
  e.in_rows = 2;  // rows 2 and 3 are pad as well
  e.in_cols = 3;
  e.pad_value = -7;
  apply(e, machine_);
  const auto psum = [&](std::size_t pixel) {
    return static_cast<std::int32_t>(machine_.accumulator[0][pixel * 4]);
  };
  EXPECT_EQ(psum(0), 1 + 5 + 17 + 21 - 5 * 7);
  EXPECT_EQ(psum(5), 1 + 5 + 9 + 17 + 21 + 25 - 3 * 7);
  EXPECT_EQ(psum(6), 5 + 9 + 21 + 25 - 5 * 7);
  EXPECT_EQ(psum(15), -9 * 7);
}

TEST_F(CommandEffects, ExecuteStridesOverRowsColumnsAndPlanes) {
  apply(sample::load(LoadMemory::kActivation, 0, 0, 64), machine_);
  for (std::size_t i = 0; i < 8 * 4; ++i) machine_.weight[i] = i % 16 == 0 ? 1 : 0;
  Execute e = sample::conv3x3(0, 0);
  e.act_plane_words = 2;  // plane 1 is the same picture, two words on
  e.planes = 2;
  e.kernel_h = e.kernel_w = 1;
  e.stride_h = 2;
  e.stride_w = 3;
  e.origin_row = e.origin_col = 0;
  e.out_rows = e.out_cols = 2;
  e.in_cols = 4;
  apply(e, machine_);
  const auto& acc = machine_.accumulator[0];
  // Word w holds 4 w + 1 in lane 0: words 0 + 2, 3 + 5, 8 + 10, 11 + 13.
  EXPECT_EQ(acc[0], 1u + 9u);
  EXPECT_EQ(acc[4], 13u + 21u);
  EXPECT_EQ(acc[8], 33u + 41u);
  EXPECT_EQ(acc[12], 45u + 53u);
}

TEST_F(CommandEffects, PostRoundsClampsAndPoolsOnlyWhatIsPresent) {
  auto& slot = machine_.params[1];
  slot = std::vector<std::uint8_t>(20);
  slot[0] = 6;                                  // bias of column 0
  slot[4] = slot[5] = slot[6] = slot[7] = 255;  // bias -1 of column 1
  slot[16] = 2;                                 // shifts
  slot[17] = 1;
  const std::vector<int> psums = {0, 8, -30, 100, 4, 6};
  for (std::size_t i = 0; i < psums.size(); ++i) {
    machine_.accumulator[1][4 + i * 4] = static_cast<std::uint32_t>(psums[i]);
    machine_.accumulator[1][5 + i * 4] = static_cast<std::uint32_t>(psums[i]);
  }
  Post post = sample::plain_post(1);
  post.acc_addr = 1;
  post.out_addr = 3;
  post.in_rows = 2;
  post.in_cols = 3;
  post.out_rows = 1;
  post.out_cols = 3;
  post.lo = -4;
  post.hi = 20;
  apply(post, machine_);
  // Column 0: (0+6)/4 -> 2 (tie to even), 14/4 -> 4 (3.5), -24/4 = -6; +3; clamped to [-4, 20].
  EXPECT_EQ(machine_.out[12], 5);
  EXPECT_EQ(machine_.out[16], 7);
  EXPECT_EQ(machine_.out[20], -3);
  // Column 1: -1/2 -> 0 (tie to even), 7/2 -> 4, -31/2 -> -16 (tie to even).
  EXPECT_EQ(machine_.out[13], 3);
  EXPECT_EQ(machine_.out[17], 7);
  EXPECT_EQ(machine_.out[21], -4);
  // 2x2 windows from (-1, 0): the row above is absent, the last column hangs over.
  post.out_cols = 2;
  post.pool_h = post.pool_w = post.pool_stride_w = 2;
  post.origin_row = -1;
  apply(post, machine_);
  EXPECT_EQ(machine_.out[12], 7);
  EXPECT_EQ(machine_.out[16], -3);
  // From (0, 0): 5, 7, 29 clamped to 20, and last 5.
  post.origin_row = 0;
  apply(post, machine_);
  EXPECT_EQ(machine_.out[12], 20);
}

// What ONNX Runtime 1.30's QLinearAdd gives for these uint8 tensors. One rounding of the first sum
// would give 119.
TEST_F(CommandEffects, PostAddsTwoTensorsAsOnnxRuntimeDoes) {
  constexpr std::array<int, 8> kA = {248, 0, 255, 10, 200, 99, 213, 128};
  constexpr std::array<int, 8> kB = {208, 0, 255, 250, 31, 169, 5, 77};
  constexpr std::array<int, 8> kSum = {120, 0, 137, 19, 43, 37, 41, 23};
  const auto side = [](float scale, std::int32_t zero_point) {
    return LevelScale{*Scale::of(scale), zero_point};
  };
  const auto adder = adder_of(side(0x1.85a784p-6F, 213), side(0x1.f1e996p-7F, 169), side(0.05F, 91),
                              RequantizerRounding::kFloat32);
  ASSERT_TRUE(adder);
  program_.arch.requantizer = RequantizerKind::kDyadic;
  Machine machine(program_, counting_picture());
  write_adder(std::as_writable_bytes(std::span(machine.params[1])), {*adder, true, true});
  for (std::size_t i = 0; i < kA.size(); ++i) {  // two pixels of four channels, in two halves
    machine.accumulator[0][4 * 3 + i] = static_cast<std::uint32_t>(kB[i] - 128);
    machine.accumulator[1][4 * 5 + i] = static_cast<std::uint32_t>(kA[i] - 128);
  }
  Post post;
  post.in_rows = post.out_rows = 1;
  post.in_cols = post.out_cols = 2;
  post.pool_h = post.pool_w = post.pool_stride_h = post.pool_stride_w = 1;
  post.param_slot = post.add = post.second_half = 1;
  post.acc_addr = 3;
  post.second_addr = 5;
  post.rounding = static_cast<std::uint32_t>(RequantizerRounding::kFloat32);
  post.zero_point = sum_zero_point(RequantizerRounding::kFloat32, 91, true);
  post.lo = -128;
  post.hi = 127;
  apply(post, machine);
  for (std::size_t i = 0; i < kSum.size(); ++i) EXPECT_EQ(machine.out[i] + 128, kSum[i]) << i;
  post.rounding = static_cast<std::uint32_t>(RequantizerRounding::kHalfEven);
  apply(post, machine);
  EXPECT_EQ(machine.out[0] + 128, 119);
}

// Levels -3, 0, 2 and 5, clamped to 4 at most; entry i of the table is i ^ 0x55. POST keeps the
// larger entry of the window's two pixels.
TEST_F(CommandEffects, PostLooksUpClampedLevelsBeforeTheMaximum) {
  program_.arch.requantizer = RequantizerKind::kDyadic;
  Machine machine(program_, counting_picture());
  for (std::size_t i = 0; i < 256; ++i) machine.tables[1][i] = static_cast<std::int8_t>(i ^ 0x55);
  for (std::int64_t c = 0; c < 4; ++c) {
    write_channel(std::as_writable_bytes(std::span(machine.params[1])), program_.arch, c,
                  {0, Requantizer{}});
  }
  const std::array<std::int32_t, 8> psums = {-3, 0, 2, 5, 2, 1, 2, -128};
  std::copy(psums.begin(), psums.end(), machine.accumulator[0].begin());
  Post post;
  post.in_rows = post.out_rows = post.out_cols = 1;
  post.in_cols = post.pool_w = 2;
  post.pool_h = post.pool_stride_h = post.pool_stride_w = 1;
  post.param_slot = post.lookup = 1;
  post.lo = -128;
  post.hi = 4;
  apply(post, machine);
  const auto entry = [](int level) { return static_cast<std::int8_t>((level & 255) ^ 0x55); };
  EXPECT_EQ(machine.out[0], std::max(entry(-3), entry(2)));
  EXPECT_EQ(machine.out[1], std::max(entry(0), entry(1)));
  EXPECT_EQ(machine.out[2], entry(2));
  EXPECT_EQ(machine.out[3], std::max(entry(4), entry(-128)));
  post.in_cols = 1;
  post.origin_col = -3;  // nothing is present
  apply(post, machine);
  EXPECT_EQ(machine.out[0], -128);
}

TEST_F(CommandEffects, LoadFillsATableSlotOfADyadicMachineAlone) {
  const Load load = sample::load(LoadMemory::kTable, 0, 1, 64);
  EXPECT_THROW(apply(load, machine_), Error);
  program_.arch.requantizer = RequantizerKind::kDyadic;
  Machine machine(program_, counting_picture());
  apply(load, machine);
  EXPECT_EQ(machine.tables[1][0], 1);
  EXPECT_EQ(machine.tables[1][63], 64);
  EXPECT_EQ(machine.tables[0][0], 0);
}

TEST_F(CommandEffects, StoreScattersItsWordsOverTheRuns) {
  for (std::size_t i = 0; i < 16; ++i) machine_.out[20 + i] = static_cast<std::int8_t>(i + 50);
  Store store = sample::store(64, 5, 8);
  store.runs = 2;
  store.run_stride = 32;
  apply(store, machine_);
  EXPECT_EQ(machine_.dram.read(64, 1)[0], std::byte{50});
  EXPECT_EQ(machine_.dram.read(72, 1)[0], std::byte{0});
  EXPECT_EQ(machine_.dram.read(96, 1)[0], std::byte{58});
  EXPECT_EQ(machine_.dram.read(103, 1)[0], std::byte{65});
}

void expect_plain_sums(std::size_t columns, interpreter::FoldWeights::Layout layout) {
  const bool by_channel = layout == interpreter::FoldWeights::Layout::kByChannel;
  SCOPED_TRACE("seed " + std::to_string(columns) + (by_channel ? ", by channel" : ", by element"));
  Random random(columns);
  const std::size_t rows = 8;
  std::vector<std::int8_t> weights(rows * columns);
  for (std::int8_t& w : weights) w = static_cast<std::int8_t>(random.uniform(-128, 127));
  std::vector<std::int8_t> words(7 * rows);
  for (std::int8_t& x : words) x = static_cast<std::int8_t>(random.uniform(-128, 127));
  std::vector<const std::int8_t*> pixels;
  for (std::size_t i = 0; i < 7; ++i) pixels.push_back(words.data() + i * rows);
  std::vector<std::uint32_t> acc(7 * columns, 0x7fffffff);
  interpreter::FoldWeights fold(rows, columns);
  fold.assign(weights.data(), layout);
  fold.accumulate(pixels, false, acc.data());
  for (std::size_t i = 0; i < acc.size(); ++i) {
    const std::size_t c = i % columns;
    std::int64_t sum = 0x7fffffff;
    for (std::size_t r = 0; r < rows; ++r) {
      sum += words[i / columns * rows + r] * weights[by_channel ? c * rows + r : r * columns + c];
    }
    ASSERT_EQ(acc[i], static_cast<std::uint32_t>(sum)) << "element " << i;
  }
}

TEST(FoldWeights, EveryGroupOfColumnsEqualsThePlainSumModuloTwoToThe32) {
  for (const std::size_t columns : {4, 8, 16, 64}) {
    expect_plain_sums(columns, interpreter::FoldWeights::Layout::kByElement);
    expect_plain_sums(columns, interpreter::FoldWeights::Layout::kByChannel);
  }
}

// An array of fewer rows than columns deals each pixel's bytes to planes.
TEST_F(CommandEffects, LoadIntoPlanesOfNoWordsIsRefused) {
  program_.arch.array_cols = 8;
  Machine machine(program_, counting_picture());
  try {
    apply(sample::load(LoadMemory::kActivation, 0, 0, 48, 0), machine);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "plane_words is 0; at least 1 is needed");
  }
}

}  // namespace
}  // namespace qsim
