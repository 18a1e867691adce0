// POST: psums to levels, by the formulas of core/machine/isa/commands.h.
#include <algorithm>
#include <span>
#include <string>

#include "core/machine/isa/adder_block.h"
#include "core/machine/isa/parameter_block.h"
#include "sim/interpreter/command_effects.h"

namespace qsim::sim::interpreter {
namespace {

// What one POST works with: its slots, decoded, and the psums of its tiles.
struct Work {
  std::vector<ChannelParameters> channels;
  PsumAdder adder;
  const std::int8_t* table;
  const std::uint32_t* psums;
  const std::uint32_t* second_psums;
};

const std::uint32_t* tile_of(const Machine& m, std::uint32_t half, std::uint32_t addr) {
  const std::vector<std::uint32_t>& words = m.accumulator[half];
  return &words[std::size_t{addr} * static_cast<std::size_t>(m.arch.array_cols)];
}

Work work_of(const Post& post, const Machine& m) {
  const std::span slot = std::as_bytes(std::span(m.params[post.param_slot]));
  const auto rounding = static_cast<RequantizerRounding>(post.rounding);
  Work work;
  for (std::int64_t c = 0; c < m.arch.array_cols; ++c) {
    work.channels.push_back(read_channel(slot, m.arch, c, rounding));
  }
  if (post.add != 0) work.adder = read_adder(slot, rounding);
  work.table = m.tables[post.param_slot].data();
  work.psums = tile_of(m, post.acc_half, post.acc_addr);
  work.second_psums = tile_of(m, post.second_half, post.add != 0 ? post.second_addr : 0);
  return work;
}

void check_tile(std::int64_t first, std::int64_t words, const ArchConfig& arch) {
  check_words("accumulator half", first, words, arch.accumulator_half_words());
}

void check_post(const Post& post, const ArchConfig& arch) {
  for (const std::string& fault :
       {rounding_fault(post.rounding, arch), add_fault(post, arch), lookup_fault(post, arch)}) {
    if (!fault.empty()) throw_bad_input(fault);
  }
  check_words("output scratchpad", post.out_addr, std::int64_t{post.out_rows} * post.out_cols,
              arch.output_words());
  const std::int64_t row =
      last_position(post.out_rows, post.pool_h, post.pool_stride_h, post.origin_row, post.in_rows);
  const std::int64_t col =
      last_position(post.out_cols, post.pool_w, post.pool_stride_w, post.origin_col, post.in_cols);
  if (row < 0 || col < 0) return;
  check_tile(post.acc_addr, row * post.in_cols + col + 1, arch);
  if (post.add != 0) check_tile(post.second_addr, row * post.in_cols + col + 1, arch);
}

// The level of one position and channel, before a table.
std::int32_t level_of(const Post& post, const Work& work, std::size_t position, std::size_t c) {
  const auto psum = static_cast<std::int32_t>(work.psums[position]);
  if (post.add != 0) {
    const auto second = static_cast<std::int32_t>(work.second_psums[position]);
    return add_psums(second, psum, work.adder, post.zero_point, post.lo, post.hi);
  }
  return requantize(psum, work.channels[c].bias, work.channels[c].requantizer, post.zero_point,
                    post.lo, post.hi);
}

// best[c] = max(best[c], level c) for one word of psums.
void take_maximum(const Post& post, const Work& work, std::size_t word,
                  std::vector<std::int32_t>& best) {
  for (std::size_t c = 0; c < best.size(); ++c) {
    std::int32_t q = level_of(post, work, word * best.size() + c, c);
    if (post.lookup != 0) q = work.table[static_cast<std::uint8_t>(q)];
    best[c] = std::max(best[c], q);
  }
}

// One ofmap word: the window whose first psum is (row, col), which may lie outside the tile.
void pool_window(const Post& post, const Work& work, std::int64_t row, std::int64_t col,
                 std::vector<std::int32_t>& best) {
  std::fill(best.begin(), best.end(), post.lookup != 0 ? -128 : post.lo);
  for (std::int64_t iy = row; iy < row + post.pool_h; ++iy) {
    for (std::int64_t ix = col; ix < col + post.pool_w; ++ix) {
      if (iy < 0 || iy >= post.in_rows || ix < 0 || ix >= post.in_cols) continue;
      take_maximum(post, work, static_cast<std::size_t>(iy * post.in_cols + ix), best);
    }
  }
}

}  // namespace

void apply(const Post& post, Machine& machine) {
  check_post(post, machine.arch);
  const auto columns = static_cast<std::size_t>(machine.arch.array_cols);
  const Work work = work_of(post, machine);
  std::int8_t* to = machine.out.data() + std::size_t{post.out_addr} * columns;
  std::vector<std::int32_t> best(columns);
  for (std::int64_t oy = 0; oy < post.out_rows; ++oy) {
    for (std::int64_t ox = 0; ox < post.out_cols; ++ox) {
      pool_window(post, work, oy * post.pool_stride_h + post.origin_row,
                  ox * post.pool_stride_w + post.origin_col, best);
      for (const std::int32_t q : best) *to++ = static_cast<std::int8_t>(q);
    }
  }
}

}  // namespace qsim::sim::interpreter
