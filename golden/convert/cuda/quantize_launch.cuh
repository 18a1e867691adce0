// The launches of a quantization from one source format.
#pragma once

#include "golden/convert/cuda/launches.h"
#include "golden/convert/cuda/long_groups.cuh"
#include "golden/convert/cuda/quantize_groups.cuh"

namespace qsim::golden::cuda {

template <typename Kernel, typename... Args>
void launch_tiles(const char* what, Kernel kernel, std::int64_t tiles, cudaStream_t stream,
                  const Args&... args) {
  if (tiles == 0) return;
  constexpr int kThreads = kTileWarps * 32;
  launch_kernel(what, kernel, ceil_div(tiles, std::int64_t{kTileWarps}), kThreads, 0, stream,
                args...);
}

// Calls visit(constant) with the target and whether its codes are made in software.
template <typename Visit>
void visit_codec(ElementFormat target, bool software, Visit visit) {
  visit_target(target, [&](auto constant) {
    constexpr ElementFormat kTarget = decltype(constant)::value;
    if constexpr (kTarget == ElementFormat::kE4m3 || kTarget == ElementFormat::kE5m2) {
      if (software) return visit(constant, std::true_type());
    }
    visit(constant, std::false_type());
  });
}

template <ElementFormat source>
void launch_groups(const QuantizeLaunch& launch) {
  const QuantizeParams& p = launch.plan.params;
  const std::int64_t tiles = launch.plan.tiles;
  if (p.rule.scales == ScaleFormat::kE4m3) {
    const auto kernel =
        launch.plan.flat ? find_largest_extent<source, true> : find_largest_extent<source, false>;
    launch_tiles("launching find_largest_extent", kernel, tiles, launch.stream, p);
  }
  visit_codec(launch.target, launch.software, [&](auto to, auto in_software) {
    constexpr ElementFormat kTarget = decltype(to)::value;
    constexpr bool kSoftware = decltype(in_software)::value;
    const auto kernel = launch.plan.flat ? quantize_groups<source, kTarget, true, kSoftware>
                                         : quantize_groups<source, kTarget, false, kSoftware>;
    launch_tiles("launching quantize_groups", kernel, tiles, launch.stream, p);
  });
}

template <ElementFormat source>
void launch_percentiles(const QuantizeLaunch& launch) {
  const QuantizeParams& p = launch.plan.params;
  if (p.percentile == kWhole || launch.plan.tiles == 0) return;
  if (!p.layout.per_tensor) {
    const std::int64_t blocks = std::min<std::int64_t>(p.layout.rows, 1 << 20);
    launch_kernel("launching clip_rows_to_percentile", clip_rows_to_percentile<source>, blocks,
                  kLongThreads, 0, launch.stream, p);
    return;
  }
  for (int level = 0; level < 2; ++level) {
    launch_tiles("launching count_tensor", count_tensor<source>, launch.plan.tiles, launch.stream,
                 p, level);
    launch_choose_bin(p, level, launch.stream);
  }
}

template <ElementFormat source>
void launch_long_groups(const QuantizeLaunch& launch) {
  const QuantizeParams& p = launch.plan.params;
  launch_tiles("launching find_long_extents", find_long_extents<source>, launch.plan.tiles,
               launch.stream, p);
  launch_percentiles<source>(launch);
  launch_long_scales(p, launch.stream);
  visit_codec(launch.target, launch.software, [&](auto to, auto in_software) {
    constexpr ElementFormat kTarget = decltype(to)::value;
    constexpr bool kSoftware = decltype(in_software)::value;
    const auto kernel = encode_long_groups<source, kTarget, kSoftware>;
    launch_tiles("launching encode_long_groups", kernel, launch.plan.tiles, launch.stream, p);
  });
}

template <ElementFormat source>
void launch_quantize(const QuantizeLaunch& launch) {
  if (launch.plan.long_groups) {
    launch_long_groups<source>(launch);
  } else {
    launch_groups<source>(launch);
  }
}

}  // namespace qsim::golden::cuda
