#include "golden/kernels/train/cuda/forward/conv_boxes.h"

#include <algorithm>

#include <cuda_runtime.h>

#include "core/base/checked_math.h"
#include "golden/device/cuda_error.h"
#include "golden/device/tensor_map.h"
#include "golden/kernels/train/cuda/forward/conv_zero_sums.h"

namespace qsim::golden::train::cuda {
namespace {

using golden::cuda::FastDivisor;

constexpr int kMostShared = 220 * 1024;  // dynamic, of a block: frames and barriers are static
constexpr int kAlignment = 1024;         // of boxes
constexpr int kPieces = kBoxWarpgroups * 64 * 72 * 4;  // PieceSums of each warpgroup
constexpr int kLargestBox = 256;
constexpr int kMostStride = 8;  // of the copy engine

bool is_aligned_16(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

bool takes(const ConvSizes& conv) {
  return conv.groups == 1 && conv.stride_h <= kMostStride && conv.stride_w <= kMostStride &&
         (conv.zero_point == nullptr || takes_zero_sums(conv)) && conv.channels % 16 == 0 &&
         conv.channels > 0 && is_aligned_16(conv.q) && is_aligned_16(conv.w);
}

struct Box {
  int width, height;  // pixels that it brings
};

bool has_stride(const ConvSizes& conv) { return conv.stride_h > 1 || conv.stride_w > 1; }

// Units, and the box of one.
Box set_units(const ConvSizes& conv, BoxConv& plan) {
  const bool is_1x1 = conv.kernel_h == 1 && conv.kernel_w == 1 && !has_stride(conv) &&
                      conv.out_width == conv.width && conv.out_height == conv.height;
  plan.is_line = is_1x1 ? 1 : 0;
  if (is_1x1) {
    plan.units = static_cast<int>(ceil_div(conv.pixels, 64));
    plan.pitch = 64;
    plan.group_stride = 8;
    return {64, 1};
  }
  const auto across = static_cast<int>(ceil_div(conv.out_width, 8));
  const auto down = static_cast<int>(ceil_div(conv.out_height, 8));
  plan.units_x = FastDivisor(across);
  plan.picture_units = FastDivisor(across * down);
  plan.units = across * down * (conv.pixels / conv.out_width / conv.out_height);
  Box box{8, 8};
  if (!has_stride(conv)) {
    box.width += (conv.kernel_w - 1) * conv.dilation_w;
    box.height += (conv.kernel_h - 1) * conv.dilation_h;
  }
  plan.pitch = box.width;
  plan.group_stride = box.width;
  return box;
}

// Stages that fit; false where too few do.
bool set_stages(BoxConv& plan) {
  const int input = kBoxWarpgroups * plan.unit_stride;
  const int weights = plan.taps_per_stage * plan.columns * kBoxRowBytes;
  const int room = kMostShared - kAlignment - kPieces;
  const int all = plan.channel_blocks * plan.block_stages;
  plan.keeps_weights = plan.column_blocks.divisor() == 1 && all <= kMostWeightStages &&
                               all * weights + 2 * input <= room
                           ? 1
                           : 0;
  if (plan.keeps_weights != 0) {
    plan.weight_stages = all;
    plan.input_stages = std::min(kMostInputStages, (room - all * weights) / input);
  } else {
    plan.input_stages = plan.block_stages == 1 ? kMostInputStages : 2;
    plan.weight_stages = std::min(kMostWeightStages, (room - plan.input_stages * input) / weights);
  }
  // As far as the rings let the first warpgroup run ahead of the last.
  const int ahead = std::min(plan.keeps_weights != 0 ? all * plan.input_stages : plan.weight_stages,
                             plan.block_stages * plan.input_stages);
  plan.lead_stages = std::min(all, ahead / (kBoxWarpgroups - 1));
  plan.shared_bytes =
      kAlignment + kPieces + plan.input_stages * input + plan.weight_stages * weights;
  return plan.input_stages >= 2 && (plan.keeps_weights != 0 || plan.weight_stages >= 3);
}

// Multiprocessors' turns, in those of 64 columns.
std::int64_t turns(const ConvSizes& conv, int units, int columns, int multiprocessors) {
  const std::int64_t jobs = ceil_div(units, kBoxWarpgroups) * ceil_div(conv.columns, columns);
  return ceil_div(jobs, multiprocessors) * (columns == 64 ? 6 : 10);
}

void set_maps(const ConvSizes& conv, const Box& box, BoxConv& plan) {
  const auto size = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const auto side = [](int n) { return static_cast<std::uint32_t>(n); };
  const std::int64_t batch = conv.pixels / conv.out_width / conv.out_height;
  if (plan.is_line != 0) {
    plan.input = golden::cuda::make_tensor_map(
        conv.q, {size(conv.channels), size(conv.pixels), 1, 1}, {kBoxRowBytes, 64, 1, 1});
  } else {
    plan.input = golden::cuda::make_tensor_map(
        conv.q, {size(conv.channels), size(conv.width), size(conv.height), size(batch)},
        {kBoxRowBytes, side(box.width * conv.stride_w), side(box.height * conv.stride_h), 1}, {},
        {1, side(conv.stride_w), side(conv.stride_h), 1});
  }
  // A box that ends in the next tap's channels meets zeros of the input.
  plan.weights = golden::cuda::make_tensor_map(
      conv.w,
      {size(std::int64_t{conv.kernel_h} * conv.kernel_w * conv.channels), size(conv.columns)},
      {kBoxRowBytes, side(plan.columns)});
}

int device_number(cudaDeviceAttr attribute) {
  int device = 0;
  int number = 0;
  golden::cuda::check(cudaGetDevice(&device), "asking for the device");
  golden::cuda::check(cudaDeviceGetAttribute(&number, attribute, device),
                      "asking for a number of the device");
  return number;
}

}  // namespace

std::optional<BoxConv> plan_boxes(const ConvSizes& conv, int multiprocessors) {
  if (!takes(conv)) return std::nullopt;
  BoxConv plan{};
  const Box box = set_units(conv, plan);
  if (box.width > kLargestBox || box.height > kLargestBox) return std::nullopt;
  plan.unit_bytes = box.width * box.height * kBoxRowBytes;
  plan.unit_stride = static_cast<int>(round_up(plan.unit_bytes, kAlignment));
  const bool is_wide =
      conv.zero_point == nullptr &&
      turns(conv, plan.units, 128, multiprocessors) < turns(conv, plan.units, 64, multiprocessors);
  plan.columns = is_wide ? 128 : 64;
  const std::int64_t column_blocks = ceil_div(conv.columns, plan.columns);
  const std::int64_t jobs = ceil_div(plan.units, kBoxWarpgroups) * column_blocks;
  if (jobs > (std::int64_t{1} << 30)) return std::nullopt;
  plan.column_blocks = FastDivisor(static_cast<std::int32_t>(column_blocks));
  plan.jobs = static_cast<int>(jobs);
  const std::int64_t columns_at_once = std::min<std::int64_t>(column_blocks, multiprocessors);
  plan.blocks = static_cast<int>(
      std::min<std::int64_t>(jobs, multiprocessors / columns_at_once * columns_at_once));
  if (plan.blocks % column_blocks != 0) return std::nullopt;
  const int taps = conv.kernel_h * conv.kernel_w;
  plan.tap_blocks = has_stride(conv) ? taps : 1;
  plan.taps_per_stage = conv.kernel_w == 3 && !has_stride(conv) ? 3 : 1;
  plan.block_stages = taps / plan.tap_blocks / plan.taps_per_stage;
  plan.channel_blocks = static_cast<int>(ceil_div(conv.channels, kBoxRowBytes)) * plan.tap_blocks;
  if (!set_stages(plan)) return std::nullopt;
  set_maps(conv, box, plan);
  return plan;
}

int multiprocessors() { return device_number(cudaDevAttrMultiProcessorCount); }

bool has_box_instructions() { return device_number(cudaDevAttrComputeCapabilityMajor) == 9; }

}  // namespace qsim::golden::train::cuda
