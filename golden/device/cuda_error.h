// CUDA's error codes as exceptions.
#pragma once

#include <cuda_runtime.h>

namespace qsim::golden::cuda {

// Throws "CUDA: WHAT: the runtime's text" unless `status` is cudaSuccess: Error (exit code 3) for
// what the machine lacks, memory among it; InternalError for everything else, an illegal address
// say.
void check(cudaError_t status, const char* what);

}  // namespace qsim::golden::cuda
