// Runs a HostNetwork over samples: the statistics of its tensors, and what quantizing does to them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/network/host_network.h"
#include "golden/common/thread_team.h"
#include "quantize/hosted/qdq_network.h"
#include "quantize/ranges/tensor_error.h"
#include "quantize/ranges/tensor_statistics.h"

namespace qsim::quantize {

// How many there are, and the tensors of the network's inputs for one of them. `read` is called by
// several threads at once.
struct HostSamples {
  std::int64_t count = 0;
  std::function<std::vector<Tensor>(std::int64_t sample)> read;
};

// Told how many samples are done; may throw.
using SampleProgress = std::function<void(std::int64_t)>;

// By value: the statistics of those that `wanted` has, each sample a batch; the network runs twice.
// `network` has been folded and shaped. Throws Error naming a tensor with values that are not
// finite. The same for any number of threads.
std::vector<TensorStatistics> calibrate_host(const HostNetwork& network,
                                             const std::vector<HostValueId>& wanted,
                                             const HostSamples& samples, golden::ThreadTeam& team,
                                             const SampleProgress& on_progress = {});

struct HostErrors {
  std::vector<TensorError> tensors;  // by value of the float network, of those that are quantized
  TensorError output;                // of all float32 outputs that have one shape in both
  std::vector<Tensor> outputs;       // of the quantized network, for the first sample
};

// Both networks on the first `most` samples; both have been folded and shaped.
HostErrors measure_host(const HostNetwork& real, const QdqNetwork& quantized,
                        const HostSamples& samples, std::int64_t most, golden::ThreadTeam& team,
                        const SampleProgress& on_progress = {});

}  // namespace qsim::quantize
