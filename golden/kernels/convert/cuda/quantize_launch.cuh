// The launches of a quantization from one source format.
#pragma once

#include "golden/kernels/convert/cuda/flat_long.cuh"
#include "golden/kernels/convert/cuda/launches.h"
#include "golden/kernels/convert/cuda/long_groups.cuh"
#include "golden/kernels/convert/cuda/quantize_flat.cuh"
#include "golden/kernels/convert/cuda/quantize_groups.cuh"

namespace qsim::golden::cuda {

template <typename Kernel, typename... Args>
void launch_tiles(const char* what, Kernel kernel, std::int64_t tiles, cudaStream_t stream,
                  const Args&... args) {
  if (tiles == 0) return;
  constexpr int kThreads = kTileWarps * 32;
  launch_kernel(what, kernel, ceil_div(tiles, std::int64_t{kTileWarps}), kThreads, 0, stream,
                args...);
}

// Tiles of a flat tensor, of any chunks; threads of a row's block, which have up to kLaneChunks.
inline std::int64_t flat_tiles(const QuantizeParams& p) {
  return ceil_div(p.layout.rows * p.chunks_per_row, std::int64_t{kTileChunks});
}
inline int row_threads(const QuantizeParams& p) {
  return static_cast<int>(ceil_div(p.chunks_per_row, std::int64_t{32 * kLaneChunks}) * 32);
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

// The largest extent of all groups of a flat tensor.
template <ElementFormat source>
void launch_flat_extent(const QuantizeLaunch& launch, std::uint32_t* positive,
                        std::uint32_t* negative) {
  const QuantizeParams& p = launch.plan.params;
  launch_tiles("launching find_flat_extent", find_flat_extent<source>, flat_tiles(p), launch.stream,
               p, positive, negative);
}

template <ElementFormat source>
void launch_groups(const QuantizeLaunch& launch) {
  const QuantizePlan& plan = launch.plan;
  const QuantizeParams& p = plan.params;
  if (p.rule.scales == ScaleFormat::kE4m3) {
    if (plan.flat) {
      launch_flat_extent<source>(launch, &p.workspace->whole, nullptr);
    } else {
      launch_tiles("launching find_largest_extent", find_largest_extent<source>, plan.tiles,
                   launch.stream, p);
    }
  }
  visit_codec(launch.target, launch.software, [&](auto to, auto in_software) {
    constexpr ElementFormat kTarget = decltype(to)::value;
    constexpr bool kSoftware = decltype(in_software)::value;
    if (plan.flat) {
      const bool plain = !p.rule.zero_point && !p.clips && p.rule.scales != ScaleFormat::kE4m3;
      const auto kernel = plain ? quantize_flat<source, kTarget, kSoftware, true>
                                : quantize_flat<source, kTarget, kSoftware, false>;
      launch_tiles("launching quantize_flat", kernel, plan.tiles, launch.stream, p);
    } else {
      launch_tiles("launching quantize_groups", quantize_groups<source, kTarget, kSoftware>,
                   plan.tiles, launch.stream, p);
    }
  });
}

// Rows of a flat tensor that are one group each.
template <ElementFormat source>
void launch_rows(const QuantizeLaunch& launch) {
  const QuantizeParams& p = launch.plan.params;
  if (p.rule.scales == ScaleFormat::kE4m3) {
    launch_flat_extent<source>(launch, &p.workspace->whole, nullptr);
  }
  visit_codec(launch.target, launch.software, [&](auto to, auto in_software) {
    launch_kernel("launching quantize_rows",
                  quantize_rows<source, decltype(to)::value, decltype(in_software)::value>,
                  p.layout.rows, row_threads(p), 0, launch.stream, p);
  });
}

// A flat tensor that is one group.
template <ElementFormat source>
void launch_tensor(const QuantizeLaunch& launch) {
  const QuantizeParams& p = launch.plan.params;
  std::uint32_t* extents = p.workspace->extents();
  launch_flat_extent<source>(launch, extents, extents + 1);
  launch_long_scales(p, launch.stream);
  visit_codec(launch.target, launch.software, [&](auto to, auto in_software) {
    launch_tiles("launching encode_flat",
                 encode_flat<source, decltype(to)::value, decltype(in_software)::value>,
                 flat_tiles(p), launch.stream, p);
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
  if (!launch.plan.long_groups) {
    launch_groups<source>(launch);
  } else if (!launch.plan.flat) {
    launch_long_groups<source>(launch);
  } else if (launch.plan.params.layout.per_tensor) {
    launch_tensor<source>(launch);
  } else {
    launch_rows<source>(launch);
  }
}

}  // namespace qsim::golden::cuda
