// The float weights that `qsim golden abc` makes binary: of a network's layers, or of a file.
#pragma once

#include <string>
#include <vector>

#include "core/network/graph.h"
#include "golden/kernels/binary/binary_weights.h"
#include "golden/kernels/binary/bit_tensor.h"

namespace qsim::cli {

struct AbcLayer {
  std::string name;
  golden::WeightShape shape;
  std::vector<float> weights;  // [out_channels][kernel_h][kernel_w][channels]
};

// A float picture, [batch][height][width][channels].
struct AbcInput {
  ImageShape shape;
  std::vector<float> values;
};

// The convolutions without groups and the fully connected layers of a network. Their int8 weights
// are taken as they are: a scale changes no error that is relative. Throws Error where there is
// none.
std::vector<AbcLayer> abc_layers(const Graph& graph, const std::string& name);

// The layers of a float network, where the file's name ends in .onnx (formats/onnx/importer's
// read_float_weights()), or one layer of an array: float32 [out_channels, channels, kernel_h,
// kernel_w]. With `name` the layer of that name alone. Throws Error for another file and for a name
// that it does not have.
std::vector<AbcLayer> read_abc_weights(const std::string& file, const std::string& name);

// float32 [batch, channels, height, width]. Throws Error for another array.
AbcInput read_abc_input(const std::string& file);

// The same array of a result.
Tensor abc_output(const std::vector<float>& values, const ImageShape& shape);

}  // namespace qsim::cli
