// The optimised conversions equal the plain ones in every bit, on every vector path that this
// processor has. 10,000 random cases a format; QSIM_TEST_SEED chooses other ones.
#include "tests/golden/convert/random_conversion.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace qsim::golden {
namespace {

constexpr std::uint64_t kCases = 10000;

std::uint64_t first_seed() {
  const char* text = std::getenv("QSIM_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

void expect_equal(const QuantizedTensor& found, const QuantizedTensor& expected) {
  EXPECT_EQ(found.values, expected.values);
  EXPECT_EQ(found.scales, expected.scales);
  EXPECT_EQ(found.scale_codes, expected.scale_codes);
  EXPECT_EQ(found.zero_points, expected.zero_points);
  EXPECT_EQ(bits_of(found.global_scale), bits_of(expected.global_scale));
}

class Case {
 public:
  Case(std::uint64_t seed, ElementFormat format)
      : seed_(seed), conversion_(random_conversion(seed, format)) {}

  void check_on(VectorPath path) {
    ThreadTeam& team = conversion_.threads == 1 ? one_ : three_;
    const QuantizedTensor expected = quantize_reference(conversion_.x, conversion_.how);
    QuantizedTensor found;
    quantize(conversion_.x, conversion_.how, team, path, found);
    expect_equal(found, expected);
    disturb(found, seed_);
    for (const ElementFormat target : {ElementFormat::kHalf, ElementFormat::kBfloat16}) {
      std::vector<std::uint16_t> numbers;
      dequantize(found, target, team, path, numbers);
      EXPECT_EQ(numbers, dequantize_reference(found, target));
    }
    if (found.how.format != ElementFormat::kInt4) return;
    for (const ElementFormat target : {ElementFormat::kE4m3, ElementFormat::kE5m2}) {
      for (const Int4ToFp8 what : {Int4ToFp8::kNumber, Int4ToFp8::kProduct}) {
        if (target == ElementFormat::kE5m2 && what == Int4ToFp8::kNumber && found.how.zero_point) {
          continue;
        }
        std::vector<std::uint8_t> codes;
        int4_to_fp8(found, target, what, team, path, codes);
        EXPECT_EQ(codes, int4_to_fp8_reference(found, target, what));
      }
    }
  }

  std::string text() const { return "seed " + std::to_string(seed_) + ": " + conversion_.text(); }

 private:
  static inline ThreadTeam one_{1};
  static inline ThreadTeam three_{3};
  std::uint64_t seed_;
  RandomConversion conversion_;
};

void check_cases(ElementFormat format) {
  const std::uint64_t first = first_seed();
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + kCases - 1));
  for (std::uint64_t seed = first; seed < first + kCases; ++seed) {
    Case one(seed, format);
    for (const VectorPath path :
         {VectorPath::kAvx512Vnni, VectorPath::kAvx2, VectorPath::kPortable}) {
      // Each case on one path, and one case of ten on all.
      const bool chosen = seed % 10 == 0 || seed % 3 == static_cast<std::uint64_t>(path) % 3;
      if (!is_available(path) || !chosen) continue;
      one.check_on(path);
      ASSERT_FALSE(::testing::Test::HasFailure()) << one.text() << " on " << vector_path_name(path);
    }
  }
}

TEST(RandomConversions, ToInt8EqualThePlainOnes) { check_cases(ElementFormat::kInt8); }
TEST(RandomConversions, ToFp8E4m3EqualThePlainOnes) { check_cases(ElementFormat::kE4m3); }
TEST(RandomConversions, ToFp8E5m2EqualThePlainOnes) { check_cases(ElementFormat::kE5m2); }
TEST(RandomConversions, ToInt4EqualThePlainOnes) { check_cases(ElementFormat::kInt4); }
TEST(RandomConversions, ToFp4E2m1EqualThePlainOnes) { check_cases(ElementFormat::kE2m1); }

}  // namespace
}  // namespace qsim::golden
