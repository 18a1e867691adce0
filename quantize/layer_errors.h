// What quantizing did to each layer: the float network and the quantized one, which golden runs,
// side by side on the same pictures.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/network/graph.h"
#include "core/network/quantized_network.h"
#include "golden/common/thread_team.h"
#include "quantize/calibration.h"
#include "quantize/quantizer.h"
#include "quantize/ranges/tensor_error.h"

namespace qsim::quantize {

// A layer of the Graph that the quantized network has, with the ReLU that it clamps by.
struct LayerError {
  std::size_t layer = 0;      // of Graph::layers
  std::size_t quantized = 0;  // of the quantized Graph's layers
  Quantization quantization;  // of its ofmap
  TensorError error;          // of its ofmap, clamped as the layer clamps
};

struct NetworkError {
  TensorError input;  // only rounded
  std::vector<LayerError> layers;
  TensorError output;  // of the network
};

// `on_progress`, unless empty, is told how many pictures are done, and may throw. The same bits for
// any number of threads. `most_bytes` bounds the float tensors in memory, but for one picture.
NetworkError measure_errors(const Graph& graph, const TensorQuantizations& tensors,
                            const QuantizedNetwork& network, const CalibrationPictures& pictures,
                            golden::ThreadTeam& team,
                            const std::function<void(std::int64_t)>& on_progress = {},
                            std::int64_t most_bytes = std::int64_t{256} << 20);

}  // namespace qsim::quantize
