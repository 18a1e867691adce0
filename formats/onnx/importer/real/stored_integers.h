// Constants of a float file that are integers with scales: weights behind a DequantizeLinear, and
// those of ConvInteger and MatMulInteger.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/network/hybrid_network.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

// real = (level - zero_point) * scale.
struct StoredIntegers {
  Tensor levels;  // int16, in the file's layout
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;  // as many
  std::int64_t axis = 0;                  // that several scales go along
  std::optional<InputRule> input = {};    // of the layer that reads them
};

// Of `levels` (int8, uint8 or int32) with scales and, where that is not empty, zero_points of the
// same number. Throws Error for scales that are not above 0, for other types, and for integers that
// int16 does not hold.
StoredIntegers stored_integers(const NodeReader& node, const Tensor& levels, const Tensor& scales,
                               const std::optional<Tensor>& zero_points, std::int64_t axis);

// What they stand for: float32 of the file's layout.
Tensor real_numbers(const StoredIntegers& integers);

// Weights in a Graph's layout, of a file's [M][C][kh][kw], or of a matrix [M][K] (outputs
// first) or [K][M]. Refuses scales along another axis than M.
RealLayerWeights convolution_weights(const NodeReader& node, const StoredIntegers& integers);
RealLayerWeights matrix_weights(const NodeReader& node, const StoredIntegers& integers,
                                bool outputs_first);

}  // namespace qsim::formats
