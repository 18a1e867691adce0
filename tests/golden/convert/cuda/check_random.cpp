// Random conversions on the GPU and on the CPU, bit for bit.
#include <cstdio>
#include <iostream>

#include "golden/convert/cuda/host_conversion.h"
#include "tests/golden/convert/cuda/check_commands.h"
#include "tests/golden/convert/random_conversion.h"

namespace qsim::golden_test {
namespace {

using namespace qsim::golden;
using cuda::CodecPath;

std::string difference(const QuantizedTensor& found, const QuantizedTensor& expected) {
  const auto first = [](const auto& a, const auto& b) {
    std::size_t i = 0;
    while (i < a.size() && a[i] == b[i]) ++i;
    return std::to_string(i) + " of " + std::to_string(b.size()) + ": " + std::to_string(a[i]) +
           ", expected " + std::to_string(b[i]);
  };
  if (found.scales != expected.scales) return "scale " + first(found.scales, expected.scales);
  if (found.scale_codes != expected.scale_codes) {
    return "scale code " + first(found.scale_codes, expected.scale_codes);
  }
  if (found.zero_points != expected.zero_points) {
    return "zero_point " + first(found.zero_points, expected.zero_points);
  }
  if (bits_of(found.global_scale) != bits_of(expected.global_scale)) return "the global scale";
  if (found.values != expected.values) return "byte " + first(found.values, expected.values);
  return "";
}

template <typename T>
std::string difference(const std::vector<T>& found, const std::vector<T>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (found[i] == expected[i]) continue;
    return "element " + std::to_string(i) + " of " + std::to_string(expected.size()) + ": " +
           std::to_string(found[i]) + ", expected " + std::to_string(expected[i]);
  }
  return "";
}

class RandomCase {
 public:
  RandomCase(std::uint64_t seed, ElementFormat format)
      : seed_(seed),
        conversion_(random_conversion(seed, format)),
        path_(seed % 2 == 0 ? CodecPath::kAuto : CodecPath::kSoftware) {}

  // What differs; "" if nothing does.
  std::string run(ThreadTeam& team) {
    QuantizedTensor q;
    QuantizedTensor found;
    quantize(conversion_.x, conversion_.how, team, VectorPath::kAuto, q);
    cuda::quantize_on_gpu(conversion_.x, conversion_.how, found, path_);
    std::string text = difference(found, q);
    if (!text.empty()) return text;
    disturb(q, seed_);
    for (const ElementFormat target : {ElementFormat::kHalf, ElementFormat::kBfloat16}) {
      std::vector<std::uint16_t> expected, halves;
      dequantize(q, target, team, VectorPath::kAuto, expected);
      cuda::dequantize_on_gpu(q, target, halves);
      text = difference(halves, expected);
      if (!text.empty()) return "to " + std::string(element_format_name(target)) + " " + text;
    }
    return q.how.format == ElementFormat::kInt4 ? run_int4(q, team) : "";
  }

  std::string text() const {
    return "seed " + std::to_string(seed_) + (path_ == CodecPath::kAuto ? "" : " in software") +
           ": " + conversion_.text();
  }

 private:
  std::string run_int4(const QuantizedTensor& q, ThreadTeam& team) const {
    for (const ElementFormat target : {ElementFormat::kE4m3, ElementFormat::kE5m2}) {
      for (const Int4ToFp8 what : {Int4ToFp8::kNumber, Int4ToFp8::kProduct}) {
        if (target == ElementFormat::kE5m2 && what == Int4ToFp8::kNumber && q.how.zero_point) {
          continue;
        }
        std::vector<std::uint8_t> expected, codes;
        int4_to_fp8(q, target, what, team, VectorPath::kAuto, expected);
        cuda::int4_to_fp8_on_gpu(q, target, what, codes, path_);
        const std::string text = difference(codes, expected);
        if (!text.empty()) return "to " + std::string(element_format_name(target)) + " " + text;
      }
    }
    return "";
  }

  std::uint64_t seed_;
  RandomConversion conversion_;
  CodecPath path_;
};

}  // namespace

bool check_random_conversions(const RandomConversions& options) {
  ThreadTeam team(1);
  std::uint64_t mismatches = 0;
  for (const ElementFormat format : kElementFormats) {
    if (is_source(format)) continue;
    const std::uint64_t before = mismatches;
    for (std::uint64_t seed = options.seed; seed < options.seed + options.count; ++seed) {
      RandomCase one(seed, format);
      const std::string text = one.run(team);
      if (text.empty()) continue;
      if (++mismatches <= 20) std::cout << one.text() << "\n  " << text << "\n";
    }
    std::cout << element_format_name(format) << ": seeds " << options.seed << " to "
              << options.seed + options.count - 1 << ", " << options.count << " cases, "
              << mismatches - before << " mismatches" << std::endl;
  }
  return mismatches == 0;
}

}  // namespace qsim::golden_test
