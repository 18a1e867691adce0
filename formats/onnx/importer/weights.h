// The constants of layers with weights: 8-bit weights without their zero points, in the Graph's
// layouts, and int32 biases.
#pragma once

#include <string>
#include <vector>

#include "formats/onnx/importer/imported_tensor.h"
#include "formats/onnx/importer/node_reader.h"
#include "formats/onnx/importer/quantization.h"
#include "formats/onnx/importer/stored_bytes.h"

namespace qsim::formats {

// 8-bit weights as they are in the file.
struct StoredWeights {
  std::string name;  // "w", as errors call them
  StoredTensor numbers;
  ChannelQuantization quantization;  // of each output channel, or of all
  bool transposed = false;           // by a Transpose after the DequantizeLinear; two dimensions

  const Shape& shape() const { return numbers.shape; }
};

// int8 or uint8 at `index` and their scale and zero points at the two inputs after it. Output
// channels are axis `channel_axis`.
StoredWeights read_qlinear_weights(const NodeReader& node, int index, const std::string& name,
                                   const std::string& scale_name, std::size_t channel_axis);
// The same for input `index` of a float operator, which must come from a DequantizeLinear.
StoredWeights read_dequantized_weights(const NodeReader& node, int index,
                                       const ImportedTensor* tensor, const std::string& name,
                                       std::size_t channel_axis);

// [M][C][kh][kw] to [M][kh][kw][C], less the zero points: int8, or int16 where they do not fit.
Tensor conv_weights(const StoredWeights& weights);
// [in][out], or [out][in] where `outputs_first` is set, to [out][in], less the zero points.
Tensor matrix_weights(const StoredWeights& weights, bool outputs_first);

// x_scale * w_scale of each output channel, or of all, in float32.
std::vector<double> products_of(float x_scale, const StoredWeights& weights);

// The int32 bias of `channels` elements at `index` (shape [channels], or [1, channels] where
// `row` is set); zeros when absent. Its scale is input scale * weight scale, by definition.
Tensor read_bias(const NodeReader& node, int index, std::string_view name, std::int64_t channels,
                 bool row);
// The bias of a float operator: int32 after a DequantizeLinear whose scale is x_scale * w_scale, or
// float32, which is divided by that and rounded half to even.
Tensor read_real_bias(const NodeReader& node, int index, const ImportedTensor* tensor,
                      std::int64_t channels, const std::vector<double>& products, bool row);

}  // namespace qsim::formats
