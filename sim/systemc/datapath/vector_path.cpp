#include "sim/systemc/datapath/vector_path.h"

#include <algorithm>

#include "core/base/avx_vnni.h"

namespace qsim::sim {

std::string_view vector_path_name(VectorPath path) {
  switch (path) {
    case VectorPath::kPortable:
      return "portable";
    case VectorPath::kAvx2:
      return "avx2";
    case VectorPath::kAvxVnni:
      return "avx_vnni";
    case VectorPath::kAvx512Vnni:
      return "avx512_vnni";
  }
  return "unknown";
}

bool is_supported(VectorPath path) {
#if defined(__x86_64__)
  switch (path) {
    case VectorPath::kPortable:
      return true;
    case VectorPath::kAvx2:
      return __builtin_cpu_supports("avx2") != 0;
    case VectorPath::kAvxVnni:
      return processor_has_avx_vnni();
    case VectorPath::kAvx512Vnni:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
             __builtin_cpu_supports("avx512vnni") != 0;
  }
#endif
  return path == VectorPath::kPortable;
}

VectorPath best_vector_path() { return *std::ranges::find_if(kVectorPaths, is_supported); }

}  // namespace qsim::sim
