// Times kernels with cold caches: one CUDA graph has many launches on buffers that rotate, which
// together are larger than three times the L2 cache.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "golden/device/stream.h"

namespace qsim::golden::cuda {

// How many sets of buffers a kernel needs whose launch reads and writes `bytes`, so that between
// two uses of one set at least three times the L2 cache of the current device is touched. At
// least 2, and at most kMostColdRotations: launches of a few KB find their buffers in the cache.
inline constexpr int kMostColdRotations = 4096;
int cold_rotations(std::size_t bytes);

struct ColdTiming {
  int fewest_launches = 32;  // of one graph
  int runs = 15;             // replays of the graph
};

// Seconds of one launch, one value for each replay: the replay's time divided by its launches. In
// ascending order. enqueue(i) enqueues a launch on `stream` that uses the buffers i, 0 <= i <
// rotations; it runs only while the graph is captured. The graph has whole rotations. Replays
// before the measured ones warm the device up.
std::vector<double> time_cold(const Stream& stream, int rotations,
                              const std::function<void(int)>& enqueue,
                              const ColdTiming& timing = {});

}  // namespace qsim::golden::cuda
