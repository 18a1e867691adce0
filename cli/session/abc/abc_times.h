// How long a binary layer takes on this processor or on a GPU, beside the same layer in float and
// in int8.
#pragma once

#include <cstdint>
#include <string>

#include "core/network/operations.h"
#include "golden/kernels/binary/binary_weights.h"

namespace qsim::cli {

struct AbcTimes {
  std::int64_t size = 0;      // of the square picture
  double binary_seconds = 0;  // bits in, bits out: convolution, batch norm, ReLU and quantizer
  double float_seconds =
      0;  // float in, float out: the plain kernel (golden/kernels/binary/float_conv.h)
  double int8_seconds = 0;  // int8 in, int8 out: golden's own convolution (golden/graph/cpu)
};

struct AbcGpuTimes {
  std::int64_t size = 0;
  std::string kernels;        // the binary ones: "hopper", "portable"
  double binary_seconds = 0;  // as above; launches in one CUDA graph on the same buffers
  double int8_seconds = 0;    // golden's own convolution (golden/graph/cuda), likewise
  bool equal = false;         // the words are those of the CPU
};

// What is timed: random weights and pictures, of `seed`.
struct AbcTiming {
  golden::WeightShape weights;
  Window window;
  std::int64_t batch = 1;
  int bases = 1;  // of the weights
  int activation_bases = 1;
  int runs = 9;
  std::uint64_t seed = 0;
};

// Medians in one thread and in its CPU time, the three kernels in turn, on square pictures of this
// size.
AbcTimes time_abc_layer(const AbcTiming& timing, std::int64_t size);

// Medians on this GPU. Throws Error as the two executors do.
AbcGpuTimes time_abc_layer_on_gpu(const AbcTiming& timing, std::int64_t size, int device);

}  // namespace qsim::cli
