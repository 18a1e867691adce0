// How long a layer takes on a GPU, for programs that include no CUDA.
#pragma once

#include "golden/kernels/binary/bit_tensor.h"
#include "golden/kernels/binary/cuda/binary_cuda.h"

namespace qsim::golden {

struct BinaryCudaTime {
  BinaryCudaPath path = BinaryCudaPath::kPortable;  // that kAuto took
  double seconds = 0;                               // median
  BitTensor words;                                  // what the layer wrote
};

// One layer, words to words, on `device`: many launches in one CUDA graph on the same buffers, so
// that a small layer finds them in the caches; the median of `runs` replays, by launches. Throws
// Error as plan_binary_conv does, and (exit code 3) without that device.
BinaryCudaTime time_binary_conv(const BinaryConv& conv, const BinaryStage& stage,
                                const BitTensor& input, int device, int runs);

}  // namespace qsim::golden
