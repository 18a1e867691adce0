#include "sim/systemc/datapath/vector_path.h"

namespace qsim {

std::string_view vector_path_name(VectorPath path) {
  switch (path) {
    case VectorPath::kPortable:
      return "portable";
    case VectorPath::kAvx2:
      return "avx2";
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
    case VectorPath::kAvx512Vnni:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
             __builtin_cpu_supports("avx512vnni") != 0;
  }
#endif
  return path == VectorPath::kPortable;
}

VectorPath best_vector_path() {
  if (is_supported(VectorPath::kAvx512Vnni)) return VectorPath::kAvx512Vnni;
  if (is_supported(VectorPath::kAvx2)) return VectorPath::kAvx2;
  return VectorPath::kPortable;
}

}  // namespace qsim
