// requantize_file ROUNDING IN OUT: core/numerics/requantizer.h on the records of a file, for the
// test that compares it with ONNX Runtime. IN has records of six 32-bit words: acc, bias, the bits
// of a float32 scale, zero_point, lo, hi; OUT gets an int32 each. ROUNDING: floor, half_even,
// half_up, float32.
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/numerics/requantizer.h"

namespace qsim {
namespace {

struct Record {
  std::int32_t acc, bias;
  std::uint32_t scale_bits;
  std::int32_t zero_point, lo, hi;
};

int run(const char* rounding_name, const char* in, const char* out) {
  const char* const names[] = {"floor", "half_even", "half_up", "float32"};
  int rounding = 0;
  while (rounding < kAcceleratorRequantizerRoundings &&
         std::strcmp(names[rounding], rounding_name) != 0) {
    ++rounding;
  }
  std::ifstream file(in, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (rounding == kAcceleratorRequantizerRoundings || bytes.size() % sizeof(Record) != 0) return 1;
  std::vector<std::int32_t> levels(bytes.size() / sizeof(Record));
  for (std::size_t i = 0; i < levels.size(); ++i) {
    Record record{};
    std::memcpy(&record, bytes.data() + i * sizeof(Record), sizeof(Record));
    const auto scale = Scale::of(std::bit_cast<float>(record.scale_bits));
    if (!scale.has_value()) return 1;
    const Requantizer requantizer =
        requantizer_of(*scale, static_cast<RequantizerRounding>(rounding));
    levels[i] =
        requantize(record.acc, record.bias, requantizer, record.zero_point, record.lo, record.hi);
  }
  std::ofstream(out, std::ios::binary)
      .write(reinterpret_cast<const char*>(levels.data()),
             static_cast<std::streamsize>(levels.size() * sizeof(std::int32_t)));
  return 0;
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  if (argc == 4 && qsim::run(argv[1], argv[2], argv[3]) == 0) return 0;
  std::fprintf(stderr, "usage: requantize_file floor|half_even|half_up|float32 IN OUT\n");
  return 2;
}
