// A program whose commands a test changes in place, before it becomes a Program again:
//
//   ProgramDraft draft(sample::program());
//   draft.fields<Load>(0).runs = 0;
//   verify(draft.program(), arch);
//
// A draft is no Program: what takes one gets draft.program(), never the commands as they were.
#pragma once

#include <array>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/machine/program.h"

namespace qsim {

class ProgramDraft : private Program {
 public:
  explicit ProgramDraft(Program from) : Program(std::move(from)) {
    for (std::size_t u = 0; u < kUnits; ++u) {
      for (const Instruction& instruction : Program::streams[u]) {
        streams_[u].push_back(instruction);
      }
    }
    Program::streams = {};
  }

  using Program::arch;
  using Program::input;
  using Program::layers;
  using Program::name;
  using Program::segments;
  using Program::semaphores;
  using Program::writable_bytes;

  // Indexed by Unit.
  std::array<std::vector<Instruction>, kUnits>& streams() { return streams_; }
  std::vector<Instruction>& stream(Unit unit) { return streams_[static_cast<std::size_t>(unit)]; }
  const std::vector<Instruction>& stream(Unit unit) const {
    return streams_[static_cast<std::size_t>(unit)];
  }
  Command& command(Unit unit, std::size_t index) { return stream(unit)[index].command; }
  // The fields of command `index` of the unit that takes commands of type Fields.
  template <typename Fields>
  Fields& fields(std::size_t index) {
    return std::get<Fields>(command(Command{0, 0, Fields{}}.unit(), index).fields);
  }

  // The program with the streams as they are now. Throws what CommandStreams::append throws, and
  // std::logic_error for a command of another unit than its stream's, which no program can have.
  Program program() const {
    Program made = static_cast<const Program&>(*this);
    for (std::size_t u = 0; u < kUnits; ++u) {
      for (const Instruction& instruction : streams_[u]) {
        if (static_cast<std::size_t>(instruction.command.unit()) != u) {
          throw std::logic_error("a draft with a command of another unit in a stream");
        }
        made.streams.append(instruction.command, instruction.origin);
      }
    }
    return made;
  }

 private:
  std::array<std::vector<Instruction>, kUnits> streams_;
};

static_assert(!std::is_convertible_v<ProgramDraft&, const Program&>);
static_assert(!std::is_constructible_v<Program, const ProgramDraft&>);

}  // namespace qsim
