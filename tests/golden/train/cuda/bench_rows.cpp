#include "tests/golden/train/cuda/bench_rows.h"

#include <cstdio>

#include "core/base/random.h"
#include "golden/device/cold_timer.h"
#include "golden/device/copy_time.h"

namespace qsim::golden_test {

using namespace golden::train;
using golden::cuda::DeviceBuffer;

namespace {
// int8 products that the tensor cores of an H100 or H200 do in a second, of the datasheet.
constexpr double kProductsPerSecond = 1979e12;
}  // namespace

void bench(const BenchForwardOptions& options, const std::string& name, const Work& work,
           const std::function<EnqueueCall(int)>& make) {
  if (name.find(options.only) == std::string::npos) return;
  const golden::cuda::Stream stream;
  const int rotations = std::min(
      golden::cuda::cold_rotations(static_cast<std::size_t>(work.read_bytes + work.written_bytes)),
      24);
  std::vector<EnqueueCall> calls;
  for (int i = 0; i < rotations; ++i) calls.push_back(make(i));
  golden::cuda::ColdTiming timing;
  timing.runs = 9;
  timing.fewest_launches = 4;
  const std::vector<double> seconds = golden::cuda::time_cold(
      stream, rotations, [&](int i) { calls[static_cast<std::size_t>(i)](stream.get()); }, timing);
  const double median = seconds[seconds.size() / 2];
  const double copy = golden::time_copy(work.read_bytes, work.written_bytes, 0);
  const double cores = work.operations / kProductsPerSecond;
  std::printf("%-66s %9.1f %9.1f %9.1f %7.2f %8.0f\n", name.c_str(), median * 1e6, copy * 1e6,
              cores * 1e6, median / std::max(copy, cores), work.operations / median * 1e-12);
  std::fflush(stdout);
}

std::shared_ptr<DeviceBuffer> random_buffer(std::int64_t bytes, bool floats) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>((bytes + 7) / 8));
  Random random(7);
  for (std::uint64_t& word : words) {
    word = random.next();
    if (floats) word = (word & 0x80FFFFFF80FFFFFFULL) | 0x3F0000003F000000ULL;
  }
  return std::make_shared<DeviceBuffer>(golden::cuda::upload(words));
}

std::int64_t size_of(RealType type) { return type == RealType::kFloat32 ? 4 : 2; }
const char* name_of(RealType type) { return type == RealType::kFloat32 ? "fp32" : "bf16"; }

RealTensor bench_tensor(const ImageShape& s, RealType type, bool nchw, void* data) {
  RealTensor made{data, type, {s.batch, s.height, s.width, s.channels}, {}};
  made.strides = nchw ? std::array<std::int64_t, 4>{s.channels * s.height * s.width, s.width, 1,
                                                    s.height * s.width}
                      : std::array<std::int64_t, 4>{s.height * s.width * s.channels,
                                                    s.width * s.channels, s.channels, 1};
  return made;
}

std::string text_of(const ImageShape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width) +
         "x" + std::to_string(s.channels);
}

}  // namespace qsim::golden_test
