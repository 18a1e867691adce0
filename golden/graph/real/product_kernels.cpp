#include "golden/graph/real/product_kernels.h"

namespace qsim::golden {

const ProductKernels& product_kernels(VectorPath path) {
  require_available(path);
  switch (resolve(path)) {
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return kAvx512Products;
    case VectorPath::kAvxVnni:
    case VectorPath::kAvx2:
      return kAvx2Products;
#endif
    default:
      return kPortableProducts;
  }
}

}  // namespace qsim::golden
