#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "compiler/verifier/checks.h"
#include "compiler/verifier/command_ranges.h"
#include "core/base/bit_set.h"
#include "core/machine/program_text.h"

namespace qsim::compiler::verifier {
namespace {

// The words of one on-chip memory with the commands that wrote and read them last.

inline constexpr std::uint32_t kNobody = static_cast<std::uint32_t>(-1);

// Words with one history. Earlier accesses need no record: commands are done in order, and whoever
// comes after the last ones comes after those.
struct Cell {
  std::int32_t end;
  std::uint32_t writer;  // command of the memory's writing unit
  std::uint32_t reader;  // last command of its reading unit since that write
  bool handed_back;      // other words of its turn have been written anew since
};

// One memory as adjoining cells, cut where accesses begin and end. A cell is kept at the number of
// its first word, so it is found without a search; only what is used of cells_ takes memory.
class CellMap {
 public:
  explicit CellMap(std::int64_t words)
      : begins_(static_cast<std::size_t>(words)),
        cells_(std::make_unique_for_overwrite<Cell[]>(begins_.size())) {
    begins_.set(0);
    cells_[0] = {static_cast<std::int32_t>(words), kNobody, kNobody, false};
  }

  // Calls visit(cell) for cells that cover exactly [begin, end).
  template <typename Visit>
  void for_each(std::int64_t begin, std::int64_t end, Visit visit) {
    cut(end);
    cut(begin);
    for (std::int64_t word = begin; word < end; word = at(word).end) visit(at(word));
  }

  // Whether any cell within [begin, end) has been read in the present turn: what an earlier turn
  // left there was read in that one.
  bool is_read(std::int64_t begin, std::int64_t end) {
    cut(end);
    cut(begin);
    for (std::int64_t word = begin; word < end; word = at(word).end) {
      if (at(word).reader != kNobody && !at(word).handed_back) return true;
    }
    return false;
  }

  // Makes [begin, end) one cell, written by `writer` and read by nobody.
  void write(std::int64_t begin, std::int64_t end, std::uint32_t writer) {
    cut(end);
    cut(begin);
    begins_.clear(static_cast<std::size_t>(begin) + 1, static_cast<std::size_t>(end));
    at(begin) = {static_cast<std::int32_t>(end), writer, kNobody, false};
  }

 private:
  Cell& at(std::int64_t word) { return cells_[static_cast<std::size_t>(word)]; }

  // Makes a cell begin at `word`, which may be the end of the last.
  void cut(std::int64_t word) {
    const auto begin = static_cast<std::size_t>(word);
    if (begin == begins_.size() || begins_[begin]) return;
    Cell& cell = cells_[begins_.last_set(begin)];
    cells_[begin] = cell;
    cell.end = static_cast<std::int32_t>(word);
    begins_.set(begin);
  }

  BitSet begins_;  // the words that a cell begins at
  std::unique_ptr<Cell[]> cells_;
};

class HazardCheck {
 public:
  HazardCheck(const Program& program, const TokenOrder& order, Violations& violations)
      : program_(program),
        order_(order),
        violations_(violations),
        traits_(memory_traits(program.arch)),
        accesses_(program.arch) {
    for (std::size_t m = 0; m < kMemories; ++m) {
      cells_.emplace_back(traits_[m].words);
      const std::size_t writers = program.stream(traits_[m].writer).size();
      was_read_[m].resize(writers);
      if (!traits_[m].has_fixed_parts) was_written_[m].resize(writers);
    }
  }

  void run() {
    order_.for_each_in_order([this](CommandRef command) {
      switch (command.unit) {
        case Unit::kLoad:
          return step(command, fields<Load>(command));
        case Unit::kExecute:
          return step(command, fields<Execute>(command));
        case Unit::kPost:
          return step(command, fields<Post>(command));
        case Unit::kStore:
          return step(command, fields<Store>(command));
      }
    });
    for (std::size_t m = 0; m < kMemories; ++m) check_all_read(static_cast<Memory>(m));
  }

 private:
  template <typename Fields>
  Fields fields(CommandRef command) const {
    return program_.stream(command.unit).fields<Fields>(command.index);
  }

  template <typename Fields>
  void step(CommandRef command, const Fields& fields) {
    bool accumulates = false;
    if constexpr (std::is_same_v<Fields, Execute>) accumulates = fields.accumulate != 0;
    const LocalAccess& access = accesses_.of(fields);
    reported_ = false;
    layer_ = layer_of(command.unit, command.index);
    for (const WordRange& range : access.reads) read(command, range);
    for (const WordRange& range : access.addressed) mark_used(range);
    for (const WordRange& range : access.writes) write(command, range, accumulates);
  }

  const MemoryTraits& traits(Memory memory) const {
    return traits_[static_cast<std::size_t>(memory)];
  }

  // The first fault of a command is reported; more would repeat it for other words.
  void fault(CommandRef command, const WordRange& range, const std::string& text) {
    if (reported_) return;
    reported_ = true;
    violations_.add(command.unit, command.index,
                    std::string("words ") + std::to_string(range.begin) + ".." +
                        std::to_string(range.end) + " of the " + traits(range.memory).name + ": " +
                        text);
  }

  // Every word of the output scratchpad must be stored. Words of the other memories may stay
  // unread: channels of another chunk, columns that a stride skips, psums that pooling drops.
  static bool is_strict(Memory memory) { return memory == Memory::kOutput; }

  std::string label(Unit unit, std::size_t index) const {
    return command_label(program_, unit, index);
  }

  // A half has one port to read and one to write, so EXECUTE and POST hand over all of it: whoever
  // comes to a half knows that the other unit is done with it.
  void enter_part(CommandRef command, const WordRange& range, bool writes) {
    if (range.memory != Memory::kAccumulator) return;
    const MemoryTraits& t = traits(range.memory);
    Half& half = halves_[static_cast<std::size_t>(range.begin / t.part_words)];
    const std::uint32_t other = writes ? half.last_reader : half.last_writer;
    const CommandRef before = {writes ? t.reader : t.writer, other};
    (writes ? half.last_writer : half.last_reader) = static_cast<std::uint32_t>(command.index);
    if (other == kNobody || order_.known_done(before, command)) return;
    fault(command, range,
          "works in the half of " + label(before.unit, before.index) +
              ", which is not known to be done");
  }

  void read(CommandRef command, const WordRange& range) {
    const Unit writer = traits(range.memory).writer;
    auto& was_read = was_read_[static_cast<std::size_t>(range.memory)];
    cells_[static_cast<std::size_t>(range.memory)].for_each(
        range.begin, range.end, [&](Cell& cell) {
          cell.reader = static_cast<std::uint32_t>(command.index);
          if (cell.writer == kNobody) return fault(command, range, "reads words never written");
          was_read[cell.writer] = true;
          if (cell.handed_back) {
            return fault(command, range,
                         "reads what " + label(writer, cell.writer) +
                             " wrote before the slot was handed back");
          }
          if (!order_.known_done({writer, cell.writer}, command)) {
            fault(command, range,
                  "reads before " + label(writer, cell.writer) + " is known to be done");
          } else if (layer_of(writer, cell.writer) != layer_) {
            fault(command, range,
                  "reads what " + label(writer, cell.writer) + " wrote for another layer");
          }
        });
    enter_part(command, range, false);
  }

  std::int32_t layer_of(Unit unit, std::size_t index) const {
    return program_.stream(unit).origin(index).layer;
  }

  void write(CommandRef command, const WordRange& range, bool accumulates) {
    const MemoryTraits& t = traits(range.memory);
    CellMap& cells = cells_[static_cast<std::size_t>(range.memory)];
    cells.for_each(range.begin, range.end, [&](const Cell& cell) {
      if (cell.reader != kNobody && !order_.known_done({t.reader, cell.reader}, command)) {
        fault(command, range,
              "writes before " + label(t.reader, cell.reader) + " is known to be done");
      }
      if (accumulates) return check_accumulates(command, range, cell);
      if (cell.writer == kNobody || cell.reader != kNobody) return;
      if (is_strict(range.memory) ||
          !was_read_[static_cast<std::size_t>(range.memory)][cell.writer]) {
        fault(command, range,
              "overwrites what " + label(t.writer, cell.writer) + " wrote and nobody has read");
      }
    });
    enter_part(command, range, true);
    if (t.has_fixed_parts) {
      hand_back_part(cells, range.begin / t.part_words * t.part_words, t.part_words);
    } else {
      hand_back_writes(cells, range, was_written_[static_cast<std::size_t>(range.memory)]);
      was_written_[static_cast<std::size_t>(range.memory)][command.index] = range;
    }
    if (accumulates) mark_used(range);  // psums that are added to are not lost
    cells.write(range.begin, range.end, static_cast<std::uint32_t>(command.index));
  }

  // The first write after a read begins a new turn of a half: what else it holds is old.
  static void hand_back_part(CellMap& cells, std::int64_t begin, std::int64_t words) {
    if (!cells.is_read(begin, begin + words)) return;
    cells.for_each(begin, begin + words, [](Cell& cell) { cell.handed_back = true; });
  }

  // What a command wrote is old from the first word on that is written anew: a slot is handed back
  // as a whole.
  void hand_back_writes(CellMap& cells, const WordRange& range,
                        const std::vector<WordRange>& was_written) {
    old_writers_.clear();
    cells.for_each(range.begin, range.end, [&](const Cell& cell) {
      const bool is_new = old_writers_.empty() || old_writers_.back() != cell.writer;
      if (cell.writer != kNobody && !cell.handed_back && is_new)
        old_writers_.push_back(cell.writer);
    });
    for (const std::uint32_t writer : old_writers_) {
      const WordRange& written = was_written[writer];
      if (written.begin >= range.begin && written.end <= range.end) continue;
      cells.for_each(written.begin, written.end, [&](Cell& cell) {
        if (cell.writer == writer) cell.handed_back = true;
      });
    }
  }

  void check_accumulates(CommandRef command, const WordRange& range, const Cell& cell) {
    if (cell.writer == kNobody) {
      fault(command, range, "accumulates onto words never written");
    } else if (cell.reader != kNobody) {
      fault(command, range,
            "accumulates onto psums that " + label(Unit::kPost, cell.reader) + " has taken");
    } else if (cell.handed_back) {
      fault(command, range,
            "accumulates onto psums that " + label(Unit::kExecute, cell.writer) +
                " left before the half was handed back");
    } else if (layer_of(Unit::kExecute, cell.writer) != layer_) {
      fault(command, range,
            "accumulates onto psums of " + label(Unit::kExecute, cell.writer) +
                ", which works for another layer");
    }
  }

  void mark_used(const WordRange& range) {
    const auto m = static_cast<std::size_t>(range.memory);
    cells_[m].for_each(range.begin, range.end, [&](const Cell& cell) {
      if (cell.writer != kNobody) was_read_[m][cell.writer] = true;
    });
  }

  void check_all_read(Memory memory) {
    const auto m = static_cast<std::size_t>(memory);
    if (is_strict(memory)) {
      cells_[m].for_each(0, traits(memory).words, [&](const Cell& cell) {
        if (cell.writer != kNobody && cell.reader == kNobody) was_read_[m][cell.writer] = false;
      });
    }
    const CommandStream writers = program_.stream(traits(memory).writer);
    for (std::size_t i = 0; i < writers.size(); ++i) {
      if (was_read_[m][i]) continue;
      const Command command = writers.command(i);
      if (const auto* load = std::get_if<Load>(&command.fields)) {
        if (memory_of(static_cast<LoadMemory>(load->memory)) != memory) continue;
      }
      violations_.add(traits(memory).writer, i,
                      std::string("nobody reads what it writes to the ") + traits(memory).name);
    }
  }

  // The last commands that worked in an accumulator half.
  struct Half {
    std::uint32_t last_writer = kNobody;
    std::uint32_t last_reader = kNobody;
  };

  const Program& program_;
  const TokenOrder& order_;
  Violations& violations_;
  std::array<Half, kAccumulatorHalves> halves_;
  std::array<MemoryTraits, kMemories> traits_;
  LocalAccesses accesses_;
  std::vector<CellMap> cells_;
  std::array<std::vector<bool>, kMemories> was_read_;  // by command of the writing unit
  std::array<std::vector<WordRange>, kMemories>
      was_written_;  // likewise; where parts are not fixed
  std::vector<std::uint32_t> old_writers_;
  bool reported_ = false;   // of the present command
  std::int32_t layer_ = 0;  // of the present command
};

}  // namespace

void check_hazards(const Program& program, const TokenOrder& order, Violations& violations) {
  HazardCheck(program, order, violations).run();
}

}  // namespace qsim::compiler::verifier
