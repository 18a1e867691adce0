// The functions with AVX2 and FMA.
#include "golden/host/fused_functions.h"

#if defined(__x86_64__)
#define QSIM_VECTOR __attribute__((target("avx2,fma")))
#include "golden/host/fused_functions_body.h"

namespace qsim::golden {

const FusedFunctions kAvx2Functions = {apply_here, exponentials_here};

}  // namespace qsim::golden
#endif
