#include "tests/rtl/programs/turn_transfers.h"

#include <algorithm>

#include "core/base/checked_math.h"
#include "core/machine/isa/command_fields.h"
#include "tests/rtl/programs/field_numbers.h"

namespace qsim {
namespace {

struct Grid {
  std::int64_t groups = 1, runs = 1, run_words = 1;
  std::int64_t words() const { return groups * runs * run_words; }
};

std::int64_t draw_count(Random& random) {
  return random.chance(0.5) ? 1 : random.uniform(1, random.chance(0.8) ? 4 : 9);
}

// At least `least` words, a multiple of `unit` and at most `most`, which is one too.
Grid draw_grid(Random& random, std::int64_t least, std::int64_t most, std::int64_t unit) {
  Grid grid{draw_count(random), draw_count(random), 1};
  grid.run_words = ceil_div(least, grid.groups * grid.runs);
  while (grid.words() % unit != 0) ++grid.run_words;
  if (grid.words() > most) grid = {1, 1, round_up(least, unit)};
  return grid;
}

// A divisor of `value`.
std::int64_t draw_divisor(Random& random, std::int64_t value) {
  std::int64_t divisor = random.uniform(1, value);
  while (value % divisor != 0) --divisor;
  return divisor;
}

// The layout leaves the other half of an activation slot for addresses in front of the first word.
std::int64_t most_words(LoadMemory memory, const ArchConfig& arch) {
  return memory == LoadMemory::kActivation ? arch.act_slot_words() / 2 : arch.weight_slot_words();
}

Load parameter_load(const ArchConfig& arch) {
  Load load;
  load.memory = u32(static_cast<int>(LoadMemory::kParameter));
  load.run_bytes = u32(arch.param_block_bytes());
  load.runs = load.groups = 1;
  return load;
}

}  // namespace

Load table_load() {
  Load load;
  load.memory = u32(static_cast<int>(LoadMemory::kTable));
  load.run_bytes = u32(kTableBytes);
  load.runs = load.groups = 1;
  return load;
}

void cut_turn_loads(Random& random, LoadMemory memory, const ArchConfig& arch,
                    std::int64_t most_pieces, std::vector<bool>& used, std::int64_t& words,
                    std::vector<Load>& loads) {
  if (memory == LoadMemory::kParameter) {
    loads.push_back(parameter_load(arch));
    return;
  }
  const bool is_act = memory == LoadMemory::kActivation;
  const std::int64_t split = is_act ? arch.block_channels() / arch.array_rows : 1;
  const std::int64_t word_bytes = is_act ? arch.array_rows : arch.weight_word_bytes();
  const std::int64_t limit = most_words(memory, arch);
  const std::int64_t pieces = random.uniform(1, most_pieces);
  std::int64_t at = 0;
  while (at < words) {
    const auto next = std::find(used.begin() + at, used.end(), true) - used.begin();
    const bool is_last = static_cast<std::int64_t>(loads.size()) + 1 >= pieces;
    const std::int64_t least = is_last ? words - at : random.uniform(next + 1 - at, words - at);
    const Grid grid = draw_grid(random, least, limit - at, split);
    Load load;
    load.memory = u32(static_cast<int>(memory));
    load.local_addr = u32(at);
    load.groups = u32(grid.groups);
    load.runs = u32(grid.runs);
    load.run_bytes = u32(grid.run_words * word_bytes);
    const std::int64_t pixels = grid.words() / split;
    if (is_act) {
      load.plane_words = u32(
          split > 1 ? draw_divisor(random, pixels)
                    : random.uniform(1, random.chance(0.5) ? pixels : max_of<Load>("plane_words")));
    }
    loads.push_back(load);
    at += grid.words();
  }
  words = at;
  for (std::size_t i = loads.size(); i > 1; --i) {
    std::swap(loads[i - 1],
              loads[static_cast<std::size_t>(random.uniform(0, static_cast<std::int64_t>(i) - 1))]);
  }
}

std::vector<TurnStore> cut_stores(Random& random, std::int64_t words, const ArchConfig& arch) {
  std::vector<TurnStore> parts;
  std::int64_t at = 0;
  while (at < words) {
    const std::int64_t left = words - at;
    Grid grid{draw_count(random), draw_count(random), 1};
    if (grid.words() > left || parts.size() >= 3) grid = {1, 1, 1};
    const std::int64_t most = left / grid.words();  // of a run, of all STOREs that share the rows
    std::int64_t pitch = random.chance(0.4) ? most : random.uniform(1, most);
    if (parts.size() >= 3) pitch = most;
    const std::int64_t first =
        pitch > 1 && random.chance(0.4) ? random.uniform(1, pitch - 1) : pitch;
    const bool runs_outside = random.chance(0.3);
    std::int64_t column = 0;
    for (const std::int64_t width : {first, pitch - first}) {
      if (width == 0) continue;
      Store store;
      store.groups = u32(grid.groups);
      store.runs = u32(grid.runs);
      store.run_bytes = u32(width * arch.array_cols);
      store.run_stride = u32((runs_outside ? grid.groups : 1) * pitch * arch.array_cols);
      store.group_stride = u32((runs_outside ? 1 : grid.runs) * pitch * arch.array_cols);
      store.out_addr = u32(at + column * grid.words());
      parts.push_back({store, at + column});
      column += width;
    }
    at += grid.words() * pitch;
  }
  if (random.chance(0.3)) std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace qsim
