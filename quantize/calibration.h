// Runs the float network over calibration pictures and keeps the statistics of every tensor.
#pragma once

#include <functional>
#include <vector>

#include "core/network/graph.h"
#include "golden/common/thread_team.h"
#include "quantize/ranges/tensor_statistics.h"

namespace qsim::quantize {

// float32 [N][H][W][C]; how many pictures there are, and a batch of them.
struct CalibrationPictures {
  std::int64_t count = 0;
  std::function<Tensor(std::int64_t first, std::int64_t pictures)> read;
};

inline constexpr std::int64_t kCalibrationBatch = 32;

// One a tensor of the graph. `on_progress`, unless empty, is told how many of 2 * count pictures
// are done, and may throw. Throws Error where a tensor has values that are not finite, naming the
// layer.
std::vector<TensorStatistics> calibrate(const Graph& graph, const CalibrationPictures& pictures,
                                        golden::ThreadTeam& team,
                                        const std::function<void(std::int64_t)>& on_progress = {});

}  // namespace qsim::quantize
