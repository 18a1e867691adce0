#include "sim/interpreter/machine.h"

namespace qsim::sim::interpreter {
namespace {

std::size_t elems(std::int64_t words, std::int64_t elems_per_word) {
  return static_cast<std::size_t>(words * elems_per_word);
}

void fill(auto& memory, Random& random) {
  for (auto& element : memory) {
    element = static_cast<std::remove_reference_t<decltype(element)>>(random.next());
  }
}

}  // namespace

Machine::Machine(const Program& program, const Tensor& input)
    : arch(program.arch),
      act(elems(arch.act_words(), arch.array_rows)),
      weight(elems(arch.weight_words(), arch.weight_word_bytes())),
      out(elems(arch.output_words(), arch.array_cols)),
      dram(program, input) {
  for (auto& half : accumulator) half.resize(elems(arch.accumulator_half_words(), arch.array_cols));
  for (auto& slot : params) slot.resize(static_cast<std::size_t>(arch.param_block_bytes()));
}

void fill_with_garbage(Machine& machine, Random& random) {
  fill(machine.act, random);
  fill(machine.weight, random);
  for (auto& half : machine.accumulator) fill(half, random);
  fill(machine.out, random);
  for (auto& slot : machine.params) fill(slot, random);
  if (!machine.arch.is_dyadic()) return;
  for (auto& table : machine.tables) fill(table, random);
}

}  // namespace qsim::sim::interpreter
