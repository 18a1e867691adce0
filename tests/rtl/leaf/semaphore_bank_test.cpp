// The RTL's semaphores, as Verilator reads them, against counts of plain integers. The proof over
// all states is in rtl/formal; it takes the bank as Yosys reads it.
#include <array>
#include <random>

#include <Vsemaphore_bank.h>
#include <gtest/gtest.h>
#include <verilated.h>

#include "core/machine/isa/commands.h"

namespace qsim::test {
namespace {

// The masks of one cycle, unit u's in bits 16 u and up.
struct Cycle {
  std::uint64_t wait_mask = 0;
  std::uint64_t signal_mask = 0;
  unsigned starts = 0;
  unsigned dones = 0;
};

int sum(std::uint64_t mask, unsigned units, std::size_t semaphore) {
  int total = 0;
  for (std::size_t unit = 0; unit < kUnits; ++unit) {
    total += static_cast<int>(units >> unit & 1u & mask >> (16 * unit + semaphore));
  }
  return total;
}

void clock(Vsemaphore_bank& bank) {
  for (const int level : {0, 1}) {
    bank.clk_i = static_cast<CData>(level);
    bank.eval();
  }
}

void drive(Vsemaphore_bank& bank, const Cycle& cycle) {
  bank.wait_mask_i = cycle.wait_mask;
  bank.signal_mask_i = cycle.signal_mask;
  bank.start_i = static_cast<CData>(cycle.starts);
  bank.done_i = static_cast<CData>(cycle.dones);
}

// A cycle after which every count is within 0..15; bits that break this are taken out.
Cycle legal_cycle(std::mt19937_64& random, const std::array<int, kSemaphores>& counts) {
  Cycle cycle{random(), random(), static_cast<unsigned>(random() & 15),
              static_cast<unsigned>(random() & 15)};
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    const std::uint64_t bits = std::uint64_t{0x0001'0001'0001'0001} << s;
    const int raised = sum(cycle.signal_mask, cycle.dones, s);
    const int lowered = sum(cycle.wait_mask, cycle.starts, s);
    if (counts[s] + raised - lowered < 0) cycle.wait_mask &= ~bits;
    if (counts[s] + raised - lowered > kSemaphoreMax) cycle.signal_mask &= ~bits;
    // Taking one side out can leave the other beyond the range.
    if (counts[s] + sum(cycle.signal_mask, cycle.dones, s) > kSemaphoreMax &&
        sum(cycle.wait_mask, cycle.starts, s) == 0) {
      cycle.signal_mask &= ~bits;
    }
    if (counts[s] < sum(cycle.wait_mask, cycle.starts, s) &&
        sum(cycle.signal_mask, cycle.dones, s) == 0) {
      cycle.wait_mask &= ~bits;
    }
  }
  return cycle;
}

TEST(SemaphoreBankRtl, CountsAreThoseOfPlainIntegers) {
  VerilatedContext context;
  Vsemaphore_bank bank(&context);
  constexpr std::uint64_t kSeed = 1;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  bank.rst_ni = 0;
  clock(bank);
  bank.rst_ni = 1;
  std::array<int, kSemaphores> counts{};
  std::array<int, kSemaphoreMax + 1> seen{};
  for (int cycle_number = 0; cycle_number < 100'000; ++cycle_number) {
    bank.init_valid_i = cycle_number % 1000 == 0;
    bank.init_i = random();
    Cycle cycle;
    if (bank.init_valid_i == 0) cycle = legal_cycle(random, counts);
    drive(bank, cycle);
    clock(bank);
    for (std::size_t s = 0; s < kSemaphores; ++s) {
      counts[s] += sum(cycle.signal_mask, cycle.dones, s) - sum(cycle.wait_mask, cycle.starts, s);
      if (bank.init_valid_i != 0) counts[s] = static_cast<int>(bank.init_i >> (4 * s) & 15);
      ASSERT_GE(counts[s], 0);
      ASSERT_LE(counts[s], kSemaphoreMax);
      ++seen[static_cast<std::size_t>(counts[s])];
      ASSERT_EQ(bank.available_o >> s & 1, counts[s] > 0 ? 1 : 0)
          << "semaphore " << s << " in cycle " << cycle_number;
    }
  }
  for (const int times : seen) EXPECT_GT(times, 0);
}

}  // namespace
}  // namespace qsim::test
