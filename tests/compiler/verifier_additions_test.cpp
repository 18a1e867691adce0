// What verify() knows of POSTs that add two tiles and look levels up: both tiles are there, and so
// is the table.
#include "tests/compiler/planted_violation.h"

namespace qsim {

using namespace compiler;
namespace {

using testing::command;
using testing::drop;
using testing::fields;
using testing::joined;

ArchConfig dyadic_arch() {
  ArchConfig arch = sample::tiny_arch();
  arch.requantizer = RequantizerKind::kDyadic;
  return arch;
}

Execute identity(std::uint32_t rows, std::uint32_t first_row, std::uint32_t half,
                 std::uint32_t acc_addr) {
  Execute e = sample::conv3x3(0, 0);
  e.act_addr = 4 * first_row;
  e.in_rows = e.out_rows = rows;
  e.in_cols = e.out_cols = 4;
  e.origin_row = e.origin_col = 0;
  e.kernel_h = e.kernel_w = 1;
  e.acc_half = half;
  e.acc_addr = acc_addr;
  return e;
}

// One layer: two tiles of two rows, in one half each. A POST adds a tile to itself, which two
// EXECUTEs brought, and looks the sums up. Both turns have slot 0 of parameters and tables.
Program adding_program() {
  using namespace sample;
  Program p;
  p.name = "additions";
  p.arch = dyadic_arch();
  p.semaphores = {{{"act_ready", 0},
                   {"act_free", 0},
                   {"weight_ready", 0},
                   {"weight_free", 0},
                   {"param_ready", 0},
                   {"param_free", 1},
                   {"acc_ready", 0},
                   {"acc_free", 0},
                   {"out_ready", 0}}};
  p.writable_bytes = 128;
  p.input.tensor = tensor(0, {1, 4, 4, 4});
  Random random(1);
  p.segments.push_back(random_segment("weights", 128, 16, random));
  p.segments.push_back(random_segment("params", 144, 32, random));
  p.segments.push_back(random_segment("table", 176, 256, random));
  p.layers.push_back({"sum", "add", "2 tiles", 0, 1, tensor(64, {1, 4, 4, 4})});
  const Origin all{0, 0, 0, 1, 0, 4, 0, 4, 0, 4};
  emit(p, 0, mask(kActReady), load(LoadMemory::kActivation, 0, 0, 64, 16), all);
  emit(p, 0, mask(kWeightReady), load(LoadMemory::kWeight, 128, 0, 16), all);
  for (std::uint32_t tile = 0; tile < 2; ++tile) {
    emit(p, mask(kParamFree), 0, load(LoadMemory::kParameter, 144, 0, 32), all);
    emit(p, 0, mask(kParamReady), load(LoadMemory::kTable, 176, 0, 256), all);
    emit(p, tile == 0 ? mask(kActReady, kWeightReady) : std::uint16_t{0}, 0,
         identity(2, 2 * tile, tile, 0), all);
    emit(p, 0, mask(kAccReady), identity(2, 2 * tile, tile, 8), all);
    Post post = plain_post(tile);
    post.param_slot = 0;
    post.add = post.lookup = 1;
    post.second_half = tile;
    post.second_addr = 8;
    emit(p, mask(kAccReady, kParamReady), mask(kParamFree, kOutReady), post, all);
    emit(p, mask(kOutReady), 0, store(64 + 32 * tile, 128 * tile, 32), all);
  }
  return p;
}

void expect_violation(const std::function<void(ProgramDraft&)>& plant,
                      const std::string& expected) {
  ProgramDraft draft(adding_program());
  plant(draft);
  const std::string found = joined(verify(draft.program(), dyadic_arch()));
  EXPECT_NE(found.find(expected), std::string::npos) << "expected: " << expected << "\nfound:\n"
                                                     << found;
}

Post& first_post(ProgramDraft& p) { return fields<Post>(p, 0); }

TEST(Verifier, AcceptsAdditionsOfTilesInOneHalfAndInBoth) {
  EXPECT_EQ(joined(verify(adding_program(), dyadic_arch())), "");
  // The second half gets one tile, and the second POST takes its operand b from the first half.
  const auto across = [](std::uint32_t acc_addr) {
    ProgramDraft draft(adding_program());
    fields<Execute>(draft, 0).acc_addr = acc_addr;
    first_post(draft).acc_addr = acc_addr;
    fields<Execute>(draft, 3).accumulate = 1;
    fields<Execute>(draft, 3).acc_addr = 0;
    Post& post = fields<Post>(draft, 1);
    post.acc_half = 0;
    post.acc_addr = acc_addr;
    post.second_addr = 0;
    return joined(verify(draft.program(), dyadic_arch()));
  };
  EXPECT_EQ(across(0), "");
  EXPECT_EQ(across(24), "");  // where one half ends and the other begins
}

TEST(Verifier, AnAdditionWhoseOperandIsNotThereIsFound) {
  expect_violation([](ProgramDraft& p) { first_post(p).second_addr = 25; },
                   "its psums end at word 33 of an accumulator half; it has 32");
  expect_violation([](ProgramDraft& p) { first_post(p).second_addr = 9; },
                   "words 9..17 of the accumulator: reads words never written");
  expect_violation([](ProgramDraft& p) { first_post(p).second_half = 1; },
                   "post command 0 (sum tile 0, n 0..1, y 0..4, x 0..4, c 0..4): words 40..48 of "
                   "the accumulator: reads ");
  expect_violation([](ProgramDraft& p) { first_post(p).second_addr = 0; },
                   "execute command 1 (sum tile 0, n 0..1, y 0..4, x 0..4, c 0..4): nobody reads "
                   "what it writes to the accumulator");
}

TEST(Verifier, ATableThatIsNotThereOrIsOverwrittenIsFound) {
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 3).local_addr = 1; },
                   "words 0..1 of the table memory: reads words never written");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 3).local_addr = 2; },
                   "words 2..3 of the table memory, which has 2");
  expect_violation([](ProgramDraft& p) { first_post(p).lookup = 0; },
                   "overwrites what load command 3 (sum tile 0, n 0..1, y 0..4, x 0..4, c 0..4) "
                   "wrote and nobody has read");
  expect_violation([](ProgramDraft& p) { fields<Post>(p, 1).lookup = 0; },
                   "load command 5 (sum tile 0, n 0..1, y 0..4, x 0..4, c 0..4): nobody reads what "
                   "it writes to the table memory");
  expect_violation(
      [](ProgramDraft& p) {
        drop(command(p, Unit::kLoad, 4).wait_mask, sample::kParamFree);
        drop(command(p, Unit::kPost, 0).signal_mask, sample::kParamFree);
      },
      "words 0..1 of the table memory: overwrites what load command 3");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 3).run_bytes = 255; },
                   "loads 255 bytes of a table; a slot takes 256");
  expect_violation(
      [](ProgramDraft& p) {
        fields<Load>(p, 3).runs = 2;
        fields<Load>(p, 3).run_bytes = 128;
      },
      "loads a table in 1 groups of 2 runs; it is one run");
  expect_violation([](ProgramDraft& p) { fields<Load>(p, 3).dram_addr = 192; },
                   "which are in no segment");
}

}  // namespace
}  // namespace qsim
