// Chooses the slot or half of each turn, the place in it, and so every address.
#include <algorithm>

#include "core/base/random.h"
#include "tests/rtl/programs/field_numbers.h"
#include "tests/rtl/programs/program_layout.h"
#include "tests/rtl/programs/turn_transfers.h"

namespace qsim {
namespace {

using compiler::verifier::Memory;

constexpr std::array<Memory, 3> kLoaded = {Memory::kActivation, Memory::kWeight,
                                           Memory::kParameter};

class Addresses {
 public:
  Addresses(const ProgramPlan& plan, ProgramLayout& layout)
      : plan_(plan), layout_(layout), traits_(compiler::verifier::memory_traits(plan.arch)) {}

  void set() {
    for (const Memory m : kLoaded) cut_loads(m);
    for (std::size_t m = 0; m < kTurnMemories; ++m) {
      for (std::size_t t = 0; t < layout_.turns[m].size(); ++t) choose_base(m, t);
    }
    add_bases();
  }

 private:
  void cut_loads(Memory m) {
    for (std::size_t t = 0; t < layout_.of(m).size(); ++t) {
      MemoryTurn& turn = layout_.of(m)[t];
      Random random(plan_.seed + 131 * t + number(m));
      cut_turn_loads(random, static_cast<LoadMemory>(m), plan_.arch, plan_.load_pieces, turn.used,
                     turn.words, turn.loads);
      if (turn.has_table) {
        turn.loads.push_back(table_load());
        if (random.chance(0.5)) std::swap(turn.loads.front(), turn.loads.back());
      }
      turn.last_writer = turn.loads.size() - 1;
    }
  }

  void choose_base(std::size_t m, std::size_t t) {
    MemoryTurn& turn = layout_.turns[m][t];
    const std::int64_t part_words = traits_[m].part_words;
    Random random(plan_.seed + 6151 * t + m);
    const std::int64_t low = turn.lead_words;
    const std::int64_t high = part_words - std::max(turn.words, turn.reach_words);
    const std::int64_t place = random.uniform(0, 9);
    // Psums of both halves at the same addresses: neither may be taken for the other.
    const bool is_acc = m == number(Memory::kAccumulator);
    const std::int64_t low_places = is_acc ? (plan_.back_to_back ? 10 : 5) : 1;
    std::int64_t in_part = random.uniform(low, high);
    if (place >= 8) in_part = high;
    if (place < low_places) in_part = low;
    turn.base = static_cast<std::int64_t>(turn.part) * part_words + in_part;
  }

  const MemoryTurn& turn_of(const PlacedCommand& placed, Memory m) const {
    return layout_.of(m)[placed.turn[number(m)]];
  }
  std::int64_t in_part(const PlacedCommand& placed, Memory m) const {
    return turn_of(placed, m).base % traits_[number(m)].part_words;
  }

  void add_bases() {
    for (PlacedCommand& placed : layout_.executes) {
      Execute& e = std::get<Execute>(placed.command.fields);
      e.act_addr += u32(turn_of(placed, Memory::kActivation).base);
      e.weight_addr += u32(turn_of(placed, Memory::kWeight).base);
      e.acc_half = u32(static_cast<std::int64_t>(turn_of(placed, Memory::kAccumulator).part));
      e.acc_addr += u32(in_part(placed, Memory::kAccumulator));
    }
    for (PlacedCommand& placed : layout_.posts) {
      Post& p = std::get<Post>(placed.command.fields);
      p.acc_half = u32(static_cast<std::int64_t>(turn_of(placed, Memory::kAccumulator).part));
      p.acc_addr += u32(in_part(placed, Memory::kAccumulator));
      if (p.add != 0) {
        const MemoryTurn& second = layout_.of(Memory::kAccumulator)[placed.second_turn];
        p.second_half = u32(static_cast<std::int64_t>(second.part));
        p.second_addr += u32(second.base % traits_[number(Memory::kAccumulator)].part_words);
      }
      p.param_slot = u32(turn_of(placed, Memory::kParameter).base);
      p.out_addr += u32(turn_of(placed, Memory::kOutput).base);
    }
    for (PlacedCommand& placed : layout_.stores) {
      Store& s = std::get<Store>(placed.command.fields);
      s.out_addr += u32(turn_of(placed, Memory::kOutput).base);
    }
    for (const Memory m : kLoaded) {
      for (MemoryTurn& turn : layout_.of(m)) {
        for (Load& load : turn.loads) load.local_addr += u32(turn.base);
      }
    }
  }

  const ProgramPlan& plan_;
  ProgramLayout& layout_;
  std::array<compiler::verifier::MemoryTraits, compiler::verifier::kMemories> traits_;
};

}  // namespace

void choose_part(const ProgramPlan& plan, std::size_t m, const std::vector<MemoryTurn>& turns,
                 MemoryTurn& turn) {
  const compiler::verifier::MemoryTraits traits = compiler::verifier::memory_traits(plan.arch)[m];
  const auto parts = static_cast<std::size_t>(traits.words / traits.part_words);
  const std::size_t in_flight = std::min(plan.flights[m].turns, parts);
  Random random(plan.seed + 7919 * turns.size() + m);
  std::vector<bool> busy(parts, false);
  for (std::size_t t = 0; t < turns.size(); ++t) {
    if (turns.size() - t < in_flight) busy[turns[t].part] = true;
  }
  do {
    turn.part = static_cast<std::size_t>(random.uniform(0, static_cast<std::int64_t>(parts) - 1));
  } while (busy[turn.part]);
}

void set_addresses(const ProgramPlan& plan, ProgramLayout& layout) {
  Addresses(plan, layout).set();
}

}  // namespace qsim
