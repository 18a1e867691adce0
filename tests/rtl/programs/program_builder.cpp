// From a plan to a program: an order that the tokens allow, and the tokens.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "compiler/verifier/verify.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "tests/core/program_draft.h"
#include "tests/rtl/programs/dram_plan.h"
#include "tests/rtl/programs/field_numbers.h"
#include "tests/rtl/programs/program_generator.h"
#include "tests/rtl/programs/program_layout.h"

namespace qsim {

using namespace compiler;
namespace {

// Semaphores that order what needs no order: more waits, other overlaps, the same bytes.

// Each command's position in an order of all commands that the tokens allow.
using CommandPositions = std::array<std::vector<std::size_t>, kUnits>;

// `count` numbers below `all`, ascending.
std::vector<std::size_t> draw_some(Random& random, std::size_t all, std::size_t count) {
  std::vector<std::size_t> numbers(all);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  while (numbers.size() > count) {
    const std::int64_t at = random.uniform(0, static_cast<std::int64_t>(numbers.size()) - 1);
    numbers.erase(numbers.begin() + at);
  }
  return numbers;
}

// Makes `semaphore`, unused so far, one between two random units, or within one, with a random
// initial value, random signals and as many random waits. It holds nobody up for good: each wait
// comes after the signal whose token it takes, in the order of `positions`.
void add_noise(std::uint64_t seed, std::size_t semaphore, const CommandPositions& positions,
               ProgramDraft& program) {
  constexpr int kAttempts = 8;
  Random random(seed);
  const auto producer = static_cast<std::size_t>(random.uniform(0, kUnits - 1));
  const auto consumer = static_cast<std::size_t>(random.uniform(0, kUnits - 1));
  auto& signallers = program.streams()[producer];
  auto& waiters = program.streams()[consumer];
  const auto initial = static_cast<std::size_t>(
      random.chance(0.6) ? random.uniform(0, 3) : random.uniform(0, kSemaphoreMax));
  program.semaphores[semaphore] = {"noise" + std::to_string(semaphore),
                                   static_cast<std::uint8_t>(initial)};
  // Even if nobody waited, the value could not exceed its maximum.
  const std::size_t most = std::min(
      {signallers.size(), waiters.size(), static_cast<std::size_t>(kSemaphoreMax) - initial});
  const auto bit = static_cast<std::uint16_t>(1u << semaphore);
  for (int attempt = 0; attempt < kAttempts && most > 0; ++attempt) {
    const auto count = static_cast<std::size_t>(random.uniform(1, static_cast<std::int64_t>(most)));
    const std::vector<std::size_t> signals = draw_some(random, signallers.size(), count);
    const std::vector<std::size_t> waits = draw_some(random, waiters.size(), count);
    bool goes_on = true;
    for (std::size_t k = initial; k < count; ++k) {
      goes_on =
          goes_on && positions[consumer][waits[k]] > positions[producer][signals[k - initial]];
    }
    if (!goes_on) continue;
    for (const std::size_t i : signals) signallers[i].command.signal_mask |= bit;
    for (const std::size_t i : waits) waiters[i].command.wait_mask |= bit;
    return;
  }
}

using compiler::verifier::Memory;

constexpr std::array<const char*, kTurnMemories> kMemoryNames = {"act", "weight", "param", "acc",
                                                                 "out"};

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const ProgramPlan& plan)
      : plan_(plan), layout_(lay_out(plan)), random_(plan.seed) {
    program_.arch = plan.arch;
    name_semaphores();
    dram_.emplace(plan, layout_, random_, program_);
  }

  RandomCase build() {
    while (step()) {
    }
    drop_unused_semaphores();
    for (std::size_t i = 0; i < plan_.noise.size() && i < spare_.size(); ++i) {
      add_noise(plan_.noise[i], spare_[i], positions_, program_);
    }
    return {"", program_.program(), dram_->input()};
  }

 private:
  // Semaphore numbers are shuffled: nothing may depend on them.
  void name_semaphores() {
    std::array<std::size_t, kSemaphores> numbers;
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    for (std::size_t i = kSemaphores; i > 1; --i) {
      const auto other = random_.uniform(0, static_cast<std::int64_t>(i) - 1);
      std::swap(numbers[i - 1], numbers[static_cast<std::size_t>(other)]);
    }
    for (std::size_t m = 0; m < kTurnMemories; ++m) {
      ready_[m] = numbers[2 * m];
      free_[m] = numbers[2 * m + 1];
      const std::string name = kMemoryNames[m];
      program_.semaphores[ready_[m]] = {name + "_ready", 0};
      const FlightPlan& flight = plan_.flights[m];
      program_.semaphores[free_[m]] = {name + "_free", static_cast<std::uint8_t>(flight.initial)};
    }
    stored_ = numbers[2 * kTurnMemories];
    program_.semaphores[stored_] = {"stored", 0};
    spare_.assign(numbers.begin() + 2 * kTurnMemories + 1, numbers.end());
  }

  static std::uint16_t bit(std::size_t semaphore) {
    return static_cast<std::uint16_t>(1u << semaphore);
  }

  // Where turns of a memory have come to.
  struct Progress {
    std::size_t written = 0;  // turns completely
    std::size_t freed = 0;
    std::size_t loads = 0;  // of the turn that is being written
  };

  std::size_t missing_tokens(Memory m) const {
    const FlightPlan& flight = plan_.flights[number(m)];
    return flight.turns - flight.initial;
  }
  bool may_fill(Memory m, std::size_t turn) const {
    return turn < progress_[number(m)].freed + plan_.flights[number(m)].turns;
  }
  void begin_turn(Memory m, std::size_t turn, Command& command) const {
    if (turn >= missing_tokens(m)) command.wait_mask |= bit(free_[number(m)]);
  }
  void finish_writing(Memory m, Command& command) {
    ++progress_[number(m)].written;
    command.signal_mask |= bit(ready_[number(m)]);
  }
  void begin_reading(Memory m, Command& command) const {
    command.wait_mask |= bit(ready_[number(m)]);
  }
  void finish_turn(Memory m, std::size_t turn, Command& command) {
    ++progress_[number(m)].freed;
    if (turn + missing_tokens(m) < layout_.of(m).size()) {
      command.signal_mask |= bit(free_[number(m)]);
    }
  }

  bool can_load(Memory m) const {
    const Progress& p = progress_[number(m)];
    if (p.written == layout_.of(m).size() || (p.loads == 0 && !may_fill(m, p.written))) {
      return false;
    }
    return m != Memory::kActivation || !plan_.layers_follow ||
           is_stored_before(layout_.of(m)[p.written].layer);
  }
  bool is_stored_before(std::size_t layer) const {
    const std::size_t next = program_.stream(Unit::kStore).size();
    return next == layout_.stores.size() || layout_.stores[next].layer >= layer;
  }
  bool is_written(const PlacedCommand& placed, Memory m) const {
    return placed.turn[number(m)] < progress_[number(m)].written;
  }
  bool can_execute() const {
    const std::size_t i = program_.stream(Unit::kExecute).size();
    if (i == layout_.executes.size()) return false;
    const PlacedCommand& placed = layout_.executes[i];
    return is_written(placed, Memory::kActivation) && is_written(placed, Memory::kWeight) &&
           may_fill(Memory::kAccumulator, placed.turn[number(Memory::kAccumulator)]);
  }
  bool can_post() const {
    const std::size_t i = program_.stream(Unit::kPost).size();
    if (i == layout_.posts.size()) return false;
    const PlacedCommand& placed = layout_.posts[i];
    return is_written(placed, Memory::kAccumulator) && is_written(placed, Memory::kParameter) &&
           may_fill(Memory::kOutput, placed.turn[number(Memory::kOutput)]);
  }
  bool can_store() const {
    const std::size_t i = program_.stream(Unit::kStore).size();
    return i < layout_.stores.size() && is_written(layout_.stores[i], Memory::kOutput);
  }

  // Appends one command of those that may come next; false when all are there.
  bool step() {
    struct Choice {
      std::int64_t weight;
      Unit unit;
      Memory memory;
    };
    std::vector<Choice> choices;
    const auto offer = [&](bool possible, Unit unit, Memory m) {
      if (possible) choices.push_back({plan_.order[static_cast<std::size_t>(unit)], unit, m});
    };
    for (const Memory m : {Memory::kActivation, Memory::kWeight, Memory::kParameter}) {
      offer(can_load(m), Unit::kLoad, m);
    }
    offer(can_execute(), Unit::kExecute, Memory::kAccumulator);
    offer(can_post(), Unit::kPost, Memory::kOutput);
    offer(can_store(), Unit::kStore, Memory::kOutput);
    if (choices.empty()) return false;
    std::int64_t all = 0;
    for (const Choice& choice : choices) all += choice.weight;
    std::int64_t drawn = random_.uniform(1, all);
    std::size_t i = 0;
    while (drawn > choices[i].weight) drawn -= choices[i++].weight;
    take(choices[i].unit, choices[i].memory);
    return true;
  }

  void take(Unit unit, Memory memory) {
    switch (unit) {
      case Unit::kLoad:
        return append_load(memory);
      case Unit::kExecute:
        return append_execute();
      case Unit::kPost:
        return append_post();
      case Unit::kStore:
        return append_store();
    }
  }

  void append(const Command& command, std::size_t layer, std::size_t tile) {
    Instruction instruction;
    instruction.command = command;
    Origin& origin = instruction.origin;
    origin.layer = static_cast<std::int32_t>(layer);
    origin.tile = static_cast<std::int32_t>(tile);
    origin.n1 = origin.y1 = origin.x1 = 1;
    origin.c1 = static_cast<std::int32_t>(plan_.arch.array_cols);
    program_.stream(command.unit()).push_back(instruction);
    positions_[static_cast<std::size_t>(command.unit())].push_back(position_++);
  }

  void append_load(Memory m) {
    Progress& p = progress_[number(m)];
    const std::size_t turn_number = p.written;
    const MemoryTurn& turn = layout_.of(m)[turn_number];
    Command command;
    Load load = turn.loads[p.loads];
    if (m == Memory::kActivation && plan_.reads_ofmaps) meet_stores(command);
    dram_->place(load, plan_.reads_ofmaps);
    command.fields = load;
    if (p.loads == 0) begin_turn(m, turn_number, command);
    if (++p.loads == turn.loads.size()) {
      p.loads = 0;
      finish_writing(m, command);
    }
    append(command, turn.layer, 0);
  }

  // Now and then a LOAD waits for the last STORE so far and may read what was stored.
  void meet_stores(Command& command) {
    std::vector<Instruction>& stores = program_.stream(Unit::kStore);
    if (stores.size() == readable_stores_ || meetings_ == kSemaphoreMax) return;
    if (!random_.chance(plan_.layers_follow ? 0.9 : 0.3)) return;
    ++meetings_;
    stores.back().command.signal_mask |= bit(stored_);
    command.wait_mask |= bit(stored_);
    for (; readable_stores_ < stores.size(); ++readable_stores_) {
      dram_->make_readable(layout_.stores[readable_stores_]);
    }
  }

  void append_execute() {
    const std::size_t i = program_.stream(Unit::kExecute).size();
    const PlacedCommand& placed = layout_.executes[i];
    Command command = placed.command;
    for (const Memory m : {Memory::kActivation, Memory::kWeight}) read_turn(m, placed, i, command);
    write_turn(Memory::kAccumulator, placed, i, command);
    append(command, placed.layer, placed.tile);
  }

  void append_post() {
    const std::size_t i = program_.stream(Unit::kPost).size();
    const PlacedCommand& placed = layout_.posts[i];
    Command command = placed.command;
    for (const Memory m : {Memory::kAccumulator, Memory::kParameter}) {
      read_turn(m, placed, i, command);
    }
    // Operand a's turn, where it is another, ends with this POST.
    if (placed.second_turn != placed.turn[number(Memory::kAccumulator)]) {
      finish_turn(Memory::kAccumulator, placed.second_turn, command);
    }
    write_turn(Memory::kOutput, placed, i, command);
    append(command, placed.layer, placed.tile);
  }

  void append_store() {
    const std::size_t i = program_.stream(Unit::kStore).size();
    const PlacedCommand& placed = layout_.stores[i];
    Command command = placed.command;
    Store store = std::get<Store>(command.fields);
    dram_->place(placed, store);
    command.fields = store;
    read_turn(Memory::kOutput, placed, i, command);
    append(command, placed.layer, placed.tile);
  }

  void read_turn(Memory m, const PlacedCommand& placed, std::size_t i, Command& command) {
    const std::size_t turn = placed.turn[number(m)];
    if (layout_.of(m)[turn].first_reader == i) begin_reading(m, command);
    if (layout_.of(m)[turn].last_reader == i) finish_turn(m, turn, command);
  }
  void write_turn(Memory m, const PlacedCommand& placed, std::size_t i, Command& command) {
    const std::size_t turn = placed.turn[number(m)];
    if (layout_.of(m)[turn].first_writer == i) begin_turn(m, turn, command);
    if (layout_.of(m)[turn].last_writer == i) finish_writing(m, command);
  }

  void drop_unused_semaphores() {
    if (meetings_ == 0) program_.semaphores[stored_] = {};
  }

  const ProgramPlan& plan_;
  ProgramLayout layout_;
  Random random_;
  ProgramDraft program_{Program()};
  std::optional<DramDraft> dram_;
  std::array<std::size_t, kTurnMemories> ready_{};
  std::array<std::size_t, kTurnMemories> free_{};
  std::size_t stored_ = 0;
  std::vector<std::size_t> spare_;
  std::array<Progress, kTurnMemories> progress_{};
  CommandPositions positions_;
  std::size_t position_ = 0;
  std::size_t readable_stores_ = 0;
  int meetings_ = 0;
};

}  // namespace

BuiltCase build_case(const ProgramPlan& plan, const std::string& name) {
  BuiltCase built{ProgramBuilder(plan).build(), ""};
  built.made.name = built.made.program.name = name;
  const std::vector<std::string> violations = verify(built.made.program, built.made.program.arch);
  if (!violations.empty()) built.violation = violations.front();
  return built;
}

RandomCase make_random_case(const ArchConfig& arch, std::uint64_t seed) {
  const std::string name = "random " + arch.name + " seed " + std::to_string(seed);
  BuiltCase built = build_case(draw_plan(arch, seed), name);
  QSIM_CHECK(built.violation.empty(),
             name + ": the generator made an illegal program: " + built.violation);
  return std::move(built.made);
}

}  // namespace qsim
