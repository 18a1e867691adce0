#include "tests/rtl/programs/dram_plan.h"

#include <algorithm>
#include <cmath>

#include "core/base/checked_math.h"
#include "core/base/limits.h"
#include "core/machine/isa/command_fields.h"
#include "core/numerics/adder.h"
#include "tests/rtl/programs/coverage_bins.h"
#include "tests/rtl/programs/field_numbers.h"

namespace qsim {

using namespace compiler;
namespace {

DramTensor byte_tensor(std::int64_t address, std::int64_t bytes, std::int64_t block) {
  DramTensor tensor;
  tensor.address = address;
  tensor.value.shape = {1, 1, 1, bytes};
  tensor.block = block;
  return tensor;
}

std::byte draw_byte(Random& random, ValueStyle style) {
  const std::uint64_t bits = random.next();
  const auto any = static_cast<std::byte>(bits & 0xff);
  switch (style) {
    case ValueStyle::kUniform:
      return any;
    case ValueStyle::kExtremes:
      return (bits >> 8) % 8 == 0 ? any : static_cast<std::byte>(0x7f + ((bits >> 20) & 1));
    case ValueStyle::kSmall:
      return static_cast<std::byte>((bits & 7) - 4);
    case ValueStyle::kSparse:
      return (bits >> 8) % 4 == 0 ? any : std::byte{0};
    case ValueStyle::kLowest:
      break;
  }
  return std::byte{0x80};
}

std::int32_t draw_bias(Random& random) {
  switch (random.uniform(0, 7)) {
    case 0:
      return INT32_MIN + static_cast<std::int32_t>(random.uniform(0, 3));
    case 1:
      return INT32_MAX - static_cast<std::int32_t>(random.uniform(0, 3));
    case 2:
      return static_cast<std::int32_t>(random.next());
    case 3:
    case 4:  // so that the bits that a small shift drops decide
      return static_cast<std::int32_t>(random.uniform(-64, 64));
    default:
      return static_cast<std::int32_t>(random.uniform(-60000, 60000));
  }
}

// Each bin of coverage_bins.h, and often one that leaves something of a psum.
int draw_shift(Random& random) {
  constexpr std::array<std::array<std::int64_t, 2>, 5> kRanges = {
      {{0, 0}, {1, 7}, {8, 30}, {31, 31}, {8, 16}}};
  const auto& range = kRanges[static_cast<std::size_t>(random.uniform(0, 4))];
  return static_cast<int>(random.uniform(range[0], range[1]));
}

// Any 24 bits, a scale's most of the time, and its ends often.
std::uint32_t draw_multiplier(Random& random) {
  const auto bits = static_cast<std::uint32_t>(random.next()) & kMostMultiplier;
  switch (random.uniform(0, 9)) {
    case 0:
      return kLeastMultiplier;
    case 1:
      return kMostMultiplier - bits % 4;
    case 2:
      return bits >> random.uniform(0, 24);
    default:
      return kLeastMultiplier | bits;
  }
}

// Mostly what gives the levels that draw_shift() gives.
int draw_dyadic_shift(Random& random) {
  if (random.chance(0.1)) return static_cast<int>(random.uniform(0, kMostRequantizerShift));
  return draw_shift(random) + kMultiplierBits - static_cast<int>(random.uniform(0, 1));
}

void put(std::uint64_t value, int bytes, std::byte* at) {
  for (int byte = 0; byte < bytes; ++byte) at[byte] = static_cast<std::byte>(value >> (8 * byte));
}

// A bias that a tie between two levels is near, so that small psums come to both sides of it. It is
// large enough for float32 to drop bits of the sum.
std::int32_t draw_tie(Random& random, std::uint32_t multiplier, int shift) {
  const double level = static_cast<double>(random.uniform(-120, 120)) + 0.5;
  return static_cast<std::int32_t>(
      std::clamp(std::ldexp(level, shift) / multiplier, -0x1p31, 0x1p31 - 1));
}

void put_dyadic(Random& random, std::byte* channel) {
  const bool aims_at_tie = random.chance(0.4);
  const std::uint32_t multiplier =
      aims_at_tie ? kLeastMultiplier | draw_multiplier(random) : draw_multiplier(random);
  const int shift =
      aims_at_tie ? static_cast<int>(random.uniform(40, 47)) : draw_dyadic_shift(random);
  const auto bias = static_cast<std::uint32_t>(aims_at_tie ? draw_tie(random, multiplier, shift)
                                                           : draw_bias(random));
  const std::uint64_t scale = multiplier | static_cast<std::uint64_t>(shift) << 24;
  const std::uint64_t unused = random.chance(0.5) ? 0 : std::uint64_t{3} << 62;
  put(bias | scale << 32 | unused, 8, channel);
}

// The parameters of channel c of a block; bits without a meaning are often set.
void put_channel(Random& random, const ArchConfig& arch, std::int64_t c, std::byte* block) {
  if (arch.is_dyadic()) return put_dyadic(random, block + c * 8);
  put(static_cast<std::uint32_t>(draw_bias(random)), 4, block + c * 4);
  block[arch.array_cols * 4 + c] =
      static_cast<std::byte>(draw_shift(random) | (random.chance(0.5) ? 0 : 0xa0));
}

// An adder block: mostly one whose sums are between the ends, and often one whose sums are ties.
void put_adder(Random& random, std::byte* block) {
  for (int operand = 0; operand < 2; ++operand) {
    const std::uint64_t multiplier =
        random.chance(0.3) ? kLeastMultiplier >> random.uniform(0, 2) : draw_multiplier(random);
    const auto shift = static_cast<std::uint64_t>(random.chance(0.2) ? random.uniform(0, 31)
                                                                     : random.uniform(13, 17));
    const auto high = static_cast<std::uint64_t>(random.uniform(0, 7));
    put(multiplier | shift << 24 | high << 29, 4, block + 4 * operand);
  }
  auto constant = static_cast<std::uint64_t>(random.uniform(-300, 300)) << (kAdderFractionBits - 1);
  if (random.chance(0.5)) constant += random.next() >> random.uniform(10, 63);
  if (random.chance(0.1)) constant = random.next();
  put(constant, 8, block + 8);
}

}  // namespace

std::vector<std::byte> draw_bytes(Random& random, ValueStyle style, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = draw_byte(random, style);
  return bytes;
}

DramDraft::DramDraft(const ProgramPlan& plan, const ProgramLayout& layout, Random& random,
                     ProgramDraft& program)
    : plan_(plan), arch_(plan.arch), random_(random), program_(program) {
  add_regions(layout);
  add_segments();
}

// Input and ofmaps in a random order, beats apart.
void DramDraft::add_regions(const ProgramLayout& layout) {
  const std::int64_t block = arch_.block_channels();
  const std::int64_t align = std::min(arch_.bus_bytes, block);
  std::int64_t largest = 0;
  for (const MemoryTurn& turn : layout.of(compiler::verifier::Memory::kActivation)) {
    for (const Load& load : turn.loads) {
      largest = std::max(
          largest, std::int64_t{load.run_bytes} + (load.groups + load.runs) * arch_.array_rows);
    }
  }
  const std::int64_t input_bytes =
      round_up(largest + random_.uniform(0, 1000) * arch_.array_rows, block);
  const std::size_t layers = layout.ofmap_words.size();
  const auto input_at =
      static_cast<std::size_t>(random_.uniform(0, static_cast<std::int64_t>(layers)));
  std::int64_t address = random_.uniform(0, 9) * align;
  const auto take = [&](std::int64_t bytes) {
    const DramTensor tensor = byte_tensor(address, bytes, block);
    address += tensor.size_bytes() + random_.uniform(0, 5) * align;
    return tensor;
  };
  for (std::size_t l = 0; l <= layers; ++l) {
    if (l == input_at) program_.input.tensor = take(input_bytes);
    if (l == layers) break;
    ProgramLayer layer;
    layer.name = "layer" + std::to_string(l);
    layer.graph_layer = static_cast<std::int32_t>(l);
    layer.ofmap = take(layout.ofmap_words[l] * arch_.array_cols);
    program_.layers.push_back(layer);
    readable_.emplace_back(static_cast<std::size_t>(layout.ofmap_words[l]), false);
  }
  program_.writable_bytes = address;
}

void DramDraft::add_segments() {
  const std::int64_t align = std::max(arch_.bus_bytes, arch_.block_channels());
  const std::int64_t weight_bytes = arch_.weight_slot_words() * arch_.weight_word_bytes() * 5 / 4;
  const std::int64_t blocks = random_.uniform(1, 6);
  param_pitch_ = round_up(arch_.param_block_bytes(), arch_.bus_bytes) +
                 random_.uniform(0, 2) * arch_.bus_bytes;
  param_blocks_ = blocks;
  if (arch_.is_dyadic()) tables_ = random_.uniform(1, 3);
  const std::int64_t param_bytes = blocks * param_pitch_ + tables_ * kTableBytes;
  const std::int64_t all = round_up(weight_bytes, align) + param_bytes + 40 * align;
  std::int64_t address = round_up(program_.writable_bytes, align);
  const bool is_last = random_.chance(0.1);
  if (is_last) address = kMaxDramBytes - round_up(all, align);
  address += random_.uniform(0, 9) * align;
  if (!is_last && random_.chance(0.25)) {
    add_parameters(address);
    address += round_up(param_bytes, align);
    add_weights("weights", address, weight_bytes);
    // As far away as a stride can reach.
    const int bits =
        random_.chance(0.6) ? bits_of<Load>("run_stride") : bits_of<Load>("group_stride");
    const std::int64_t far =
        random_.uniform(std::int64_t{1} << (bits - 2), std::int64_t{1} << bits);
    add_weights("far weights", address + far / align * align, weight_bytes);
  } else if (random_.chance(0.5)) {
    add_weights("weights", address, weight_bytes);
    add_parameters(address + round_up(weight_bytes, align) + random_.uniform(0, 9) * align);
  } else {
    add_parameters(address);
    address += round_up(param_bytes, align) + random_.uniform(0, 9) * align;
    add_weights("weights", address, weight_bytes);
  }
}

void DramDraft::add_weights(const char* name, std::int64_t address, std::int64_t bytes) {
  program_.segments.push_back(
      {name, address, draw_bytes(random_, plan_.weight_style, static_cast<std::size_t>(bytes))});
}

void DramDraft::add_parameters(std::int64_t address) {
  DramSegment segment{"params", address, {}};
  segment.bytes =
      draw_bytes(random_, ValueStyle::kUniform,
                 static_cast<std::size_t>(param_blocks_ * param_pitch_ + tables_ * kTableBytes));
  for (std::int64_t block = 0; block < param_blocks_; ++block) {
    std::byte* at = segment.bytes.data() + block * param_pitch_;
    for (std::int64_t c = 0; c < arch_.array_cols; ++c) put_channel(random_, arch_, c, at);
    if (arch_.is_dyadic() && random_.chance(0.6)) put_adder(random_, at);
  }
  program_.segments.push_back(std::move(segment));
}

void DramDraft::place(const PlacedCommand& placed, Store& store) const {
  store.dram_addr =
      u32(program_.layers[placed.layer].ofmap.address + placed.ofmap_word * arch_.array_cols);
}

void DramDraft::make_readable(const PlacedCommand& placed) {
  const Store& s = std::get<Store>(placed.command.fields);
  for (std::int64_t g = 0; g < s.groups; ++g) {
    for (std::int64_t r = 0; r < s.runs; ++r) {
      const std::int64_t at =
          placed.ofmap_word + (g * s.group_stride + r * s.run_stride) / arch_.array_cols;
      const auto first = readable_[placed.layer].begin() + at;
      std::fill(first, first + s.run_bytes / arch_.array_cols, true);
    }
  }
}

// A random stretch of an ofmap that has been stored, else the input.
DramDraft::Region DramDraft::readable_region(std::int64_t least_bytes) {
  const auto layer =
      static_cast<std::size_t>(random_.uniform(0, static_cast<std::int64_t>(readable_.size()) - 1));
  const std::vector<bool>& words = readable_[layer];
  const auto at = random_.uniform(0, static_cast<std::int64_t>(words.size()) - 1);
  auto begin = words.begin() + at;
  auto end = begin;
  while (end != words.end() && *end) ++end;
  while (begin != words.begin() && *(begin - 1)) --begin;
  std::int64_t first = (begin - words.begin()) * arch_.array_cols;
  const std::int64_t last = (end - words.begin()) * arch_.array_cols;
  first = round_up(first, arch_.array_rows);
  if (!words[static_cast<std::size_t>(at)] || last - first < least_bytes) {
    const DramTensor& input = program_.input.tensor;
    return {input.address, input.size_bytes()};
  }
  return {program_.layers[layer].ofmap.address + first, last - first};
}

void DramDraft::place_runs(Load& load, const Region& region, std::int64_t align) {
  const std::int64_t run = load.run_bytes;
  const std::int64_t gap = random_.chance(0.6) ? 0 : random_.uniform(0, 6) * align;
  std::int64_t run_stride = round_up(run, align) + gap;
  if (random_.chance(0.1)) run_stride = random_.uniform(1, ceil_div(run, align)) * align;
  std::int64_t group_stride = run_stride * load.runs;
  if (random_.chance(0.3)) group_stride += random_.uniform(0, 6) * align;
  if (random_.chance(0.1)) group_stride = random_.uniform(1, 8) * align;
  const auto extent = [&] {
    return (load.groups - std::int64_t{1}) * group_stride +
           (load.runs - std::int64_t{1}) * run_stride + run;
  };
  if (extent() > region.bytes) group_stride = run_stride = align;
  if (extent() > region.bytes)
    return place_runs(load, {program_.input.tensor.address, program_.input.tensor.size_bytes()},
                      align);
  const std::int64_t room = (region.bytes - extent()) / align;
  load.dram_addr = u32(region.address + random_.uniform(0, room) * align);
  // A stride that is never taken may be anything.
  load.run_stride =
      u32(load.runs > 1 ? run_stride : random_.uniform(0, max_of<Load>("run_stride")));
  load.group_stride =
      u32(load.groups > 1 ? group_stride : random_.uniform(0, max_of<Load>("group_stride")));
}

DramDraft::Region DramDraft::segment(const std::string& name) const {
  for (const DramSegment& s : program_.segments) {
    if (s.name == name) return {s.address, static_cast<std::int64_t>(s.bytes.size())};
  }
  return {};
}

// Where there are two segments of weights, the second of two runs or groups may come from the
// other.
void DramDraft::place_weights(Load& load) {
  const std::int64_t align = std::min(arch_.bus_bytes, arch_.weight_word_bytes());
  const Region near = segment("weights");
  const Region far = segment("far weights");
  const std::int64_t stride = far.address - near.address;
  if (far.bytes > 0 && load.groups == 2 && load.runs * std::int64_t{load.run_bytes} <= near.bytes) {
    Load group = load;
    group.groups = 1;
    place_runs(group, near, align);
    load.dram_addr = group.dram_addr;
    load.run_stride = group.run_stride;
    load.group_stride = u32(stride);
  } else if (far.bytes > 0 && load.groups == 1 && load.runs == 2 &&
             stride <= max_of<Load>("run_stride")) {
    Load run = load;
    run.runs = 1;
    place_runs(run, near, align);
    load.dram_addr = run.dram_addr;
    load.run_stride = u32(stride);
    load.group_stride = run.group_stride;
  } else {
    place_runs(load, near, align);
  }
}

void DramDraft::place(Load& load, bool reads_ofmaps) {
  switch (static_cast<LoadMemory>(load.memory)) {
    case LoadMemory::kActivation: {
      const DramTensor& input = program_.input.tensor;
      const Region region = reads_ofmaps ? readable_region(load.run_bytes)
                                         : Region{input.address, input.size_bytes()};
      return place_runs(load, region, arch_.array_rows);
    }
    case LoadMemory::kWeight:
      return place_weights(load);
    case LoadMemory::kParameter: {
      const Region region = segment("params");
      load.dram_addr = u32(region.address + random_.uniform(0, param_blocks_ - 1) * param_pitch_);
      load.run_stride = u32(random_.uniform(0, max_of<Load>("run_stride")));
      load.group_stride = u32(random_.uniform(0, max_of<Load>("group_stride")));
      return;
    }
    case LoadMemory::kTable:
      load.dram_addr = u32(segment("params").address + param_blocks_ * param_pitch_ +
                           random_.uniform(0, tables_ - 1) * kTableBytes);
      return;
  }
}

Tensor DramDraft::input() const {
  const DramTensor& tensor = program_.input.tensor;
  Random random(plan_.seed + 1);
  Tensor input(DType::kInt8, tensor.value.shape.nhwc());
  input.bytes = draw_bytes(random, plan_.input_style, input.bytes.size());
  return input;
}

}  // namespace qsim
