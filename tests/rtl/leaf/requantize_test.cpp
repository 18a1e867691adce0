// The RTL's requantize functions, as Verilator reads them, equal core/numerics/requantize.h. The
// proof over all inputs is in rtl/formal; it takes the functions as Yosys reads them.
#include "core/numerics/requantize.h"

#include <array>
#include <random>

#include <Vrequantize_probe.h>
#include <gtest/gtest.h>
#include <verilated.h>

namespace qsim::test {
namespace {

struct Inputs {
  std::int32_t acc = 0;
  std::int32_t bias = 0;
  int shift = 0;
  int mode = 0;
  int zero_point = 0;
  int lo = 0;
  int hi = 0;
};

int rtl_requantize(Vrequantize_probe& probe, const Inputs& in) {
  probe.acc_i = static_cast<IData>(in.acc);
  probe.bias_i = static_cast<IData>(in.bias);
  probe.shift_i = static_cast<CData>(in.shift);
  probe.rounding_i = static_cast<CData>(in.mode);
  probe.zero_point_i = static_cast<CData>(in.zero_point & 0xff);
  probe.lo_i = static_cast<CData>(in.lo & 0xff);
  probe.hi_i = static_cast<CData>(in.hi & 0xff);
  probe.eval();
  return static_cast<std::int8_t>(probe.q_o);
}

void expect_equal(Vrequantize_probe& probe, const Inputs& in) {
  ASSERT_EQ(rtl_requantize(probe, in),
            requantize(in.acc, in.bias, in.shift, static_cast<RoundingMode>(in.mode), in.zero_point,
                       in.lo, in.hi))
      << "acc " << in.acc << " bias " << in.bias << " shift " << in.shift << " mode " << in.mode
      << " zero_point " << in.zero_point << " lo " << in.lo << " hi " << in.hi;
}

TEST(RequantizeRtl, ValuesAroundTiesAndEndsEqualTheContract) {
  VerilatedContext context;
  Vrequantize_probe probe(&context);
  const std::array<std::int32_t, 4> biases = {0, -1, INT32_MAX, INT32_MIN};
  for (int shift = 0; shift <= kMaxShift; ++shift) {
    for (int mode = 0; mode < kAcceleratorRoundingModes; ++mode) {
      for (std::int64_t halves = -600; halves <= 600; ++halves) {
        for (std::int64_t near = -1; near <= 1; ++near) {
          const std::int64_t t = (halves << shift) / 2 + near;
          for (const std::int32_t bias : biases) {
            const std::int64_t acc = t - bias;
            if (acc < INT32_MIN || acc > INT32_MAX) continue;
            expect_equal(probe, {static_cast<std::int32_t>(acc), bias, shift, mode, 0, -128, 127});
          }
        }
      }
    }
  }
}

TEST(RequantizeRtl, RandomValuesEqualTheContract) {
  VerilatedContext context;
  Vrequantize_probe probe(&context);
  constexpr std::uint64_t kSeed = 1;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto byte = [&] { return static_cast<int>(static_cast<std::int8_t>(random())); };
    const auto narrow = random() % 32;
    Inputs in;
    in.acc = static_cast<std::int32_t>(random()) >> narrow;
    in.bias = static_cast<std::int32_t>(random()) >> narrow;
    in.shift = static_cast<int>(random() % 32);
    in.mode = static_cast<int>(random() % kAcceleratorRoundingModes);
    in.zero_point = byte();
    in.lo = byte();
    in.hi = byte();
    if (in.lo > in.hi) std::swap(in.lo, in.hi);
    expect_equal(probe, in);
  }
}

}  // namespace
}  // namespace qsim::test
