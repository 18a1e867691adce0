// The launches of both families of kernels. `args` has its addresses; `shared_bytes` is the plan's.
#pragma once

#include <cuda_runtime.h>

#include "golden/binary/cuda/conv_args.h"

namespace qsim::golden::cuda {

void launch_portable(const BinaryConvArgs& args, std::int64_t shared_bytes, int multiprocessors,
                     cudaStream_t stream);
// Any tile but kPortable.
void launch_hopper(BinaryTile tile, const BinaryConvArgs& args, std::int64_t shared_bytes,
                   int multiprocessors, cudaStream_t stream);

inline void launch_conv(BinaryTile tile, const BinaryConvArgs& args, std::int64_t shared_bytes,
                        int multiprocessors, cudaStream_t stream) {
  if (tile == BinaryTile::kPortable) {
    launch_portable(args, shared_bytes, multiprocessors, stream);
  } else {
    launch_hopper(tile, args, shared_bytes, multiprocessors, stream);
  }
}

}  // namespace qsim::golden::cuda
