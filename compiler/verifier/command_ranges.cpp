#include "compiler/verifier/command_ranges.h"

#include <algorithm>
#include <limits>
#include <string>

#include "compiler/verifier/for_each_command.h"
#include "core/base/checked_math.h"

namespace qsim::compiler::verifier {
namespace {

// Positions first..last, both included; empty when last < first.
struct Span {
  std::int64_t first = 0;
  std::int64_t last = -1;
  bool empty() const { return last < first; }
};

// Positions first..last, `words` apart.
struct Walk {
  std::int64_t first;
  std::int64_t last;
  std::int64_t words;
  std::int64_t steps() const { return last - first + 1; }
};

// The first and the last position in [0, size) under a window that slides `outputs` times.
Span covered(std::int64_t outputs, std::int64_t kernel, std::int64_t stride, std::int64_t origin,
             std::int64_t size) {
  if (stride <= kernel) {  // the window leaves no position out
    return {std::max<std::int64_t>(0, origin),
            std::min(size, origin + (outputs - 1) * stride + kernel) - 1};
  }
  Span span{size, -1};
  for (std::int64_t k = 0; k < kernel; ++k) {
    const std::int64_t at = k + origin;  // for output 0
    const std::int64_t first = at >= 0 ? 0 : ceil_div(-at, stride);
    if (at + first * stride >= size || first >= outputs) continue;
    const std::int64_t last = std::min(outputs - 1, (size - 1 - at) / stride);
    span.first = std::min(span.first, at + first * stride);
    span.last = std::max(span.last, at + last * stride);
  }
  return span;
}

// Appends [begin, end), joined to the last range where they touch.
void append(std::vector<WordRange>& ranges, Memory memory, std::int64_t begin, std::int64_t end) {
  if (!ranges.empty() && ranges.back().memory == memory && ranges.back().end == begin) {
    ranges.back().end = end;
  } else {
    ranges.push_back({memory, begin, end});
  }
}

// Appends the activation words [begin, begin + count) at every position of two walks. What leaves
// the memory, or reads more ranges than it has words, is one range from the first word to the last:
// no sensible program does, and following it could take millions of steps.
void append_walk(std::vector<WordRange>& ranges, std::int64_t begin, std::int64_t count,
                 const Walk& planes, const Walk& lines, std::int64_t memory_words) {
  const std::int64_t first = begin + planes.first * planes.words + lines.first * lines.words;
  const std::int64_t end = begin + planes.last * planes.words + lines.last * lines.words + count;
  if (end > memory_words || planes.steps() * lines.steps() > memory_words) {
    return append(ranges, Memory::kActivation, first, end);
  }
  // The longer stride outside, so that neighbouring words join: at once where each walk's do.
  const bool planes_outside = planes.words >= lines.words;
  Walk outer = planes_outside ? planes : lines;
  Walk inner = planes_outside ? lines : planes;
  if (inner.words == count) {
    count *= inner.steps();
    inner.last = inner.first;
  }
  if (inner.first == inner.last && outer.words == count) {
    count *= outer.steps();
    outer.last = outer.first;
  }
  for (std::int64_t i = outer.first; i <= outer.last; ++i) {
    for (std::int64_t j = inner.first; j <= inner.last; ++j) {
      const std::int64_t at = begin + i * outer.words + j * inner.words;
      append(ranges, Memory::kActivation, at, at + count);
    }
  }
}

template <typename Transfer>
std::int64_t transfer_bytes(const Transfer& c) {
  return std::int64_t{c.groups} * c.runs * c.run_bytes;  // at most 52 bits
}

// "" when the transfer moves whole words and planes.
std::string shape_fault(const Load& c, const ArchConfig& arch) {
  const std::int64_t bytes = transfer_bytes(c);
  if (c.memory == static_cast<std::uint32_t>(LoadMemory::kParameter) ||
      c.memory == static_cast<std::uint32_t>(LoadMemory::kTable)) {
    const bool is_table = c.memory == static_cast<std::uint32_t>(LoadMemory::kTable);
    const std::string what = is_table ? "a table" : "parameters";
    const std::int64_t slot_bytes = is_table ? kTableBytes : arch.param_block_bytes();
    if (c.groups != 1 || c.runs != 1) {
      return "loads " + what + " in " + std::to_string(c.groups) + " groups of " +
             std::to_string(c.runs) + " runs; " + (is_table ? "it is" : "they are") + " one run";
    }
    if (bytes == slot_bytes) return "";
    return "loads " + std::to_string(bytes) + " bytes of " + what + "; a slot takes " +
           std::to_string(slot_bytes);
  }
  const bool is_act = c.memory == static_cast<std::uint32_t>(LoadMemory::kActivation);
  const std::int64_t word_bytes = is_act ? arch.array_rows : arch.weight_word_bytes();
  if (c.run_bytes % word_bytes != 0) {
    return "run_bytes is " + std::to_string(c.run_bytes) + "; a multiple of the word's " +
           std::to_string(word_bytes) + " bytes is needed";
  }
  const std::int64_t planes_of_pixel = arch.block_channels() / arch.array_rows;
  const std::int64_t group = planes_of_pixel * c.plane_words;
  if (!is_act || planes_of_pixel == 1 || bytes / word_bytes % group == 0) return "";
  return "loads " + std::to_string(bytes / word_bytes) + " words; a multiple of " +
         std::to_string(group) + " is needed to fill its planes";
}

std::string shape_fault(const Store& c, const ArchConfig& arch) {
  if (c.run_bytes % arch.array_cols == 0) return "";
  return "run_bytes is " + std::to_string(c.run_bytes) + "; a multiple of the word's " +
         std::to_string(arch.array_cols) + " bytes is needed";
}

std::string shape_fault(const Execute&, const ArchConfig&) { return ""; }
std::string shape_fault(const Post&, const ArchConfig&) { return ""; }

// Accumulator words of all blocks; they follow one another.
std::int64_t psum_words(const Execute& c) {
  return std::int64_t{c.blocks} * c.out_rows * c.out_cols;
}

// Words of an accumulator half that a command's psums end at; 0 when it has none.
std::int64_t psums_end(const Execute& c) { return c.acc_addr + psum_words(c); }
std::int64_t psums_end(const Post& c) {
  const std::int64_t first = c.add != 0 ? std::max(c.acc_addr, c.second_addr) : c.acc_addr;
  const Span rows = covered(c.out_rows, c.pool_h, c.pool_stride_h, c.origin_row, c.in_rows);
  const Span cols = covered(c.out_cols, c.pool_w, c.pool_stride_w, c.origin_col, c.in_cols);
  return rows.empty() || cols.empty() ? 0 : first + rows.last * c.in_cols + cols.last + 1;
}
std::int64_t psums_end(const Load&) { return 0; }
std::int64_t psums_end(const Store&) { return 0; }

class RangeCheck {
 public:
  RangeCheck(const ArchConfig& arch, Violations& violations)
      : arch_(arch), violations_(violations), traits_(memory_traits(arch)), accesses_(arch) {}

  template <typename Fields>
  void command(Unit unit, std::size_t index, const Fields& fields) {
    const std::string fault = shape_fault(fields, arch_);
    if (!fault.empty()) violations_.add(unit, index, fault);
    check_half(unit, index, psums_end(fields));
    const LocalAccess& access = accesses_.of(fields);
    check_parts(unit, index, access.reads);
    check_parts(unit, index, access.writes);
    check_parts(unit, index, access.addressed);
  }

 private:
  // Whether the words of each memory that a list of ranges spans lie within it, and within one of
  // its parts where these are fixed.
  void check_parts(Unit unit, std::size_t index, const std::vector<WordRange>& ranges) {
    if (ranges.empty()) return;
    std::array<std::int64_t, kMemories> begins;
    std::array<std::int64_t, kMemories> ends{};
    std::array<bool, kMemories> in_part;
    in_part.fill(true);
    begins.fill(std::numeric_limits<std::int64_t>::max());
    for (const WordRange& range : ranges) {
      const auto m = static_cast<std::size_t>(range.memory);
      begins[m] = std::min(begins[m], range.begin);
      ends[m] = std::max(ends[m], range.end);
      const std::int64_t part_words = traits_[m].part_words;
      const bool fits = range.begin / part_words == (range.end - 1) / part_words;
      in_part[m] = in_part[m] && (fits || !traits_[m].has_fixed_parts);
    }
    for (std::size_t m = 0; m < kMemories; ++m) {
      const MemoryTraits& memory = traits_[m];
      if (ends[m] == 0) continue;
      if (ends[m] <= memory.words && in_part[m]) continue;
      const std::string words = "words " + std::to_string(begins[m]) + ".." +
                                std::to_string(ends[m]) + " of the " + memory.name;
      violations_.add(unit, index,
                      in_part[m] ? words + ", which has " + std::to_string(memory.words)
                                 : words + " are not in one of its parts of " +
                                       std::to_string(memory.part_words));
    }
  }

  // Checked apart, for an address beyond the half would seem to lie in the next.
  void check_half(Unit unit, std::size_t index, std::int64_t end) {
    const std::int64_t words = traits_[static_cast<std::size_t>(Memory::kAccumulator)].part_words;
    if (end <= words) return;
    violations_.add(unit, index,
                    "its psums end at word " + std::to_string(end) +
                        " of an accumulator half; it has " + std::to_string(words));
  }

  const ArchConfig& arch_;
  Violations& violations_;
  std::array<MemoryTraits, kMemories> traits_;
  LocalAccesses accesses_;
};

}  // namespace

std::array<MemoryTraits, kMemories> memory_traits(const ArchConfig& arch) {
  return {
      {{"activation scratchpad", Unit::kLoad, Unit::kExecute, arch.act_words(),
        arch.act_slot_words(), false},
       {"weight scratchpad", Unit::kLoad, Unit::kExecute, arch.weight_words(),
        arch.weight_slot_words(), false},
       {"parameter memory", Unit::kLoad, Unit::kPost, kParamSlots, 1, true},
       {"accumulator", Unit::kExecute, Unit::kPost,
        kAccumulatorHalves * arch.accumulator_half_words(), arch.accumulator_half_words(), true},
       {"output scratchpad", Unit::kPost, Unit::kStore, arch.output_words(),
        arch.output_half_words(), false},
       {"table memory", Unit::kLoad, Unit::kPost, kParamSlots, 1, true}}};
}

LocalAccesses::LocalAccesses(const ArchConfig& arch)
    : rows_(arch.array_rows),
      cols_(arch.array_cols),
      weight_word_bytes_(arch.weight_word_bytes()),
      fold_words_(arch.fold_words()),
      act_words_(arch.act_words()),
      half_words_(arch.accumulator_half_words()) {}

LocalAccess& LocalAccesses::begin() {
  access_.reads.clear();
  access_.writes.clear();
  access_.addressed.clear();
  return access_;
}

const LocalAccess& LocalAccesses::of(const Load& c) {
  LocalAccess& access = begin();
  const std::int64_t begin = c.local_addr;
  switch (static_cast<LoadMemory>(c.memory)) {
    case LoadMemory::kActivation:
      access.writes.push_back({Memory::kActivation, begin, begin + transfer_bytes(c) / rows_});
      break;
    case LoadMemory::kWeight:
      access.writes.push_back(
          {Memory::kWeight, begin, begin + transfer_bytes(c) / weight_word_bytes_});
      break;
    case LoadMemory::kParameter:
    case LoadMemory::kTable:
      access.writes.push_back({memory_of(static_cast<LoadMemory>(c.memory)), begin, begin + 1});
      break;
  }
  return access;
}

const LocalAccess& LocalAccesses::of(const Execute& c) {
  LocalAccess& access = begin();
  const Span rows = covered(c.out_rows, c.kernel_h, c.stride_h, c.origin_row, c.in_rows);
  const Span cols = covered(c.out_cols, c.kernel_w, c.stride_w, c.origin_col, c.in_cols);
  if (!rows.empty() && !cols.empty()) {
    const Walk planes = {0, std::int64_t{c.planes} - 1, c.act_plane_words};
    const Walk lines = {rows.first, rows.last, c.act_row_words};
    append_walk(access.reads, c.act_addr + cols.first, cols.last + 1 - cols.first, planes, lines,
                act_words_);
  }
  if (access.reads.empty()) {
    access.addressed.push_back({Memory::kActivation, c.act_addr, c.act_addr + std::int64_t{1}});
  }
  const std::int64_t folds = std::int64_t{c.planes} * c.kernel_h * c.kernel_w;
  access.reads.push_back(
      {Memory::kWeight, c.weight_addr, c.weight_addr + folds * c.blocks * fold_words_});
  const std::int64_t acc = c.acc_half * half_words_ + c.acc_addr;
  access.writes.push_back({Memory::kAccumulator, acc, acc + psum_words(c)});
  return access;
}

const LocalAccess& LocalAccesses::of(const Post& c) {
  LocalAccess& access = begin();
  const Span rows = covered(c.out_rows, c.pool_h, c.pool_stride_h, c.origin_row, c.in_rows);
  const Span cols = covered(c.out_cols, c.pool_w, c.pool_stride_w, c.origin_col, c.in_cols);
  // Two tiles are ranges of their own, even where one half ends with the first and the next begins
  // with the second.
  const auto read_tile = [&](std::int64_t tile) {
    const std::size_t before = access.reads.size();
    for (std::int64_t row = rows.first; row <= rows.last && !cols.empty(); ++row) {
      const std::int64_t at = tile + row * c.in_cols;
      const WordRange line{Memory::kAccumulator, at + cols.first, at + cols.last + 1};
      if (access.reads.size() == before) {
        access.reads.push_back(line);
      } else {
        append(access.reads, line.memory, line.begin, line.end);
      }
    }
  };
  read_tile(c.acc_half * half_words_ + c.acc_addr);
  if (c.add != 0) read_tile(c.second_half * half_words_ + c.second_addr);
  access.reads.push_back({Memory::kParameter, c.param_slot, c.param_slot + std::int64_t{1}});
  if (c.lookup != 0) {
    access.reads.push_back({Memory::kTable, c.param_slot, c.param_slot + std::int64_t{1}});
  }
  access.writes.push_back(
      {Memory::kOutput, c.out_addr, c.out_addr + std::int64_t{c.out_rows} * c.out_cols});
  return access;
}

const LocalAccess& LocalAccesses::of(const Store& c) {
  LocalAccess& access = begin();
  access.reads.push_back({Memory::kOutput, c.out_addr, c.out_addr + transfer_bytes(c) / cols_});
  return access;
}

void check_ranges(const Program& program, Violations& violations) {
  RangeCheck check(program.arch, violations);
  for_each_command(program, [&](Unit unit, std::size_t index, const auto& fields) {
    check.command(unit, index, fields);
  });
}

}  // namespace qsim::compiler::verifier
