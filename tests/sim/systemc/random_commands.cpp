#include "tests/sim/systemc/random_commands.h"

#include <algorithm>

#include "core/base/checked_math.h"
#include "core/machine/isa/parameter_block.h"

namespace qsim {
namespace {

std::uint32_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return static_cast<std::uint32_t>(random.uniform(low, std::max(low, high)));
}

std::int32_t pick_signed(Random& random, std::int64_t low, std::int64_t high) {
  return static_cast<std::int32_t>(random.uniform(low, high));
}

// 1 .. `most`, small values more often.
std::uint32_t pick_size(Random& random, std::int64_t most) {
  return pick(random, 1, random.chance(0.5) ? std::min<std::int64_t>(most, 3) : most);
}

// Places runs of `bytes` bytes in all within DRAM [first, last), with gaps where there is room.
template <typename Transfer>
void place_runs(Random& random, std::int64_t unit_bytes, std::int64_t most_bytes,
                std::int64_t first, std::int64_t last, Transfer& transfer) {
  const std::int64_t most = std::min(most_bytes, (last - first) / 3);
  transfer.groups = pick_size(random, 4);
  transfer.runs = pick_size(random, 4);
  const std::int64_t runs = std::int64_t{transfer.groups} * transfer.runs;
  const std::int64_t units = std::max<std::int64_t>(1, most / runs / unit_bytes);
  if (units * unit_bytes * runs > most) transfer.groups = transfer.runs = 1;
  transfer.run_bytes =
      static_cast<std::uint32_t>(pick(random, 1, std::min<std::int64_t>(units, 40)) * unit_bytes);
  transfer.run_stride = transfer.run_bytes + pick(random, 0, 7);
  transfer.group_stride = transfer.run_stride * transfer.runs + pick(random, 0, 9);
  const std::int64_t extent = std::int64_t{transfer.group_stride} * transfer.groups;
  transfer.dram_addr = pick(random, first, last - extent);
}

}  // namespace

ArchConfig small_arch(std::int64_t rows, std::int64_t cols) {
  ArchConfig arch;
  arch.name = "small";
  arch.array_rows = rows;
  arch.array_cols = cols;
  arch.act_scratchpad_kib = std::max<std::int64_t>(8, rows / 2);
  arch.weight_scratchpad_kib = std::max<std::int64_t>(16, rows * cols / 128);
  arch.accumulator_kib = std::max<std::int64_t>(2, cols / 2);
  arch.output_scratchpad_kib = std::max<std::int64_t>(1, cols / 16);
  validate(arch);
  return arch;
}

Execute random_execute(Random& random, const ArchConfig& arch) {
  Execute e;
  e.dataflow = pick(random, 0, kDataflows - 1);
  e.blocks = 1;
  if (e.dataflow == static_cast<std::uint32_t>(Dataflow::kInputStationary)) {
    e.blocks = pick_size(random, std::min<std::int64_t>({9, arch.weight_words() / arch.fold_words(),
                                                         arch.accumulator_half_words()}));
  }
  const std::int64_t most_folds = arch.weight_words() / arch.fold_words() / e.blocks;
  e.kernel_h = pick_size(random, std::min<std::int64_t>(11, most_folds));
  e.kernel_w = pick_size(random, std::min<std::int64_t>(11, most_folds / e.kernel_h));
  e.planes = pick_size(random, std::min<std::int64_t>(6, most_folds / e.kernel_h / e.kernel_w));
  e.stride_h = pick_size(random, 4);
  e.stride_w = pick_size(random, 4);
  const bool is_plain = random.chance(0.3);  // one tap and every position, as many convolutions
  if (is_plain) e.kernel_h = e.kernel_w = e.stride_h = e.stride_w = 1;
  const std::int64_t most_pixels =
      std::min<std::int64_t>(arch.accumulator_half_words() / e.blocks, 200);
  e.out_rows = pick_size(random, std::min<std::int64_t>(most_pixels, 20));
  e.out_cols = pick(random, 1, std::min<std::int64_t>(40, most_pixels / e.out_rows));
  const std::int64_t plane_words = arch.act_words() / e.planes;
  e.in_rows = pick_size(random, std::min<std::int64_t>(24, plane_words));
  e.in_cols = pick_size(random, std::min<std::int64_t>(48, plane_words / e.in_rows));
  if (is_plain) {
    e.out_rows = std::min(e.out_rows, e.in_rows);
    e.out_cols = std::min(e.out_cols, e.in_cols);
    if (random.chance(0.5)) e.in_cols = e.out_cols;
  }
  e.act_row_words = e.in_cols;
  if (random.chance(0.7)) e.act_row_words += pick(random, 0, plane_words / e.in_rows - e.in_cols);
  const std::int64_t used = std::int64_t{e.in_rows - 1} * e.act_row_words + e.in_cols;
  e.act_plane_words = pick(random, used, plane_words);
  const std::int64_t extent = std::int64_t{e.planes - 1} * e.act_plane_words + used;
  e.act_addr = random.chance(0.3) ? static_cast<std::uint32_t>(arch.act_words() - extent)
                                  : pick(random, 0, arch.act_words() - extent);
  e.origin_row = pick_signed(random, -6, random.chance(0.5) ? 0 : 6);
  e.origin_col = pick_signed(random, -6, random.chance(0.5) ? 0 : 6);
  if (is_plain) e.origin_row = e.origin_col = 0;
  const std::int64_t folds = std::int64_t{e.planes} * e.kernel_h * e.kernel_w;
  e.weight_addr = pick(random, 0, arch.weight_words() - folds * e.blocks * arch.fold_words());
  const std::int64_t pixels = std::int64_t{e.blocks} * e.out_rows * e.out_cols;
  e.acc_addr = pick(random, 0, arch.accumulator_half_words() - pixels);
  e.acc_half = pick(random, 0, 1);
  e.accumulate = pick(random, 0, 1);
  e.pad_value = pick_signed(random, -128, 127);
  return e;
}

Post random_post(Random& random, const ArchConfig& arch) {
  Post p;
  const std::int64_t most_psums = arch.accumulator_half_words();
  const std::int64_t most_words = arch.output_words();
  p.in_rows = pick_size(random, std::min<std::int64_t>(most_psums, 16));
  p.in_cols = pick(random, 1, std::min<std::int64_t>(24, most_psums / p.in_rows));
  p.acc_addr = pick(random, 0, most_psums - std::int64_t{p.in_rows} * p.in_cols);
  p.acc_half = pick(random, 0, 1);
  p.pool_h = pick_size(random, 4);
  p.pool_w = pick_size(random, 4);
  p.pool_stride_h = pick_size(random, 4);
  p.pool_stride_w = pick_size(random, 4);
  p.origin_row = pick_signed(random, -4, random.chance(0.7) ? 0 : 3);
  p.origin_col = pick_signed(random, -4, random.chance(0.7) ? 0 : 3);
  p.out_rows = pick_size(random, std::min<std::int64_t>(most_words, 12));
  p.out_cols = pick(random, 1, std::min<std::int64_t>(16, most_words / p.out_rows));
  if (random.chance(0.3)) {  // as many do: no pooling, every position in its place
    p.out_cols = std::min(p.in_cols, p.out_cols);
    if (random.chance(0.7)) p.in_cols = p.out_cols;
    p.out_rows = std::min(p.in_rows, p.out_rows);
    p.pool_h = p.pool_w = p.pool_stride_h = p.pool_stride_w = 1;
    p.origin_row = p.origin_col = 0;
  }
  p.out_addr = pick(random, 0, most_words - std::int64_t{p.out_rows} * p.out_cols);
  p.param_slot = pick(random, 0, 1);
  p.rounding = pick(random, 0, post_roundings(arch) - 1);
  p.zero_point = pick_signed(random, -128, 127);
  p.lo = pick_signed(random, -128, 127);
  p.hi = pick_signed(random, p.lo, 127);
  if (!arch.is_dyadic()) return p;
  p.lookup = pick(random, 0, 1);
  p.add = pick(random, 0, 1);
  if (p.add == 0) return p;
  p.second_addr = pick(random, 0, most_psums - std::int64_t{p.in_rows} * p.in_cols);
  p.second_half = pick(random, 0, 1);
  return p;
}

Load random_load(Random& random, const ArchConfig& arch, LoadMemory memory, std::int64_t first,
                 std::int64_t last) {
  Load load;
  load.memory = static_cast<std::uint32_t>(memory);
  if (memory == LoadMemory::kParameter) {
    load.local_addr = pick(random, 0, kParamSlots - 1);
    place_runs(random, 1, arch.param_block_bytes(), first, last, load);
    return load;
  }
  if (memory == LoadMemory::kWeight) {
    const std::int64_t word_bytes = arch.weight_word_bytes();
    place_runs(random, word_bytes, arch.weight_words() * word_bytes, first, last, load);
    const std::int64_t words = std::int64_t{load.groups} * load.runs * load.run_bytes / word_bytes;
    load.local_addr = pick(random, 0, arch.weight_words() - words);
    return load;
  }
  // Half of the memory, so that the last block's planes may be partly filled.
  place_runs(random, arch.block_channels(), arch.act_words() * arch.array_rows / 2, first, last,
             load);
  const std::int64_t pixels =
      std::int64_t{load.groups} * load.runs * load.run_bytes / arch.block_channels();
  load.plane_words = pick(random, 1, pixels);
  const std::int64_t split = arch.block_channels() / arch.array_rows;
  const std::int64_t words = round_up(pixels, load.plane_words) * split;
  load.local_addr = pick(random, 0, arch.act_words() - words);
  return load;
}

Store random_store(Random& random, const ArchConfig& arch, std::int64_t first, std::int64_t last) {
  Store store;
  place_runs(random, arch.array_cols, arch.output_words() * arch.array_cols, first, last, store);
  const std::int64_t words =
      std::int64_t{store.groups} * store.runs * store.run_bytes / arch.array_cols;
  store.out_addr = pick(random, 0, arch.output_words() - words);
  return store;
}

}  // namespace qsim
