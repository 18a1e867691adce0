#include "sim/interpreter/program_interpreter.h"

#include <chrono>

#include "core/base/engine_names.h"
#include "core/machine/program_text.h"
#include "sim/interpreter/command_effects.h"
#include "sim/interpreter/unit_order.h"

namespace qsim::sim {
namespace {

class ProgramInterpreter : public Engine {
 public:
  explicit ProgramInterpreter(bool random_order) : random_order_(random_order) {}

  std::string_view name() const override { return kInterpreterEngine; }
  bool has_time() const override { return false; }
  RunResult run(const Program& program, const Tensor& input, const RunOptions& options) override;

 private:
  bool random_order_;
};

void apply_instruction(const Program& program, Unit unit, std::size_t index,
                       interpreter::Machine& machine) {
  const Command command = program.stream(unit).command(index);
  const auto where = [&] { return command_label(program, unit, index) + ": "; };
  try {
    std::visit([&](const auto& fields) { interpreter::apply(fields, machine); }, command.fields);
  } catch (const Error& error) {
    throw Error(error.code(), where() + error.what());
  } catch (const InternalError& error) {
    throw InternalError(where() + error.what());
  }
}

RunResult ProgramInterpreter::run(const Program& program, const Tensor& input,
                                  const RunOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  validate(program.arch);
  Random random(options.seed);
  interpreter::Machine machine(program, input);
  fill_with_garbage(machine, random);
  const TimedTake timed(options.take_ofmap);
  if (options.take_ofmap) machine.dram.hand_over_overwritten(timed.take());
  interpreter::UnitOrder order(program);
  const auto apply = [&](Unit unit, std::size_t index) {
    if (options.move_data) apply_instruction(program, unit, index, machine);
  };
  if (random_order_) {
    order.run_at_random(apply, random);
  } else {
    order.run_in_turns(apply);
  }
  RunResult result;
  const auto end = std::chrono::steady_clock::now();
  result.wall_seconds = std::chrono::duration<double>(end - begin).count() - timed.seconds();
  if (!options.move_data) return result;
  result.dram_traffic = machine.dram.traffic();
  deliver_ofmaps(program, machine.dram, options, result);
  return result;
}

}  // namespace

std::unique_ptr<Engine> make_program_interpreter(bool random_order) {
  return std::make_unique<ProgramInterpreter>(random_order);
}

}  // namespace qsim::sim
