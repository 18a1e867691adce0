#include "tests/sim/systemc/reference_machine.h"

#include <algorithm>
#include <cstring>

#include "core/numerics/adder.h"

namespace qsim {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::int8_t random_byte(Random& random) {
  if (random.chance(0.1)) return random.chance(0.5) ? -128 : 127;
  return static_cast<std::int8_t>(random.uniform(-128, 127));
}

// Every address of the runs' bytes, in order.
template <typename Transfer>
std::vector<std::size_t> stream_addresses(const Transfer& transfer) {
  std::vector<std::size_t> addresses;
  for (std::int64_t g = 0; g < transfer.groups; ++g) {
    for (std::int64_t r = 0; r < transfer.runs; ++r) {
      for (std::int64_t b = 0; b < transfer.run_bytes; ++b) {
        addresses.push_back(
            at(transfer.dram_addr + g * transfer.group_stride + r * transfer.run_stride + b));
      }
    }
  }
  return addresses;
}

}  // namespace

ReferenceMachine::ReferenceMachine(const ArchConfig& arch_config)
    : arch(arch_config),
      activations(at(arch.act_words() * arch.array_rows), 0x5A),
      weights(at(arch.weight_words() * std::max(arch.array_rows, arch.array_cols)), 0x5A),
      outputs(at(arch.output_words() * arch.array_cols), 0x5A),
      parameters(at(kParamSlots * arch.param_block_bytes()), 0x5A),
      tables(at(arch.is_dyadic() ? kParamSlots * kTableBytes : 0), 0x5A) {
  for (auto& half : psums) {
    half.assign(at(arch.accumulator_half_words() * arch.array_cols), 0x5A5A5A5A);
  }
}

void ReferenceMachine::fill(Random& random) {
  for (auto* memory : {&activations, &weights, &outputs, &parameters, &tables}) {
    for (std::int8_t& byte : *memory) byte = random_byte(random);
  }
  for (auto& half : psums) {
    for (std::int32_t& psum : half) {
      psum = static_cast<std::int32_t>(random.next()) >> random.uniform(0, 31);
    }
  }
  const std::int64_t columns = arch.array_cols;
  for (std::int64_t slot = 0; slot < kParamSlots; ++slot) {
    for (std::int64_t c = 0; c < columns; ++c) {
      if (arch.is_dyadic()) {  // any shift is allowed; these leave levels between the ends
        if (random.chance(0.2)) continue;
        parameters[at(slot * arch.param_block_bytes() + 8 * c + 7)] =
            static_cast<std::int8_t>(random.uniform(40, 60));
        continue;
      }
      parameters[at(slot * arch.param_block_bytes() + 4 * columns + c)] =
          static_cast<std::int8_t>(random.uniform(0, 31));
    }
  }
}

void ReferenceMachine::load(const Load& load) {
  const std::vector<std::size_t> addresses = stream_addresses(load);
  const std::int64_t rows = arch.array_rows;
  const std::int64_t s = std::max(rows, arch.array_cols) / rows;
  const std::int64_t plane = load.plane_words;
  for (std::size_t b = 0; b < addresses.size(); ++b) {
    const auto byte = static_cast<std::int8_t>(dram[addresses[b]]);
    const auto offset = static_cast<std::int64_t>(b);
    if (load.memory == 3) {
      tables[at(load.local_addr * kTableBytes + offset)] = byte;
    } else if (load.memory == 2) {
      parameters[at(load.local_addr * arch.param_block_bytes() + offset)] = byte;
    } else if (load.memory == 1) {
      weights[at(load.local_addr * std::max(rows, arch.array_cols) + offset)] = byte;
    } else {
      const std::int64_t i = offset / rows;
      const std::int64_t word =
          s == 1 ? i : i / (s * plane) * s * plane + i % s * plane + i / s % plane;
      activations[at((load.local_addr + word) * rows + offset % rows)] = byte;
    }
  }
}

// The pseudo-code of docs/reference/isa.md, a channel at a time.
void ReferenceMachine::execute(const Execute& e) {
  std::int64_t fold = 0;
  for (std::int64_t p = 0; p < e.planes; ++p) {
    for (std::int64_t ky = 0; ky < e.kernel_h; ++ky) {
      for (std::int64_t kx = 0; kx < e.kernel_w; ++kx, ++fold) {
        for (std::int64_t b = 0; b < e.blocks; ++b) {
          for (std::int64_t oy = 0; oy < e.out_rows; ++oy) {
            for (std::int64_t ox = 0; ox < e.out_cols; ++ox) {
              execute_pixel(e, {fold, p, ky, kx}, b, oy, ox);
            }
          }
        }
      }
    }
  }
}

void ReferenceMachine::execute_pixel(const Execute& e, const Fold& fold, std::int64_t b,
                                     std::int64_t oy, std::int64_t ox) {
  const std::int64_t rows = arch.array_rows;
  const std::int64_t columns = arch.array_cols;
  const std::int64_t word_bytes = std::max(rows, columns);
  const std::int64_t fold_words = std::min(rows, columns);
  const std::int64_t first_word = e.weight_addr + (fold.number * e.blocks + b) * fold_words;
  const std::int64_t pixels = std::int64_t{e.out_rows} * e.out_cols;
  const std::int64_t iy = oy * e.stride_h + fold.ky + e.origin_row;
  const std::int64_t ix = ox * e.stride_w + fold.kx + e.origin_col;
  const bool resident = 0 <= iy && iy < e.in_rows && 0 <= ix && ix < e.in_cols;
  const std::int64_t word = e.act_addr + fold.p * e.act_plane_words + iy * e.act_row_words + ix;
  for (std::int64_t c = 0; c < columns; ++c) {
    std::uint32_t psum = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const int x = resident ? activations[at(word * rows + r)] : e.pad_value;
      const std::int64_t place = e.dataflow == 2 ? c * rows + r : r * columns + c;
      psum += static_cast<std::uint32_t>(x * weights[at(first_word * word_bytes + place)]);
    }
    std::int32_t& a =
        psums[e.acc_half][at((e.acc_addr + b * pixels + oy * e.out_cols + ox) * columns + c)];
    const bool overwrite = fold.number == 0 && e.accumulate == 0;
    a = static_cast<std::int32_t>(overwrite ? psum : static_cast<std::uint32_t>(a) + psum);
  }
}

std::int32_t ReferenceMachine::level(const Post& p, std::int64_t c, std::int32_t acc) const {
  const std::int8_t* slot = parameters.data() + p.param_slot * arch.param_block_bytes();
  std::int32_t bias = 0;
  if (!arch.is_dyadic()) {
    std::memcpy(&bias, slot + 4 * c, 4);
    return requantize(acc, bias, slot[4 * arch.array_cols + c],
                      static_cast<RoundingMode>(p.rounding), p.zero_point, p.lo, p.hi);
  }
  std::memcpy(&bias, slot + 8 * c, 4);
  std::uint32_t scale = 0;
  std::memcpy(&scale, slot + 8 * c + 4, 4);
  const Requantizer requantizer = {scale % (1U << 24), static_cast<int>(scale >> 24) % 64,
                                   static_cast<RequantizerRounding>(p.rounding)};
  return requantize(acc, bias, requantizer, p.zero_point, p.lo, p.hi);
}

// Adds psums a and b as the pseudo-code does.
std::int32_t ReferenceMachine::sum(const Post& p, std::int32_t a, std::int32_t b) const {
  const std::int8_t* slot = parameters.data() + p.param_slot * arch.param_block_bytes();
  std::array<std::uint32_t, 2> operands;
  std::uint64_t constant = 0;
  std::memcpy(operands.data(), slot, 8);
  std::memcpy(&constant, slot + 8, 8);
  constexpr std::uint64_t kSign = std::uint64_t{1} << 57;
  const auto fixed =
      static_cast<std::int64_t>(constant % (2 * kSign) ^ kSign) - static_cast<std::int64_t>(kSign);
  const auto level = [](std::int32_t psum, std::uint32_t operand) {
    const std::uint32_t byte = static_cast<std::uint32_t>(psum) % 256;
    return (static_cast<std::int32_t>(byte) ^ 128) - (operand >> 31 == 0 ? 128 : 0);
  };
  const auto ratio = [](std::uint32_t operand) {
    const std::int64_t shift = operand >> 24 & 31;
    return std::int64_t{operand % (1U << 24)} *
           (std::int64_t{1} << (shift < 24 ? shift : shift - 8));
  };
  const Adder adder = {ratio(operands[0]), ratio(operands[1]), fixed,
                       static_cast<RequantizerRounding>(p.rounding)};
  const std::int32_t unclamped =
      add_levels(level(a, operands[0]), level(b, operands[1]), adder, 0, INT32_MIN, INT32_MAX);
  return std::clamp(unclamped + p.zero_point, p.lo, p.hi);
}

void ReferenceMachine::post(const Post& p) {
  const std::int64_t columns = arch.array_cols;
  for (std::int64_t oy = 0; oy < p.out_rows; ++oy) {
    for (std::int64_t ox = 0; ox < p.out_cols; ++ox) {
      for (std::int64_t c = 0; c < columns; ++c) {
        std::int32_t best = p.lookup != 0 ? -128 : p.lo;
        for (std::int64_t ky = 0; ky < p.pool_h; ++ky) {
          for (std::int64_t kx = 0; kx < p.pool_w; ++kx) {
            const std::int64_t iy = oy * p.pool_stride_h + ky + p.origin_row;
            const std::int64_t ix = ox * p.pool_stride_w + kx + p.origin_col;
            if (iy < 0 || iy >= p.in_rows || ix < 0 || ix >= p.in_cols) continue;
            const std::int32_t acc =
                psums[p.acc_half][at((p.acc_addr + iy * p.in_cols + ix) * columns + c)];
            std::int32_t q = 0;
            if (p.add != 0) {
              const std::int64_t word = p.second_addr + iy * p.in_cols + ix;
              q = sum(p, psums[p.second_half][at(word * columns + c)], acc);
            } else {
              q = level(p, c, acc);
            }
            if (p.lookup != 0) q = tables[at(p.param_slot * kTableBytes + (q + 256) % 256)];
            best = std::max(best, q);
          }
        }
        outputs[at((p.out_addr + oy * p.out_cols + ox) * columns + c)] =
            static_cast<std::int8_t>(best);
      }
    }
  }
}

void ReferenceMachine::store(const Store& store) {
  const std::vector<std::size_t> addresses = stream_addresses(store);
  for (std::size_t b = 0; b < addresses.size(); ++b) {
    dram[addresses[b]] = static_cast<std::byte>(outputs[at(store.out_addr * arch.array_cols) + b]);
  }
}

}  // namespace qsim
