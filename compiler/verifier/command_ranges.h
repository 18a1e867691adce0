// Which on-chip words a command reads and writes, and that they lie within one memory or half.
#pragma once

#include <array>
#include <vector>

#include "compiler/verifier/violations.h"

namespace qsim::compiler::verifier {

enum class Memory : std::uint8_t {
  kActivation,
  kWeight,
  kParameter,
  kAccumulator,
  kOutput,
  kTable
};
inline constexpr std::size_t kMemories = 6;

// The memory that a LOAD fills.
constexpr Memory memory_of(LoadMemory memory) {
  return memory == LoadMemory::kTable ? Memory::kTable : static_cast<Memory>(memory);
}
static_assert(memory_of(LoadMemory::kActivation) == Memory::kActivation);
static_assert(memory_of(LoadMemory::kWeight) == Memory::kWeight);
static_assert(memory_of(LoadMemory::kParameter) == Memory::kParameter);

// A memory has one writing and one reading unit. `part_words` is a slot or half of the
// configuration. The halves of the accumulator are memories of their own, which a command cannot
// leave, and so are the slots of parameters and tables. A program may divide the other memories
// otherwise. Words of both accumulator halves are numbered on, and such a slot counts as one word.
struct MemoryTraits {
  const char* name;
  Unit writer;
  Unit reader;
  std::int64_t words;
  std::int64_t part_words;
  bool has_fixed_parts;
};

std::array<MemoryTraits, kMemories> memory_traits(const ArchConfig& arch);

// Words [begin, end).
struct WordRange {
  Memory memory;
  std::int64_t begin;
  std::int64_t end;
};

struct LocalAccess {
  std::vector<WordRange> reads;
  std::vector<WordRange> writes;  // for EXECUTE with accumulate: read, then written
  // Where an EXECUTE that sees nothing but pad would have read: its LOAD was not in vain.
  std::vector<WordRange> addressed;
};

// The accesses of one command after the other, in memory that is used again: programs have up to
// half a million commands. Precondition: the fields satisfy check_fields(). What of() returns is
// valid until the next call.
class LocalAccesses {
 public:
  explicit LocalAccesses(const ArchConfig& arch);

  const LocalAccess& of(const Load& c);
  const LocalAccess& of(const Execute& c);
  const LocalAccess& of(const Post& c);
  const LocalAccess& of(const Store& c);

 private:
  LocalAccess& begin();  // with nothing in it

  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t weight_word_bytes_;
  std::int64_t fold_words_;
  std::int64_t act_words_;
  std::int64_t half_words_;
  LocalAccess access_;
};

// Reports a command that leaves a memory or a half, or moves parts of words or of planes.
void check_ranges(const Program& program, Violations& violations);

}  // namespace qsim::compiler::verifier
