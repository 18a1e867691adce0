// add_file ROUNDING IN OUT: core/numerics/adder.h on the records of a file, for the test that
// compares it with ONNX Runtime. IN has records of nine 32-bit words: a, b, the bits of the float32
// scales of a, b and y, their zero_points, and the least level of y's type; OUT gets an int32 each.
// ROUNDING: half_even or float32.
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "core/numerics/adder.h"

namespace qsim {
namespace {

struct Record {
  std::int32_t a, b;
  std::uint32_t a_scale_bits, b_scale_bits, y_scale_bits;
  std::int32_t a_zero_point, b_zero_point, y_zero_point, lo;
};

std::optional<LevelScale> level_scale(std::uint32_t bits, std::int32_t zero_point) {
  const auto scale = Scale::of(std::bit_cast<float>(bits));
  return scale ? std::optional(LevelScale{*scale, zero_point}) : std::nullopt;
}

int run(std::string_view rounding_name, const char* in, const char* out) {
  const bool once = rounding_name == "half_even";
  std::ifstream file(in, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if ((!once && rounding_name != "float32") || bytes.size() % sizeof(Record) != 0) return 1;
  std::vector<std::int32_t> levels(bytes.size() / sizeof(Record));
  for (std::size_t i = 0; i < levels.size(); ++i) {
    Record r{};
    std::memcpy(&r, bytes.data() + i * sizeof(Record), sizeof(Record));
    const auto a = level_scale(r.a_scale_bits, r.a_zero_point);
    const auto b = level_scale(r.b_scale_bits, r.b_zero_point);
    const auto y = level_scale(r.y_scale_bits, r.y_zero_point);
    if (!a || !b || !y) return 1;
    const auto adder =
        adder_of(*a, *b, *y, once ? RequantizerRounding::kHalfEven : RequantizerRounding::kFloat32);
    if (!adder) return 1;
    levels[i] = add_levels(r.a, r.b, *adder, r.y_zero_point, r.lo, r.lo + 255);
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
  std::fprintf(stderr, "usage: add_file half_even|float32 IN OUT\n");
  return 2;
}
