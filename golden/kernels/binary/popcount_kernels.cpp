// Which instruction sets this processor has, and the kernels of each.
#include "golden/kernels/binary/popcount_kernels.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"

namespace qsim::golden {

std::string_view popcount_path_name(PopcountPath path) {
  switch (path) {
    case PopcountPath::kAuto:
      return "auto";
    case PopcountPath::kAvx512Popcount:
      return "avx512_popcount";
    case PopcountPath::kAvx2:
      return "avx2";
    case PopcountPath::kPortable:
      return "portable";
  }
  return "?";
}

bool is_available(PopcountPath path) {
  switch (path) {
    case PopcountPath::kAuto:
    case PopcountPath::kPortable:
      return true;
#if defined(__x86_64__)
    case PopcountPath::kAvx512Popcount:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq");
    case PopcountPath::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    default:
      return false;
  }
}

PopcountPath resolve(PopcountPath path) {
  if (path != PopcountPath::kAuto) return path;
  return *std::find_if(kPopcountPaths.begin(), kPopcountPaths.end(),
                       [](PopcountPath one) { return is_available(one); });
}

const PopcountKernels& popcount_kernels(PopcountPath path) {
  if (!is_available(path)) {
    throw_bad_input("this processor has no " + std::string(popcount_path_name(path)) +
                    " instructions; 'auto' chooses the best path that it has");
  }
  switch (resolve(path)) {
#if defined(__x86_64__)
    case PopcountPath::kAvx512Popcount:
      return kAvx512Popcount;
    case PopcountPath::kAvx2:
      return kAvx2Popcount;
#endif
    default:
      return kPortablePopcount;
  }
}

}  // namespace qsim::golden
