#include "report/analysis/resident_bytes.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "core/machine/dram_channel.h"
#include "core/machine/isa/post_words.h"

namespace qsim::report {
namespace {

// Words [begin, end) of a memory.
struct Words {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Where a LOAD of activations puts its words: see deinterleave() in core/machine/isa/commands.h.
// The words of its last pixels, where they fill no plane, are in one piece a plane.
std::vector<Words> activation_words(const Load& load, const ArchConfig& arch) {
  const auto words = static_cast<std::int64_t>(dram_transfer(load, arch).bytes) / arch.array_rows;
  const std::int64_t planes = arch.block_channels() / arch.array_rows;
  const auto plane_words = static_cast<std::int64_t>(load.plane_words);
  if (planes == 1) return {{load.local_addr, load.local_addr + words}};
  const std::int64_t whole = words / (planes * plane_words) * (planes * plane_words);
  const std::int64_t rest = (words - whole) / planes;
  std::vector<Words> result = {{load.local_addr, load.local_addr + whole}};
  for (std::int64_t p = 0; p < planes; ++p) {
    const std::int64_t begin = load.local_addr + whole + p * plane_words;
    result.push_back({begin, begin + rest});
  }
  return result;
}

// The resident rows, or columns, that an EXECUTE reads.
Words window(std::int64_t origin, std::int64_t outputs, std::int64_t stride, std::int64_t kernel,
             std::int64_t resident) {
  return {std::max<std::int64_t>(0, origin),
          std::min(resident, origin + (outputs - 1) * stride + kernel)};
}

std::vector<Words> activation_words(const Execute& e) {
  const Words rows = window(e.origin_row, e.out_rows, e.stride_h, e.kernel_h, e.in_rows);
  const Words cols = window(e.origin_col, e.out_cols, e.stride_w, e.kernel_w, e.in_cols);
  std::vector<Words> result;
  if (rows.begin >= rows.end || cols.begin >= cols.end) return result;
  const std::int64_t first = rows.begin * e.act_row_words + cols.begin;
  const std::int64_t end = (rows.end - 1) * e.act_row_words + cols.end;
  for (std::int64_t p = 0; p < e.planes; ++p) {
    const std::int64_t plane = std::int64_t{e.act_addr} + p * e.act_plane_words;
    result.push_back({plane + first, plane + end});
  }
  return result;
}

Words weight_words(const Execute& e, const ArchConfig& arch) {
  const std::int64_t folds = std::int64_t{e.planes} * e.kernel_h * e.kernel_w;
  return {e.weight_addr, e.weight_addr + folds * e.blocks * arch.fold_words()};
}

Words psum_words(const ArchConfig& arch, std::uint32_t half, std::uint32_t address,
                 std::int64_t words) {
  const std::int64_t begin = half * arch.accumulator_half_words() + address;
  return {begin, begin + words};
}

// What a command does with one memory.
struct Access {
  std::vector<Words> words;
  bool writes = false;
  bool keeps = false;  // a write that goes on with the words that are there
};

// No words where it does nothing with it.
Access access_of(const Command& command, OnChipMemory memory, const ArchConfig& arch) {
  if (const auto* load = std::get_if<Load>(&command.fields)) {
    const auto to = static_cast<LoadMemory>(load->memory);
    if (memory == OnChipMemory::kActivation && to == LoadMemory::kActivation) {
      return {activation_words(*load, arch), true};
    }
    if (memory != OnChipMemory::kWeight || to != LoadMemory::kWeight) return {};
    const auto words =
        static_cast<std::int64_t>(dram_transfer(*load, arch).bytes) / arch.weight_word_bytes();
    return {{{load->local_addr, load->local_addr + words}}, true};
  }
  if (const auto* e = std::get_if<Execute>(&command.fields)) {
    if (memory == OnChipMemory::kActivation) return {activation_words(*e)};
    if (memory == OnChipMemory::kWeight) return {{weight_words(*e, arch)}};
    if (memory != OnChipMemory::kAccumulator) return {};
    const std::int64_t words = std::int64_t{e->out_rows} * e->out_cols * e->blocks;
    return {{psum_words(arch, e->acc_half, e->acc_addr, words)}, true, e->accumulate == 1};
  }
  if (const auto* post = std::get_if<Post>(&command.fields)) {
    if (memory == OnChipMemory::kAccumulator) {
      return {{psum_words(arch, post->acc_half, post->acc_addr, psum_words(*post))}};
    }
    if (memory != OnChipMemory::kOutput) return {};
    return {{{post->out_addr, post->out_addr + std::int64_t{post->out_rows} * post->out_cols}},
            true};
  }
  const auto& store = std::get<Store>(command.fields);
  if (memory != OnChipMemory::kOutput) return {};
  const auto words = static_cast<std::int64_t>(dram_transfer(store, arch).bytes) / arch.array_cols;
  return {{{store.out_addr, store.out_addr + words}}};
}

// The words in use, as pieces of one history, and the changes of their number.
class UsedWords {
 public:
  void read(const Words& words, std::uint64_t free) {
    for_each_piece(words, [&](Piece& piece) { piece.until = std::max(piece.until, free); });
  }

  void write(const Words& words, std::uint64_t start, std::uint64_t free) {
    const auto first = cut_out(words);
    end_use(first, pieces_.lower_bound(words.end));
    begin_use(words, start, free);
  }

  // Goes on with the use of words that are in use; begins the use of the others.
  void keep_or_write(const Words& words, std::uint64_t start, std::uint64_t free) {
    std::int64_t next = words.begin;
    std::vector<Words> gaps;
    const auto keep = [&](std::int64_t begin, Piece& piece) {
      if (begin > next) gaps.push_back({next, begin});
      piece.until = std::max(piece.until, free);
      next = piece.end;
    };
    for (auto it = cut_out(words); it != pieces_.lower_bound(words.end); ++it) {
      keep(it->first, it->second);
    }
    if (next < words.end) gaps.push_back({next, words.end});
    for (const Words& gap : gaps) begin_use(gap, start, free);
  }

  std::map<std::uint64_t, std::int64_t> take_changes() {
    end_use(pieces_.begin(), pieces_.end());
    return std::move(changes_);
  }

 private:
  struct Piece {
    std::int64_t end = 0;
    std::uint64_t until = 0;
  };
  using Pieces = std::map<std::int64_t, Piece>;  // by their first words

  void cut(std::int64_t at) {
    auto after = pieces_.upper_bound(at);
    if (after == pieces_.begin()) return;
    const auto piece = std::prev(after);
    if (piece->first == at || piece->second.end <= at) return;
    pieces_.emplace_hint(after, at, piece->second);
    piece->second.end = at;
  }

  // No piece is partly in `words` afterwards. The first that is.
  Pieces::iterator cut_out(const Words& words) {
    cut(words.begin);
    cut(words.end);
    return pieces_.lower_bound(words.begin);
  }

  template <typename Visit>
  void for_each_piece(const Words& words, Visit visit) {
    for (auto it = cut_out(words); it != pieces_.end() && it->first < words.end; ++it) {
      visit(it->second);
    }
  }

  void begin_use(const Words& words, std::uint64_t start, std::uint64_t free) {
    if (words.begin >= words.end) return;
    pieces_[words.begin] = {words.end, free};
    changes_[start] += words.end - words.begin;
  }

  void end_use(Pieces::iterator first, Pieces::iterator last) {
    for (auto it = first; it != last; ++it)
      changes_[it->second.until] -= it->second.end - it->first;
    pieces_.erase(first, last);
  }

  Pieces pieces_;
  std::map<std::uint64_t, std::int64_t> changes_;  // in words, by cycle
};

struct UnitPlace {
  std::size_t unit = 0;
  std::size_t next = 0;
};

std::int64_t word_bytes(OnChipMemory memory, const ArchConfig& arch) {
  switch (memory) {
    case OnChipMemory::kActivation:
      return arch.array_rows;
    case OnChipMemory::kWeight:
      return arch.weight_word_bytes();
    case OnChipMemory::kAccumulator:
      return 4 * arch.array_cols;
    case OnChipMemory::kOutput:
      break;
  }
  return arch.array_cols;
}

// The unit that writes a memory, and the one that reads it, which is the next.
std::size_t writer_of(OnChipMemory memory) {
  const bool is_loaded = memory == OnChipMemory::kActivation || memory == OnChipMemory::kWeight;
  const Unit unit = is_loaded                              ? Unit::kLoad
                    : memory == OnChipMemory::kAccumulator ? Unit::kExecute
                                                           : Unit::kPost;
  return static_cast<std::size_t>(unit);
}

void apply(const Access& access, const CommandTime& time, UsedWords& used) {
  for (const Words& words : access.words) {
    if (!access.writes) {
      used.read(words, time.free);
    } else if (access.keeps) {
      used.keep_or_write(words, time.start, time.free);
    } else {
      used.write(words, time.start, time.free);
    }
  }
}

}  // namespace

std::vector<ResidentLevel> resident_bytes(const Program& program, const CommandTimes& times,
                                          OnChipMemory memory) {
  UsedWords used;
  std::array<UnitPlace, 2> places = {UnitPlace{writer_of(memory)},
                                     UnitPlace{writer_of(memory) + 1}};
  // In the order of their starts; the reader comes first where two start together, since what it
  // reads was written before.
  const auto start_of = [&](const UnitPlace& place) {
    return place.next < times[place.unit].size() ? times[place.unit][place.next].start : UINT64_MAX;
  };
  for (;;) {
    UnitPlace& place = start_of(places[1]) <= start_of(places[0]) ? places[1] : places[0];
    if (start_of(place) == UINT64_MAX) break;
    apply(access_of(program.streams[place.unit].command(place.next), memory, program.arch),
          times[place.unit][place.next], used);
    ++place.next;
  }
  std::vector<ResidentLevel> levels;
  std::int64_t level = 0;
  for (const auto& [cycle, change] : used.take_changes()) {
    if (change == 0) continue;
    level += change * word_bytes(memory, program.arch);
    levels.push_back({cycle, static_cast<std::uint64_t>(level)});
  }
  return levels;
}

}  // namespace qsim::report
