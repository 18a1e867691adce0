// Which instruction sets this processor has.
#include "golden/common/vector_path.h"

#include <algorithm>
#include <string>

#include "core/base/avx_vnni.h"
#include "core/base/error.h"

namespace qsim::golden {

std::string_view vector_path_name(VectorPath path) {
  switch (path) {
    case VectorPath::kAuto:
      return "auto";
    case VectorPath::kAvx512Vnni:
      return "avx512_vnni";
    case VectorPath::kAvxVnni:
      return "avx_vnni";
    case VectorPath::kAvx2:
      return "avx2";
    case VectorPath::kPortable:
      return "portable";
  }
  return "?";
}

bool is_available(VectorPath path) {
  switch (path) {
    case VectorPath::kAuto:
    case VectorPath::kPortable:
      return true;
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
    case VectorPath::kAvxVnni:
      return processor_has_avx_vnni();
    case VectorPath::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    default:
      return false;
  }
}

VectorPath resolve(VectorPath path) {
  if (path != VectorPath::kAuto) return path;
  return *std::find_if(kVectorPaths.begin(), kVectorPaths.end(), is_available);
}

void require_available(VectorPath path) {
  if (is_available(path)) return;
  throw_bad_input("this processor has no " + std::string(vector_path_name(path)) +
                  " instructions; 'auto' chooses the best path that it has");
}

}  // namespace qsim::golden
