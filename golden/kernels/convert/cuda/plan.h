// What the kernels of a conversion are told (params.h), from tensors and quantizations: host code
// that needs no GPU.
#pragma once

#include "golden/kernels/convert/cuda/conversion_cuda.h"
#include "golden/kernels/convert/cuda/params.h"

namespace qsim::golden::cuda {

struct QuantizePlan {
  QuantizeParams params;
  bool long_groups = false;  // longer than a tile: several passes
  bool flat = false;         // contiguous, aligned, full groups
  std::int64_t tiles = 0;    // of groups, or of chunks where the groups are long
};

// Throws Error for a tensor of more than kMostDims dimensions that do not join.
QuantizePlan plan_quantize(const HalfTensor& x, const DeviceQuantized& out, void* workspace);

struct DecodePlan {
  DecodeParams params;
  bool flat = false;
  std::int64_t chunks = 0;
  std::int64_t tiles = 0;  // blocks
};

// For chunks of `chunk_elems` elements.
DecodePlan plan_decode(const DeviceQuantized& q, int chunk_elems, bool with_scale, void* out);

}  // namespace qsim::golden::cuda
