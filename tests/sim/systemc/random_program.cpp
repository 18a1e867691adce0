#include "tests/sim/systemc/random_program.h"

#include <algorithm>

#include "tests/sim/systemc/random_commands.h"
#include "tests/sim/systemc/reference_machine.h"

namespace qsim {
namespace {

constexpr std::int64_t kInputBytes = 8 * 1024;
constexpr std::int64_t kOfmapBytes = 8 * 1024;
constexpr std::int64_t kSegmentBytes = 16 * 1024;
constexpr std::int64_t kRandomConstants = kInputBytes + kOfmapBytes;

// Semaphore 2i hands a round from unit i to unit i + 1, semaphore 2i + 1 back.
constexpr std::uint16_t forward(std::size_t unit) {
  return static_cast<std::uint16_t>(1u << (2 * unit));
}
constexpr std::uint16_t backward(std::size_t unit) {
  return static_cast<std::uint16_t>(2u << (2 * unit));
}

Value byte_vector(std::int64_t bytes) {
  Value value;
  value.shape = {1, 1, 1, bytes};
  return value;
}

ArchConfig random_arch(Random& random) {
  constexpr std::int64_t kSizes[] = {4, 8, 16, 32};
  ArchConfig arch = small_arch(kSizes[random.uniform(0, 3)], kSizes[random.uniform(0, 3)]);
  arch.bus_bytes = kSizes[random.uniform(0, 3)];
  arch.dram_latency_cycles = random.uniform(1, 120);
  arch.burst_beats = random.uniform(1, 64);
  arch.outstanding_bursts = random.uniform(1, 16);
  return arch;
}

// Parameters go from POST back to LOAD: only POST reads them.
constexpr std::uint16_t kParamFree = 1u << 6;

// A command of `unit`; `part` says which memory a LOAD fills.
Command random_command(Random& random, const ArchConfig& arch, Unit unit, LoadMemory part) {
  Command command;
  switch (unit) {
    case Unit::kLoad:
      command.fields =
          part == LoadMemory::kActivation
              ? random_load(random, arch, part, 0, kInputBytes)
              : random_load(random, arch, part, kRandomConstants, kRandomConstants + kSegmentBytes);
      break;
    case Unit::kExecute:
      command.fields = random_execute(random, arch);
      break;
    case Unit::kPost:
      command.fields = random_post(random, arch);
      break;
    case Unit::kStore:
      command.fields = random_store(random, arch, kInputBytes, kRandomConstants);
      break;
  }
  return command;
}

void apply(const Command& command, ReferenceMachine& machine) {
  switch (command.unit()) {
    case Unit::kLoad:
      return machine.load(std::get<Load>(command.fields));
    case Unit::kExecute:
      return machine.execute(std::get<Execute>(command.fields));
    case Unit::kPost:
      return machine.post(std::get<Post>(command.fields));
    case Unit::kStore:
      return machine.store(std::get<Store>(command.fields));
  }
}

// Every unit has 1 to 3 commands a round; the first takes the tokens, the last passes them on.
void append_round(Random& random, Program& program, ReferenceMachine& machine) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    const auto unit = static_cast<Unit>(u);
    const std::int64_t count = unit == Unit::kLoad ? 3 : random.uniform(1, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      Command command = random_command(random, program.arch, unit, static_cast<LoadMemory>(i));
      unsigned wait = 0;
      unsigned signal = 0;
      if (i == 0 && unit == Unit::kLoad) wait |= kParamFree;
      if (i + 1 == count && unit == Unit::kPost) signal |= kParamFree;
      if (i == 0) wait |= (u > 0 ? forward(u - 1) : 0u) | (u + 1 < kUnits ? backward(u) : 0u);
      if (i + 1 == count) {
        signal |= (u + 1 < kUnits ? forward(u) : 0u) | (u > 0 ? backward(u - 1) : 0u);
      }
      command.wait_mask = static_cast<std::uint16_t>(wait);
      command.signal_mask = static_cast<std::uint16_t>(signal);
      apply(command, machine);
      program.streams.append(command, {});
    }
  }
}

// Both parameter slots, so that no POST reads one that was never written.
void append_parameters(Program& program, ReferenceMachine& machine) {
  for (std::uint32_t slot = 0; slot < kParamSlots; ++slot) {
    Load load;
    load.memory = static_cast<std::uint32_t>(LoadMemory::kParameter);
    load.local_addr = slot;
    load.dram_addr = kRandomConstants + 1000 * slot;
    load.run_bytes = static_cast<std::uint32_t>(program.arch.param_block_bytes());
    load.runs = load.groups = 1;
    const Command command{0, 0, load};
    apply(command, machine);
    program.streams.append(command, {});
  }
}

// Parameters come from anywhere in here, and so any byte may be a shift.
DramSegment random_constants(Random& random) {
  DramSegment segment{"constants", kRandomConstants, {}};
  for (std::int64_t i = 0; i < kSegmentBytes; ++i) {
    segment.bytes.push_back(static_cast<std::byte>(random.uniform(0, 31)));
  }
  return segment;
}

}  // namespace

RandomProgram make_random_program(std::uint64_t seed) {
  Random random(seed);
  RandomProgram result;
  Program& program = result.program;
  program.name = "random " + std::to_string(seed);
  program.arch = random_arch(random);
  // One round in flight between two units: the next may only begin when it is handed back.
  for (std::size_t u = 0; u + 1 < kUnits; ++u) program.semaphores[2 * u + 1].initial = 1;
  program.semaphores[6].initial = 1;
  program.writable_bytes = kRandomConstants;
  program.input.tensor = {0, byte_vector(kInputBytes), kInputBytes};
  program.segments.push_back(random_constants(random));
  ProgramLayer layer;
  layer.name = "layer";
  layer.ofmap = {kInputBytes, byte_vector(kOfmapBytes), kOfmapBytes};
  program.layers.push_back(layer);

  result.input = Tensor(DType::kInt8, {1, 1, 1, kInputBytes});
  for (std::byte& byte : result.input.bytes) byte = static_cast<std::byte>(random.next());
  ReferenceMachine machine(program.arch);
  machine.dram = result.input.bytes;
  machine.dram.resize(kRandomConstants);
  const std::vector<std::byte>& constants = program.segments[0].bytes;
  machine.dram.insert(machine.dram.end(), constants.begin(), constants.end());
  append_parameters(program, machine);
  for (std::int64_t round = random.uniform(1, 6); round > 0; --round) {
    append_round(random, program, machine);
  }
  Tensor ofmap(DType::kInt8, {1, 1, 1, kOfmapBytes});
  std::copy_n(machine.dram.begin() + kInputBytes, kOfmapBytes, ofmap.bytes.begin());
  result.ofmaps.push_back(ofmap);
  return result;
}

}  // namespace qsim
