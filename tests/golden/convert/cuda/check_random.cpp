// Random conversions on the GPU and on the CPU, bit for bit.
#include <cstdio>
#include <iostream>
#include <map>

#include "golden/kernels/convert/cuda/host_conversion.h"
#include "golden/kernels/convert/cuda/plan.h"
#include "tests/golden/convert/cuda/check_commands.h"
#include "tests/golden/convert/random_conversion.h"
#include "tests/golden/device/chosen_cases.h"

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

// The kernels that a quantization takes on a GPU. Uploaded tensors are aligned to 16 bytes, so the
// plan of an aligned pointer is that of the device.
std::string quantizing_family(const HalfTensor& x, const Quantization& how) {
  alignas(16) static std::uint16_t aligned[8];
  HalfTensor tensor = x;
  tensor.data = aligned;
  cuda::DeviceQuantized out;
  out.how = how;
  out.values = reinterpret_cast<std::uint8_t*>(aligned);
  const cuda::QuantizePlan plan = cuda::plan_quantize(tensor, out, nullptr);
  if (!plan.long_groups) return plan.flat ? "flat_groups" : "groups";
  if (!plan.flat) return "long_groups";
  return how.group == kPerTensor ? "flat_tensor" : "flat_rows";
}

std::string decoding_family(const QuantizedTensor& q, int chunk_elems, const std::string& name) {
  alignas(16) static std::uint8_t aligned[16];
  cuda::DeviceQuantized device;
  device.how = q.how;
  device.shape = q.shape;
  device.values = aligned;
  return (cuda::plan_decode(device, chunk_elems, true, aligned).flat ? "flat_" : "") + name;
}

// Runs and mismatching runs of each family.
struct KernelTally {
  std::map<std::string, std::uint64_t> runs, mismatching;
  std::uint64_t mismatches = 0;

  void add(const std::string& family, bool same) {
    ++runs[family];
    if (same) return;
    ++mismatching[family];
    ++mismatches;
  }
  static void print(const char* what, const std::map<std::string, std::uint64_t>& counts) {
    std::cout << what;
    for (const auto& [family, count] : counts) std::cout << " " << family << " " << count;
    std::cout << "\n";
  }
};

class RandomCase {
 public:
  RandomCase(std::uint64_t seed, ElementFormat format, KernelTally& tally)
      : seed_(seed),
        conversion_(random_conversion(seed, format)),
        path_(seed % 2 == 0 ? CodecPath::kAuto : CodecPath::kSoftware),
        tally_(tally) {}

  void run(ThreadTeam& team) {
    QuantizedTensor q;
    QuantizedTensor found;
    quantize(conversion_.x, conversion_.how, team, VectorPath::kAuto, q);
    cuda::quantize_on_gpu(conversion_.x, conversion_.how, found, path_);
    compare(quantizing_family(conversion_.x, conversion_.how), difference(found, q));
    disturb(q, seed_);
    for (const ElementFormat target : {ElementFormat::kHalf, ElementFormat::kBfloat16}) {
      std::vector<std::uint16_t> expected, halves;
      dequantize(q, target, team, VectorPath::kAuto, expected);
      cuda::dequantize_on_gpu(q, target, halves);
      compare(decoding_family(q, 8, "back"), difference(halves, expected));
    }
    if (q.how.format == ElementFormat::kInt4) run_int4(q, team);
  }

 private:
  void compare(const std::string& family, const std::string& difference) {
    tally_.add(family, difference.empty());
    if (difference.empty() || tally_.mismatches > 20) return;
    std::cout << "seed " << seed_ << (path_ == CodecPath::kAuto ? "" : " in software") << ": "
              << conversion_.text() << "\n  " << family << ": " << difference << "\n";
  }

  void run_int4(const QuantizedTensor& q, ThreadTeam& team) {
    for (const ElementFormat target : {ElementFormat::kE4m3, ElementFormat::kE5m2}) {
      for (const Int4ToFp8 what : {Int4ToFp8::kNumber, Int4ToFp8::kProduct}) {
        if (target == ElementFormat::kE5m2 && what == Int4ToFp8::kNumber && q.how.zero_point) {
          continue;
        }
        std::vector<std::uint8_t> expected, codes;
        int4_to_fp8(q, target, what, team, VectorPath::kAuto, expected);
        cuda::int4_to_fp8_on_gpu(q, target, what, codes, path_);
        compare(decoding_family(q, 16, "int4_to_fp8"), difference(codes, expected));
      }
    }
  }

  std::uint64_t seed_;
  RandomConversion conversion_;
  CodecPath path_;
  KernelTally& tally_;
};

// So many cases in one process of gpu-test meet the kernels of all families.
constexpr std::uint64_t kCasesToMeetAll = 200;
constexpr std::array kFamilies = {"flat_groups", "flat_rows",        "flat_tensor",
                                  "groups",      "long_groups",      "flat_back",
                                  "back",        "flat_int4_to_fp8", "int4_to_fp8"};

}  // namespace

bool check_random_conversions(const RandomConversions& options, ChosenCases& chosen) {
  ThreadTeam team(1);
  KernelTally tally;
  const std::uint64_t last = options.seed + options.count - 1;
  for (const ElementFormat format : kElementFormats) {
    if (is_source(format)) continue;
    const std::uint64_t before = tally.mismatches;
    for (std::uint64_t seed = options.seed; seed <= last; ++seed) {
      const std::string name =
          std::string(element_format_name(format)) + "." + std::to_string(seed);
      if (chosen.begin(name)) RandomCase(seed, format, tally).run(team);
    }
    std::cout << element_format_name(format) << ": seeds " << options.seed << " to " << last << ", "
              << options.count << " cases, " << tally.mismatches - before << " mismatches"
              << std::endl;
  }
  KernelTally::print("runs by family:", tally.runs);
  if (tally.mismatches > 0) KernelTally::print("mismatching runs by family:", tally.mismatching);
  std::uint64_t runs = 0;
  for (const auto& [family, count] : tally.runs) runs += count;
  std::cout << runs << " conversions compared, seeds " << options.seed << " to " << last << ", "
            << tally.mismatches << " mismatching runs" << std::endl;
  for (const char* family : kFamilies) {
    if (chosen.all() && options.count >= kCasesToMeetAll && !tally.runs.contains(family)) {
      throw InternalError(std::string("no case met the kernel for ") + family);
    }
  }
  return tally.mismatches == 0;
}

}  // namespace qsim::golden_test
