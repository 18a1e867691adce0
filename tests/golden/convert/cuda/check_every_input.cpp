// Every input of each format, on the GPU and on the CPU, bit for bit.
#include <iostream>

#include "core/base/random.h"
#include "golden/kernels/convert/cuda/host_conversion.h"
#include "tests/golden/convert/cuda/check_commands.h"

namespace qsim::golden_test {
namespace {

using namespace qsim::golden;
using cuda::CodecPath;

struct Tally {
  std::uint64_t inputs = 0;
  std::uint64_t mismatches = 0;

  template <typename T>
  void add(const std::vector<T>& found, const std::vector<T>& expected) {
    inputs += expected.size();
    for (std::size_t i = 0; i < expected.size(); ++i) mismatches += found[i] != expected[i] ? 1 : 0;
  }
  bool report(const std::string& what) const {
    std::cout << what << ": " << inputs << " codes, " << mismatches << " mismatches" << std::endl;
    return mismatches == 0;
  }
};

// Scales of all kinds: ordinary ones, those of the ends, and with `any` ones that no quantization
// makes.
std::vector<float> scales_of(std::size_t count, bool any) {
  Random random(20261123);
  std::vector<float> scales = {1, 0x1p-126F, 0x1p125F, 3.0F, 1.0F / 3};
  if (any) {
    for (const std::uint32_t bits : {0U, 0x80000000U, kFp32Infinity, kFp32Nan, 0xFF800000U, 1U}) {
      scales.push_back(float_of(bits));
    }
  }
  while (scales.size() < count) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    scales.push_back(any ? float_of(bits) : float_of((bits & 0x0FFFFFFF) + 0x38000000));
  }
  return scales;
}

// All 65536 codes in a row, whose first finite ones are clipped to many scales.
bool quantize_all(ElementFormat source, ElementFormat target, ThreadTeam& team) {
  std::vector<std::uint16_t> codes(65536);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  const HalfTensor x{source, codes.data(), {1, 65536}, {}};
  Tally tally;
  for (const float clip : scales_of(60, false)) {
    for (const CodecPath path : {CodecPath::kAuto, CodecPath::kSoftware}) {
      const Quantization how{.format = target, .group = kPerToken, .clip_value = clip};
      QuantizedTensor expected, found;
      quantize(x, how, team, VectorPath::kAuto, expected);
      cuda::quantize_on_gpu(x, how, found, path);
      tally.add(found.values, expected.values);
      tally.add(found.scales, expected.scales);
    }
  }
  return tally.report(std::string(element_format_name(source)) + " to " +
                      std::string(element_format_name(target)));
}

// Groups of 512 whose largest elements are the numbers of one binade, and which together have each
// smaller number, of alternating sign: each significand over each significand. No other scales
// differ from these but by a power of two.
std::vector<std::uint16_t> pairs_of_significands(ElementFormat source) {
  const bool half = source == ElementFormat::kHalf;
  const int one = half ? 0x3C00 : 0x3F80;
  const int count = half ? 1024 : 128;
  std::vector<std::uint16_t> codes;
  for (int largest = one; largest < one + count; ++largest) {
    for (int code = 0; code < largest; ++code) {
      if (codes.size() % 512 == 0) codes.push_back(static_cast<std::uint16_t>(largest));
      codes.push_back(static_cast<std::uint16_t>(code | (code & 1) << 15));
    }
    codes.resize((codes.size() + 511) / 512 * 512, static_cast<std::uint16_t>(largest));
  }
  return codes;
}

bool quantize_pairs(ElementFormat source, ThreadTeam& team) {
  const std::vector<std::uint16_t> codes = pairs_of_significands(source);
  const HalfTensor x{
      source, codes.data(), {static_cast<std::int64_t>(codes.size()) / 512, 512}, {}};
  Tally tally;
  for (const ElementFormat target : kElementFormats) {
    if (is_source(target)) continue;
    for (const ScaleFormat scales : {ScaleFormat::kFp32, ScaleFormat::kUe8m0}) {
      for (const CodecPath path : {CodecPath::kAuto, CodecPath::kSoftware}) {
        const Quantization how{.format = target,
                               .group = 512,
                               .scales = scales,
                               .scale_rounding = PowerRounding::kHalfUp};
        QuantizedTensor expected, found;
        quantize(x, how, team, VectorPath::kAuto, expected);
        cuda::quantize_on_gpu(x, how, found, path);
        tally.add(found.values, expected.values);
        tally.add(found.scales, expected.scales);
        tally.add(found.scale_codes, expected.scale_codes);
      }
    }
  }
  return tally.report("pairs of significands of " + std::string(element_format_name(source)));
}

// All codes of a format in each of many rows, which have a scale each.
QuantizedTensor all_codes(ElementFormat format) {
  const std::vector<float> scales = scales_of(2000, true);
  QuantizedTensor q;
  q.how.format = format;
  q.how.group = kPerToken;
  q.shape = {static_cast<std::int64_t>(scales.size()), is_packed(format) ? 512 : 256};
  for (std::size_t row = 0; row < scales.size(); ++row) {
    for (int code = 0; code < 256; ++code) q.values.push_back(static_cast<std::uint8_t>(code));
  }
  q.scales = scales;
  return q;
}

bool dequantize_all(ElementFormat source, ThreadTeam& team) {
  const QuantizedTensor q = all_codes(source);
  Tally tally;
  for (const ElementFormat target : {ElementFormat::kHalf, ElementFormat::kBfloat16}) {
    std::vector<std::uint16_t> expected, found;
    dequantize(q, target, team, VectorPath::kAuto, expected);
    cuda::dequantize_on_gpu(q, target, found);
    tally.add(found, expected);
  }
  if (source == ElementFormat::kInt4) {
    for (const ElementFormat target : {ElementFormat::kE4m3, ElementFormat::kE5m2}) {
      for (const Int4ToFp8 what : {Int4ToFp8::kNumber, Int4ToFp8::kProduct}) {
        for (const CodecPath path : {CodecPath::kAuto, CodecPath::kSoftware}) {
          std::vector<std::uint8_t> expected, found;
          int4_to_fp8(q, target, what, team, VectorPath::kAuto, expected);
          cuda::int4_to_fp8_on_gpu(q, target, what, found, path);
          tally.add(found, expected);
        }
      }
    }
  }
  return tally.report("from " + std::string(element_format_name(source)));
}

}  // namespace

bool check_every_input() {
  ThreadTeam team(0);
  bool same = true;
  for (const ElementFormat source : {ElementFormat::kHalf, ElementFormat::kBfloat16}) {
    same = quantize_pairs(source, team) && same;
  }
  for (const ElementFormat target : kElementFormats) {
    if (is_source(target)) continue;
    for (const ElementFormat source : {ElementFormat::kHalf, ElementFormat::kBfloat16}) {
      same = quantize_all(source, target, team) && same;
    }
    same = dequantize_all(target, team) && same;
  }
  return same;
}

}  // namespace qsim::golden_test
