#include "sim/interpreter/command_effects.h"

#include <algorithm>
#include <cstring>

#include "core/base/limits.h"

namespace qsim::sim::interpreter {
namespace {

// Calls visit(address) for every run of a LOAD or STORE, in stream order.
template <typename Transfer, typename Visit>
void for_each_run(const Transfer& c, Visit visit) {
  for (std::int64_t g = 0; g < c.groups; ++g) {
    for (std::int64_t r = 0; r < c.runs; ++r) {
      visit(std::int64_t{c.dram_addr} + g * c.group_stride + r * c.run_stride);
    }
  }
}

template <typename Transfer>
std::int64_t stream_bytes(const Transfer& c) {
  const std::int64_t runs = std::int64_t{c.groups} * c.runs;
  if (c.run_bytes != 0 && runs > kMaxDramBytes / c.run_bytes) {
    throw_bad_input("transfer of " + std::to_string(runs) + " runs of " +
                    std::to_string(c.run_bytes) + " bytes; at most 2^32 bytes are allowed");
  }
  return runs * c.run_bytes;
}

std::vector<std::byte> gather(const Load& load, DramMemory& dram) {
  std::vector<std::byte> stream(static_cast<std::size_t>(stream_bytes(load)));
  std::byte* to = stream.data();
  for_each_run(load, [&](std::int64_t address) {
    const std::span<const std::byte> run = dram.load(address, load.run_bytes);
    to = std::copy(run.begin(), run.end(), to);
  });
  return stream;
}

std::int64_t whole_words(std::int64_t bytes, std::int64_t word_bytes) {
  if (bytes % word_bytes != 0) {
    throw_bad_input("transfer of " + std::to_string(bytes) + " bytes; a multiple of the word's " +
                    std::to_string(word_bytes) + " bytes is needed");
  }
  return bytes / word_bytes;
}

void load_activations(const Load& load, const std::vector<std::byte>& stream, Machine& m) {
  const std::int64_t word_bytes = m.arch.array_rows;
  const std::int64_t words = whole_words(static_cast<std::int64_t>(stream.size()), word_bytes);
  const std::int64_t s = m.arch.block_channels() / word_bytes;
  const std::int64_t plane = s == 1 ? std::max<std::int64_t>(words, 1) : load.plane_words;
  if (plane == 0) throw_bad_input("plane_words is 0; at least 1 is needed");
  for (std::int64_t i = 0; i < words; ++i) {
    const std::int64_t to =
        load.local_addr + i / (s * plane) * s * plane + i % s * plane + i / s % plane;
    check_words("activation scratchpad", to, 1, m.arch.act_words());
    std::memcpy(m.act.data() + to * word_bytes, stream.data() + i * word_bytes,
                static_cast<std::size_t>(word_bytes));
  }
}

void load_weights(const Load& load, const std::vector<std::byte>& stream, Machine& m) {
  const std::int64_t word_bytes = m.arch.weight_word_bytes();
  const std::int64_t words = whole_words(static_cast<std::int64_t>(stream.size()), word_bytes);
  check_words("weight scratchpad", load.local_addr, words, m.arch.weight_words());
  if (words == 0) return;
  std::memcpy(m.weight.data() + load.local_addr * word_bytes, stream.data(), stream.size());
}

void load_params(const Load& load, const std::vector<std::byte>& stream, Machine& m) {
  check_words("parameter memory", load.local_addr, 1, kParamSlots);
  std::vector<std::uint8_t>& slot = m.params[load.local_addr];
  check_words("parameter slot", 0, static_cast<std::int64_t>(stream.size()),
              m.arch.param_block_bytes());
  if (stream.empty()) return;
  std::memcpy(slot.data(), stream.data(), stream.size());
}

void load_table(const Load& load, const std::vector<std::byte>& stream, Machine& m) {
  check_words("table memory", load.local_addr, 1, kParamSlots);
  check_words("table slot", 0, static_cast<std::int64_t>(stream.size()), kTableBytes);
  if (stream.empty()) return;
  std::memcpy(m.tables[load.local_addr].data(), stream.data(), stream.size());
}

}  // namespace

void check_words(const char* memory, std::int64_t first, std::int64_t count, std::int64_t words) {
  if (count <= 0 || first + count <= words) return;
  throw_bad_input("words " + std::to_string(first) + " to " + std::to_string(first + count - 1) +
                  " of the " + memory + "; it has " + std::to_string(words));
}

std::int64_t last_position(std::int64_t outputs, std::int64_t kernel, std::int64_t stride,
                           std::int64_t origin, std::int64_t size) {
  std::int64_t last = -1;
  for (std::int64_t k = 0; k < kernel && outputs > 0; ++k) {
    const std::int64_t first = k + origin;
    if (first >= size) break;
    const std::int64_t steps = stride == 0 ? 0 : std::min(outputs - 1, (size - 1 - first) / stride);
    last = std::max(last, first + steps * stride);
  }
  return last;
}

void apply(const Load& load, Machine& machine) {
  const std::vector<std::byte> stream = gather(load, machine.dram);
  switch (static_cast<LoadMemory>(load.memory)) {
    case LoadMemory::kActivation:
      return load_activations(load, stream, machine);
    case LoadMemory::kWeight:
      return load_weights(load, stream, machine);
    case LoadMemory::kParameter:
      return load_params(load, stream, machine);
    case LoadMemory::kTable:
      if (machine.arch.is_dyadic()) return load_table(load, stream, machine);
  }
  throw_bad_input("memory is " + std::to_string(load.memory) + "; allowed: 0 to 2");
}

void apply(const Store& store, Machine& machine) {
  const std::int64_t word_bytes = machine.arch.array_cols;
  const std::int64_t words = whole_words(stream_bytes(store), word_bytes);
  check_words("output scratchpad", store.out_addr, words, machine.arch.output_words());
  const std::int8_t* from = machine.out.data() + store.out_addr * word_bytes;
  for_each_run(store, [&](std::int64_t address) {
    const std::span<std::byte> run = machine.dram.store(address, store.run_bytes);
    if (!run.empty()) std::memcpy(run.data(), from, run.size());
    from += run.size();
  });
}

}  // namespace qsim::sim::interpreter
