// Launches of conversions of quantized elements.
#include "golden/kernels/convert/cuda/decode.cuh"
#include "golden/kernels/convert/cuda/launches.h"

namespace qsim::golden::cuda {
namespace {

template <typename Kernel>
void launch_chunks(const char* what, Kernel kernel, const DecodePlan& plan, cudaStream_t stream) {
  if (plan.chunks == 0) return;
  launch_kernel(what, kernel, plan.tiles, kDecodeThreads, 0, stream, plan.params);
}

}  // namespace

void launch_dequantize(const DecodePlan& plan, ElementFormat source, ElementFormat target,
                       cudaStream_t stream) {
  visit_target(source, [&](auto from) {
    visit_half(target, [&](auto to) {
      constexpr ElementFormat kSource = decltype(from)::value;
      constexpr ElementFormat kTarget = decltype(to)::value;
      const auto kernel = plan.flat ? dequantize_chunks<kSource, kTarget, true>
                                    : dequantize_chunks<kSource, kTarget, false>;
      launch_chunks("launching dequantize_chunks", kernel, plan, stream);
    });
  });
}

void launch_int4_to_fp8(const DecodePlan& plan, ElementFormat target, bool software,
                        cudaStream_t stream) {
  const auto launch = [&](auto to, auto in_software) {
    constexpr ElementFormat kTarget = decltype(to)::value;
    constexpr bool kSoftware = decltype(in_software)::value;
    const auto kernel = plan.flat ? int4_to_fp8_chunks<kTarget, true, kSoftware>
                                  : int4_to_fp8_chunks<kTarget, false, kSoftware>;
    launch_chunks("launching int4_to_fp8_chunks", kernel, plan, stream);
  };
  using E4m3 = std::integral_constant<ElementFormat, ElementFormat::kE4m3>;
  using E5m2 = std::integral_constant<ElementFormat, ElementFormat::kE5m2>;
  if (target == ElementFormat::kE4m3) {
    software ? launch(E4m3(), std::true_type()) : launch(E4m3(), std::false_type());
  } else {
    software ? launch(E5m2(), std::true_type()) : launch(E5m2(), std::false_type());
  }
}

}  // namespace qsim::golden::cuda
