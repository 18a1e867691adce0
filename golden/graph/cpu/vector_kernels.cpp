// The kernels of each instruction set.
#include "golden/graph/cpu/vector_kernels.h"

namespace qsim::golden {

void RequantizerPanel::set(std::size_t channel, const Requantizer& requantizer) {
  rounding = requantizer.rounding;
  requantizers[channel] = requantizer;
  if (is_tflite(rounding)) {
    tflite_multiplier[channel] = static_cast<std::int32_t>(requantizer.multiplier);
    tflite_shift[channel] = requantizer.shift;
    return;
  }
  const float scale = real_scale(requantizer);
  const bool doubled = requantizer.rounding == RequantizerRounding::kHalfUp;
  float32_scale[channel] = scale;
  exact_scale[channel] = static_cast<double>(scale) * (doubled ? 2 : 1);
}

const VectorKernels& vector_kernels(VectorPath path) {
  require_available(path);
  switch (resolve(path)) {
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return kAvx512VnniKernels;
    case VectorPath::kAvxVnni:
      return kAvxVnniKernels;
    case VectorPath::kAvx2:
      return kAvx2Kernels;
#endif
    default:
      return kPortableKernels;
  }
}

}  // namespace qsim::golden
