// The weights of a network that is not quantized, without the network.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/tensor.h"

namespace qsim::formats {

struct FloatWeights {
  std::string name;  // of the node
  Tensor weights;  // float32 [out_channels, channels, kernel_h, kernel_w]; 1x1 where there is none
};

// Reads the float32 constant weights of every Conv of one group, and of every Gemm and MatMul whose
// second input is a matrix, in the order of the file. Throws Error naming the file: exit code 3 for
// what is not an ONNX model, exit code 4 for a model that has no such node.
std::vector<FloatWeights> read_float_weights(const std::filesystem::path& path);

}  // namespace qsim::formats
