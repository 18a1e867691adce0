#include "golden/device/cold_timer.h"

#include <algorithm>
#include <cstdint>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "golden/device/cuda_error.h"

namespace qsim::golden::cuda {

int cold_rotations(std::size_t bytes) {
  QSIM_CHECK(bytes > 0, "a launch that touches nothing");
  int device = 0;
  int l2_bytes = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device),
        "asking for the size of the L2 cache");
  const std::int64_t cold =
      ceil_div(3 * std::int64_t{l2_bytes}, static_cast<std::int64_t>(bytes)) + 1;
  return static_cast<int>(std::min<std::int64_t>(cold, kMostColdRotations));
}

std::vector<double> time_cold(const Stream& stream, int rotations,
                              const std::function<void(int)>& enqueue, const ColdTiming& timing) {
  QSIM_CHECK(rotations >= 1, "no buffers to rotate over");
  constexpr int kWarmUpReplays = 3;
  const int launches =
      rotations * static_cast<int>(ceil_div(std::max(timing.fewest_launches, 1), rotations));
  const CapturedGraph graph(stream, [&] {
    for (int i = 0; i < launches; ++i) enqueue(i % rotations);
  });
  for (int i = 0; i < kWarmUpReplays; ++i) graph.replay(stream);
  stream.synchronize("warming up");
  std::vector<double> seconds = time_replays(stream, graph, timing.runs);
  for (double& value : seconds) value /= launches;
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

}  // namespace qsim::golden::cuda
