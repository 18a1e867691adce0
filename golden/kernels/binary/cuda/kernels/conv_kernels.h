// The launches of the families of kernels. `args` has its addresses; `shared_bytes` is the plan's.
#pragma once

#include <cuda_runtime.h>

#include "golden/kernels/binary/cuda/conv_args.h"

namespace qsim::golden::cuda {

void launch_portable(const BinaryConvArgs& args, std::int64_t shared_bytes, int multiprocessors,
                     cudaStream_t stream);
// The tiles that keep rows.
void launch_rows(BinaryTile tile, const BinaryConvArgs& args, std::int64_t shared_bytes,
                 cudaStream_t stream);
// The others but kPortable.
void launch_hopper(BinaryTile tile, const BinaryConvArgs& args, std::int64_t shared_bytes,
                   int multiprocessors, cudaStream_t stream);

inline void launch_conv(BinaryTile tile, const BinaryConvArgs& args, std::int64_t shared_bytes,
                        int multiprocessors, cudaStream_t stream) {
  if (tile == BinaryTile::kPortable) {
    launch_portable(args, shared_bytes, multiprocessors, stream);
  } else if (keeps_rows(tile)) {
    launch_rows(tile, args, shared_bytes, stream);
  } else {
    launch_hopper(tile, args, shared_bytes, multiprocessors, stream);
  }
}

}  // namespace qsim::golden::cuda
