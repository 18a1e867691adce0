// Chooses among the instances of conv_wgmma_kernel. Each source that includes this compiles those
// of its finishes.
#pragma once

#include "golden/graph/cuda/kernels/conv_wgmma_functions.h"
#include "golden/graph/cuda/kernels/conv_wgmma_kernel.cuh"

namespace qsim::golden::cuda {

template <bool kUnsigned, int kRowBytes, int kTaps, Finish kFinish, int... kTile>
WgmmaFunction function_with() {
  return conv_wgmma_kernel<kUnsigned, kRowBytes, kTaps, TileShape<kTile...>, kFinish>;
}

template <bool kUnsigned, int kRowBytes, int kTaps, Finish kFinish>
WgmmaFunction function_of_tile(const ConvTile& tile) {
  if constexpr (kFinish == Finish::kSplit) {
    if (tile == kSplit256x128) {
      return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 2, 2, 128>();
    }
    if (tile == kSplit256x64) {
      return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 2, 2, 64>();
    }
  } else {
    if constexpr (kTaps == 3) {
      if (tile == k512x64) return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 4, 2, 64>();
    }
    if (tile == k256x128) return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 4, 1, 128>();
    if (tile == k256x64) return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 4, 1, 64>();
  }
  if (tile == k128x128) return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 2, 1, 128>();
  return function_with<kUnsigned, kRowBytes, kTaps, kFinish, 2, 1, 64>();
}

template <bool kUnsigned, Finish kFinish>
WgmmaFunction function_of_stage(const ConvPlan& plan) {
  if (plan.row_bytes == 128) return function_of_tile<kUnsigned, 128, 1, kFinish>(plan.tile);
  return plan.geometry.taps_per_stage == 3 ? function_of_tile<kUnsigned, 64, 3, kFinish>(plan.tile)
                                           : function_of_tile<kUnsigned, 64, 1, kFinish>(plan.tile);
}

template <Finish kFinish>
WgmmaFunction function_of_input(bool is_unsigned, const ConvPlan& plan) {
  return is_unsigned ? function_of_stage<true, kFinish>(plan)
                     : function_of_stage<false, kFinish>(plan);
}

}  // namespace qsim::golden::cuda
