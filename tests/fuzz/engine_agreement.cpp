#include "tests/fuzz/engine_agreement.h"

#include <cstdlib>
#include <span>

#include "core/machine/dram_layout.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/interpreter/program_interpreter.h"
#include "sim/recurrence/program_times.h"
#include "sim/systemc/systemc_engine.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

using namespace report;
using namespace sim;
namespace {

constexpr int kRandomOrders = 2;

// The path that QSIM_FUZZ_VECTOR_PATH names, where the processor has it; else the best.
SystemcEngineOptions systemc_options() {
  const char* const wanted = std::getenv("QSIM_FUZZ_VECTOR_PATH");
  for (const VectorPath path : kVectorPaths) {
    if (wanted != nullptr && vector_path_name(path) == wanted && is_supported(path)) return {path};
  }
  return {};
}

// One a process: SystemC elaborates once.
Engine& systemc() {
  static const std::unique_ptr<Engine> kEngine = make_systemc_engine(systemc_options());
  return *kEngine;
}

void require_same(const std::vector<Tensor>& ofmaps, const std::vector<Tensor>& expected,
                  const std::string& engine) {
  require(ofmaps.size() == expected.size(), engine + " gives another number of ofmaps");
  for (std::size_t i = 0; i < ofmaps.size(); ++i) {
    require(ofmaps[i] == expected[i], engine + " gives other bytes in layer " + std::to_string(i));
  }
}

// The ofmaps as the engine hands them over during the run, while DRAM that is dead goes.
std::vector<Tensor> handed_over(const Program& program, const Tensor& input) {
  std::vector<Tensor> ofmaps(program.layers.size());
  RunOptions options;
  options.take_ofmap = [&](std::size_t layer, std::span<const std::byte> dram) {
    require(ofmaps.at(layer).bytes.empty(), "an ofmap is handed over twice");
    ofmaps[layer] = unpack(program.layers[layer].ofmap, dram);
  };
  systemc().run(program, input, options);
  return ofmaps;
}

}  // namespace

std::vector<Tensor> run_everywhere(const Program& program, const Tensor& input,
                                   std::uint64_t seed) {
  const std::vector<Tensor> expected =
      make_program_interpreter()->run(program, input, {true, seed}).ofmaps;
  for (int order = 0; order < kRandomOrders; ++order) {
    const RunOptions options{true, seed + static_cast<std::uint64_t>(order)};
    require_same(make_program_interpreter(true)->run(program, input, options).ofmaps, expected,
                 "the interpreter in random order");
  }
  const RunResult timed = systemc().run(program, input, {true, seed});
  require_same(timed.ofmaps, expected, "the SystemC engine");
  require_same(handed_over(program, input), expected, "the SystemC engine, handing over,");
  account(program, timed.times);
  require(systemc().run(program, input, {false, seed}).times == timed.times,
          "the SystemC engine takes other cycles without data");
  require(command_times(program) == timed.times, "the recurrence takes other cycles");
  return expected;
}

}  // namespace qsim::fuzz
