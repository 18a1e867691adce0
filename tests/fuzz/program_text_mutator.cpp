// Mutates a program as a program: fields, tokens and order of its commands, sizes of its tensors,
// so that much of what comes out gets past the parser, and some past the verifier. One input in
// four is mutated as text.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <sstream>

#include "core/base/random.h"
#include "core/machine/isa/command_codec.h"
#include "core/machine/program_text.h"
#include "tests/core/program_draft.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace qsim::fuzz {
namespace {

std::size_t below(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.next() % count);
}

void change_field(Command& command, Random& random) {
  const auto fields = command_fields(command.unit());
  const std::size_t field = below(random, fields.size());
  const std::int64_t old = field_value(command, field);
  const std::int64_t values[] = {old + 1,
                                 old - 1,
                                 old * 2,
                                 old / 2,
                                 0,
                                 1,
                                 (std::int64_t{1} << (fields[field].bits - 1)) - 1,
                                 random.uniform(0, 64)};
  try {
    set_field(command, field, values[below(random, std::size(values))]);
  } catch (const Error&) {  // too wide for the field: the command stays as it is
  }
}

// The same semaphore at one command that waits and one that signals, so that counts stay equal.
void change_tokens(ProgramDraft& program, Random& random) {
  const auto bit = static_cast<std::uint16_t>(1u << random.uniform(0, 11));
  const bool pair = random.chance(0.6);
  for (const bool wait : {true, false}) {
    if (!pair && random.chance(0.5)) continue;
    auto& stream = program.streams()[below(random, kUnits)];
    if (stream.empty()) continue;
    Command& command = stream[below(random, stream.size())].command;
    (wait ? command.wait_mask : command.signal_mask) ^= bit;
  }
}

void change_stream(std::vector<Instruction>& stream, Random& random) {
  const std::size_t at = below(random, stream.size());
  const std::size_t other = below(random, stream.size());
  const auto begin = stream.begin();
  switch (random.next() % 4) {
    case 0:
      return std::swap(stream[at], stream[other]);
    case 1:
      stream.erase(begin + static_cast<std::ptrdiff_t>(at));
      return;
    case 2: {
      const Instruction copy = stream[at];
      stream.insert(begin + static_cast<std::ptrdiff_t>(other), copy);
      return;
    }
    default:
      std::swap(stream[at].command.fields, stream[other].command.fields);
  }
}

void change_arch(ArchConfig& arch, Random& random) {
  const auto fields = arch_config_fields();
  const ArchConfigField& field = fields[below(random, fields.size())];
  if (field.number == nullptr) return;
  std::int64_t& value = arch.*field.number;
  value = std::clamp(random.chance(0.5) ? value * 2 : value / 2, field.min, field.max);
}

void change_tensor(DramTensor& tensor, Random& random) {
  ImageShape& shape = tensor.value.shape;
  std::int64_t* const numbers[] = {&shape.batch,    &shape.height,   &shape.width,
                                   &shape.channels, &tensor.address, &tensor.block};
  std::int64_t& number = *numbers[below(random, std::size(numbers))];
  number =
      std::max<std::int64_t>(0, random.chance(0.5) ? number + random.uniform(-2, 2) : number * 2);
}

void mutate(ProgramDraft& program, Random& random) {
  auto& stream = program.streams()[below(random, kUnits)];
  switch (random.next() % 8) {
    case 0:
      return change_tokens(program, random);
    case 1:
      if (!stream.empty()) change_stream(stream, random);
      return;
    case 2:
      if (random.chance(0.3)) return change_arch(program.arch, random);
      program.semaphores[below(random, kSemaphores)].initial =
          static_cast<std::uint8_t>(random.uniform(0, 15));
      return;
    case 3:
      if (random.chance(0.5) || program.layers.empty()) {
        return change_tensor(program.input.tensor, random);
      }
      return change_tensor(program.layers[below(random, program.layers.size())].ofmap, random);
    default:
      if (!stream.empty()) change_field(stream[below(random, stream.size())].command, random);
  }
}

}  // namespace

// Mutates the program in data[0, size) in place; returns the new size.
std::size_t mutate_program(std::span<std::uint8_t> data, std::size_t size, std::uint64_t seed) {
  Random random(seed);
  if (random.chance(0.25)) return LLVMFuzzerMutate(data.data(), size, data.size());
  Program program;
  try {
    program = parse_program({reinterpret_cast<const char*>(data.data()), size}, "mutated");
  } catch (const Error&) {
    return LLVMFuzzerMutate(data.data(), size, data.size());
  }
  ProgramDraft draft(std::move(program));
  for (std::int64_t count = random.uniform(1, 4); count > 0; --count) mutate(draft, random);
  std::ostringstream out;
  print_program(draft.program(), out);
  const std::string text = out.str();
  if (text.size() > data.size()) return LLVMFuzzerMutate(data.data(), size, data.size());
  std::memcpy(data.data(), text.data(), text.size());
  return text.size();
}

}  // namespace qsim::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return qsim::fuzz::mutate_program({data, max_size}, size, seed);
}
