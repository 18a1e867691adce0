// How fast this core multiplies and copies when nothing else happens, as a line of JSON: the limits
// of cpu.py.
#include <cstdio>
#include <string>

#include "bench/golden_cpu/multiply_peak.h"
#include "bench/limits/memory_pass.h"
#include "bench/train/multiply_add_peak.h"

int main() {
  using qsim::golden::VectorPath;
  const auto int8 = qsim::bench::multiply_peak_macs_per_second(VectorPath::kAuto);
  const auto real = qsim::bench::multiply_add_peak(VectorPath::kAuto);
  if (!int8 || !real) {
    std::fputs("train_limits: no limit is known of this processor's instructions\n", stderr);
    return 1;
  }
  constexpr std::size_t kBytes = 64 << 20;  // more than caches hold
  const double copy = qsim::MemoryPass(kBytes).copy_seconds();
  const auto text = [](std::string_view words) { return std::string(words); };
  std::printf(R"({"int8": %.6g, "float32": %.6g, "bytes": %.6g, "instructions": ["%s", "%s"]})"
              "\n",
              *int8, *real, 2.0 * kBytes / copy,
              text(qsim::bench::multiply_instructions(VectorPath::kAuto)).c_str(),
              text(qsim::bench::multiply_add_instruction(VectorPath::kAuto)).c_str());
}
