#include "cli/session/vectors/vectors.h"

#include <algorithm>

#include "cli/session/engines/engines.h"
#include "core/base/checked_math.h"
#include "formats/files/files.h"
#include "report/analysis/cycle_accounting.h"
#include "sim/interpreter/command_effects.h"
#include "sim/interpreter/unit_order.h"

namespace qsim::cli {
namespace {

// The writable area as it is now, and the constants after it.
std::vector<std::byte> image(const Program& program, const DramMemory& dram) {
  const std::int64_t bytes = round_up(program.dram_bytes(), program.arch.bus_bytes);
  std::vector<std::byte> image(static_cast<std::size_t>(bytes));
  const std::span<const std::byte> writable = dram.read(0, program.writable_bytes);
  std::copy(writable.begin(), writable.end(), image.begin());
  for (const DramSegment& segment : program.segments) {
    std::copy(segment.bytes.begin(), segment.bytes.end(), image.begin() + segment.address);
  }
  return image;
}

void check_size(const Program& program) {
  if (program.dram_bytes() < kMaxFileBytes) return;
  throw_bad_input("the DRAM image has " + std::to_string(program.dram_bytes()) +
                  " bytes; a file of vectors holds fewer than " + std::to_string(kMaxFileBytes));
}

}  // namespace

Vectors make_vectors(const Program& program, const Tensor& input) {
  check_size(program);
  sim::interpreter::Machine machine(program, input);
  Vectors vectors;
  vectors.dram_before = image(program, machine.dram);
  sim::interpreter::UnitOrder(program).run_in_turns([&](Unit unit, std::size_t index) {
    const Command command = program.stream(unit).command(index);
    std::visit([&](const auto& fields) { sim::interpreter::apply(fields, machine); },
               command.fields);
  });
  vectors.dram_after = image(program, machine.dram);
  RunResult timed = make_engine(kSystemcEngine)->run(program, input, {});
  vectors.ofmaps = machine.dram.ofmaps();
  QSIM_CHECK(timed.ofmaps == vectors.ofmaps, "interpreter and SystemC differ in an ofmap");
  vectors.total_cycles = report::account(program, timed.times).total_cycles;
  vectors.times = std::move(timed.times);
  return vectors;
}

}  // namespace qsim::cli
