// The float32 constants of layers, in a Graph's layouts.
#pragma once

#include <string>
#include <vector>

#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

// Input `index`, called `name` in the ONNX specification: a float32 constant whose numbers are all
// finite. Throws Error that names the first that is not, by its index in the file.
Tensor real_constant(const NodeReader& node, int index, const std::string& name);

// The same of shape [channels].
std::vector<double> channel_constant(const NodeReader& node, int index, const std::string& name,
                                     std::int64_t channels);

// The same of any shape that ONNX repeats along all axes of a tensor of `rank` axes but
// `channel_axis`: one number for each channel.
std::vector<double> repeated_constant(const NodeReader& node, int index, const std::string& name,
                                      std::int64_t rank, std::int64_t channel_axis,
                                      std::int64_t channels);

// [M][C][kh][kw] to [M][kh][kw][C].
Tensor channels_last(const Tensor& weights);
// [K][M] to [M][K].
Tensor turned(const Tensor& matrix);

}  // namespace qsim::formats
