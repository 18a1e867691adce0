// Clocks one Verilated array (Varray) with changing inputs and prints Mcycles/s: with weights never
// moving, moving 48 of 256 cycles (folds of 256 pixels on 16 x 16), and always moving. Medians
// of 9.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <Varray.h>
#include <verilated.h>

namespace {

constexpr std::uint32_t kCycles = 300'000;

double megacycles_per_second(Varray& array, std::uint32_t moving, std::uint32_t of) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  for (std::uint32_t i = 0; i < kCycles; ++i) {
    array.act_i[i % 4] = i * 2654435761u;
    array.weight_i[i % 4] = i * 2246822519u;
    array.shift_i = static_cast<SData>(i * 40503u);
    array.swap_i = static_cast<SData>(i * 30011u);
    array.flow_i = 1;
    array.wave_i = i % of < moving;
    array.clk_i = 1;
    array.eval();
    array.clk_i = 0;
    array.eval();
  }
  return kCycles / std::chrono::duration<double>(Clock::now() - begin).count() / 1e6;
}

double median_of_9(Varray& array, std::uint32_t moving, std::uint32_t of) {
  std::array<double, 9> runs{};
  for (double& run : runs) run = megacycles_per_second(array, moving, of);
  std::sort(runs.begin(), runs.end());
  return runs[4];
}

}  // namespace

int main() {
  VerilatedContext context;
  context.threads(1);
  Varray array(&context);
  const double never = median_of_9(array, 0, 1);
  const double often = median_of_9(array, 48, 256);
  const double always = median_of_9(array, 1, 1);
  std::printf("%6.2f %6.2f %6.2f Mcycles/s (weights move never, 48 of 256 cycles, always)\n", never,
              often, always);
}
