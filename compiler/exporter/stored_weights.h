// The weights of a layer as the file has them: channels first, with their zero_points, and scales
// that give the layer's requantizers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/quantized_network.h"

namespace qsim {

struct WeightsForFile {
  DType dtype = DType::kInt8;  // or kUint8
  Shape shape;                 // [M, C, kernel_h, kernel_w] or [M, K]
  std::string bytes;
  Shape scale_shape;  // [] or [M], also of the zero_points
  std::vector<float> scales;
  std::string zero_points;         // bytes of `dtype`
  std::vector<float> bias_scales;  // x_scale * w_scale
};

// Of layer `index`, whose operation has `weights`, `bias` and `requantization`. Throws Error (exit
// code 4) naming the layer where the file would say something else.
WeightsForFile stored_weights(const QuantizedNetwork& network, std::size_t index,
                              const Tensor& weights, const Requantization& requantization);

}  // namespace qsim
