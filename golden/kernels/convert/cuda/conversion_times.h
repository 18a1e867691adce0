// How long conversions take on a GPU, beside a plain copy of as many bytes.
#pragma once

#include "golden/kernels/convert/cuda/conversion_cuda.h"

namespace qsim::golden::cuda {

// Seconds of one launch, medians.
struct ConversionTimes {
  double convert = 0;
  double back = 0;
  double copy = 0;       // that reads and writes as many bytes as the conversion
  double back_copy = 0;  // as the way back
};

// Times the conversion of a contiguous tensor in host memory, on the current device, with cold
// caches (golden/device/cold_timer.h): nodes of one CUDA graph on buffers that rotate. Throws Error
// where the device has too little memory.
ConversionTimes time_on_gpu(const HalfTensor& x, const Quantization& how);

}  // namespace qsim::golden::cuda
