#include "golden/host/fused_functions.h"

#define QSIM_VECTOR
#include "golden/host/fused_functions_body.h"

namespace qsim::golden {

const FusedFunctions kPortableFunctions = {apply_here, exponentials_here};
#if !defined(__x86_64__)
const FusedFunctions kAvx2Functions = {};
#endif

namespace {

const FusedFunctions& functions_of(VectorPath path) {
  const bool is_vector = resolve(path) != VectorPath::kPortable &&
                         kAvx2Functions.apply != nullptr && is_available(VectorPath::kAvx2);
  return is_vector ? kAvx2Functions : kPortableFunctions;
}

}  // namespace

void apply(FusedFunction function, std::span<const float> x, std::span<float> y, VectorPath path) {
  functions_of(path).apply(function, x, y);
}

float apply(FusedFunction function, float x) {
  float y = 0.0F;
  apply_here(function, {&x, 1}, {&y, 1});
  return y;
}

float exponentials(std::span<const float> x, float shift, std::span<float> y, VectorPath path) {
  return functions_of(path).exponentials(x, shift, y);
}

}  // namespace qsim::golden
