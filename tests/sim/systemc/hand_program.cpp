#include "tests/sim/systemc/hand_program.h"

namespace qsim {
namespace {

constexpr std::uint32_t kPictureBytes = 64;
constexpr std::uint32_t kWeightBytes = 16;
constexpr std::uint32_t kParamBytes = 20;
constexpr std::uint32_t kOfmap = kPictureBytes;
constexpr std::uint32_t kConstants = 2 * kPictureBytes;

void add(Program& program, unsigned wait_mask, unsigned signal_mask,
         std::variant<Load, Execute, Post, Store> fields) {
  program.streams.append(
      {static_cast<std::uint16_t>(wait_mask), static_cast<std::uint16_t>(signal_mask), fields},
      {0, 0, 0, 1, 0, 4, 0, 4, 0, 4});
}

Load load(LoadMemory memory, std::uint32_t address, std::uint32_t bytes) {
  Load load;
  load.memory = static_cast<std::uint32_t>(memory);
  load.dram_addr = address;
  load.run_bytes = bytes;
  load.runs = load.groups = 1;
  load.plane_words = 16;
  return load;
}

Execute execute() {
  Execute execute;
  execute.act_row_words = execute.in_rows = execute.in_cols = 4;
  execute.act_plane_words = 16;
  execute.kernel_h = execute.kernel_w = execute.stride_h = execute.stride_w = 1;
  execute.planes = 1;
  execute.out_rows = execute.out_cols = 4;
  execute.blocks = 1;
  return execute;
}

Post post() {
  Post post;
  post.in_rows = post.in_cols = post.out_rows = post.out_cols = 4;
  post.pool_h = post.pool_w = post.pool_stride_h = post.pool_stride_w = 1;
  post.lo = -128;
  post.hi = 127;
  return post;
}

Store store() {
  Store store;
  store.dram_addr = kOfmap;
  store.run_bytes = kPictureBytes;
  store.runs = store.groups = 1;
  return store;
}

}  // namespace

ArchConfig hand_arch() {
  ArchConfig arch;
  arch.name = "hand";
  arch.array_rows = arch.array_cols = arch.bus_bytes = 4;
  arch.act_scratchpad_kib = arch.weight_scratchpad_kib = 1;
  arch.accumulator_kib = arch.output_scratchpad_kib = 1;
  arch.dram_latency_cycles = 10;
  arch.burst_beats = 8;
  arch.outstanding_bursts = 2;
  return arch;
}

void append_round(Program& program) {
  const std::uint16_t act_ready = mask_of(kActReady), act_free = mask_of(kActFree);
  const std::uint16_t weight_ready = mask_of(kWeightReady), param_ready = mask_of(kParamReady);
  add(program, act_free, act_ready, load(LoadMemory::kActivation, 0, kPictureBytes));
  add(program, 0, weight_ready, load(LoadMemory::kWeight, kConstants, kWeightBytes));
  add(program, 0, param_ready,
      load(LoadMemory::kParameter, kConstants + kWeightBytes, kParamBytes));
  add(program, act_ready | weight_ready, act_free | mask_of(kAccReady), execute());
  add(program, mask_of(kAccReady) | param_ready, mask_of(kOutReady), post());
  add(program, mask_of(kOutReady), 0, store());
}

Program hand_program() {
  Program program;
  program.name = "hand";
  program.arch = hand_arch();
  const char* names[] = {"act_ready",   "act_free",  "weight_ready",
                         "param_ready", "acc_ready", "out_ready"};
  for (std::size_t s = 0; s < std::size(names); ++s) program.semaphores[s].name = names[s];
  program.semaphores[kActFree].initial = 1;
  program.writable_bytes = 2 * kPictureBytes;
  program.input.tensor.value.shape = {1, 4, 4, 4};
  program.input.tensor.block = 4;
  DramSegment constants{"constants", kConstants, {}};
  constants.bytes.resize(kWeightBytes + kParamBytes);
  for (std::size_t i = 0; i < 4; ++i) constants.bytes[5 * i] = std::byte{1};
  program.segments.push_back(constants);
  ProgramLayer layer;
  layer.name = "conv";
  layer.operation = "conv2d";
  layer.macs = 16 * 16;
  layer.ofmap = {kOfmap, program.input.tensor.value, 4};
  program.layers.push_back(layer);
  append_round(program);
  return program;
}

Tensor hand_input() {
  Tensor input(DType::kInt8, {1, 4, 4, 4});
  std::int8_t value = -30;
  for (std::int8_t& element : input.as<std::int8_t>()) element = value++;
  return input;
}

void PrintTo(const CommandTime& time, std::ostream* out) {
  *out << "{start " << time.start << ", free " << time.free << ", done " << time.done << "}";
}

}  // namespace qsim
