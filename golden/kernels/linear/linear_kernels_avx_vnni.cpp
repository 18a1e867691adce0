// The kernels with AVX-VNNI: vpdpbusd on 256-bit registers.
#if defined(__x86_64__)
#define QSIM_LINEAR_TARGET __attribute__((target("avx2,avxvnni,fma")))

#include "golden/kernels/linear/linear_kernels_256.h"

namespace qsim::golden {
namespace {

struct AvxVnni {
  struct Sum {
    __m256i lanes[2];
  };

  QSIM_LINEAR_TARGET static __m256i prepared(__m256i weights) { return weights; }
  QSIM_LINEAR_TARGET static __m256i broadcast(const std::int8_t* bytes) {
    std::int32_t quad;
    std::memcpy(&quad, bytes, sizeof quad);
    return _mm256_set1_epi32(quad);
  }
  QSIM_LINEAR_TARGET static void add(Sum& sum, __m256i first, __m256i second, __m256i quad) {
    sum.lanes[0] = _mm256_dpbusd_avx_epi32(sum.lanes[0], first, quad);
    sum.lanes[1] = _mm256_dpbusd_avx_epi32(sum.lanes[1], second, quad);
  }
  QSIM_LINEAR_TARGET static void store(std::int32_t* acc, const Sum& sum) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc), sum.lanes[0]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + 8), sum.lanes[1]);
  }
};

}  // namespace

const LinearKernels kAvxVnniLinearKernels = linear_kernels_of<Kernels256<AvxVnni>>();

}  // namespace qsim::golden
#endif
