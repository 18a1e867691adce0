#include "core/base/checked_math.h"
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/forward/conv_finish.cuh"
#include "golden/kernels/train/cuda/forward/conv_patches.h"

namespace qsim::golden::train::cuda {
namespace {

using namespace golden::cuda;

constexpr int kThreads = 256;
constexpr int kChunk = 16;
constexpr int kMostDepth = 64;
constexpr int kAlignment = 256;

// A chunk of a row a thread. Its bytes come from runs: kernel_w times channels bytes of a picture
// row follow each other where the dilation is 1.
__global__ void __launch_bounds__(kThreads)
    write_patches(const __grid_constant__ ConvSizes conv, int chunks, uint4* patches) {
  begin_kernel();
  const int depth = conv.kernel_h * conv.kernel_w * conv.channels;
  const int run = conv.kernel_w * conv.channels;
  for (std::int64_t i = grid_thread(); i < std::int64_t{conv.pixels} * chunks;
       i += grid_threads()) {
    const auto pixel = static_cast<int>(i / chunks);
    const int first = static_cast<int>(i % chunks) * kChunk;
    const PixelPlace place(conv, pixel);
    const int from_y = place.y * conv.stride_h - conv.pad_top;
    const int from_x = place.x * conv.stride_w - conv.pad_left;
    const std::int8_t* picture =
        conv.q + std::int64_t{place.batch} * conv.height * conv.width * conv.channels;
    int ky = first / run;
    int kx = first % run / conv.channels;
    int channel = first % run % conv.channels;
    std::uint32_t words[kChunk / 4] = {};
#pragma unroll
    for (int k = 0; k < kChunk; ++k) {
      const int y = from_y + ky * conv.dilation_h;
      const int x = from_x + kx * conv.dilation_w;
      const bool inside =
          first + k < depth && y >= 0 && y < conv.height && x >= 0 && x < conv.width;
      const int at = (y * conv.width + x) * conv.channels + channel;
      const std::uint32_t byte = inside ? static_cast<std::uint8_t>(__ldg(picture + at)) : 0;
      words[k / 4] |= byte << (k % 4 * 8);
      if (++channel < conv.channels) continue;
      channel = 0;
      if (++kx < conv.kernel_w) continue;
      kx = 0;
      ++ky;
    }
    patches[i] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// The weights of a channel as a row, zeros after them. A byte a thread.
__global__ void __launch_bounds__(kThreads)
    write_weight_rows(const __grid_constant__ ConvSizes conv, int row_bytes, std::int8_t* rows) {
  begin_kernel();
  const int depth = conv.kernel_h * conv.kernel_w * conv.channels;
  const std::int64_t count = std::int64_t{conv.columns} * row_bytes;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const auto k = static_cast<int>(i % row_bytes);
    rows[i] = k < depth ? __ldg(conv.w + i / row_bytes * depth + k) : std::int8_t{0};
  }
}

std::int64_t bytes_of_patches(const ConvSizes& conv) {
  return round_up(std::int64_t{conv.pixels} * patch_bytes(conv), kAlignment);
}

}  // namespace

int patch_bytes(const ConvSizes& conv) {
  const std::int64_t depth = std::int64_t{conv.kernel_h} * conv.kernel_w * conv.channels;
  const std::int64_t picture = std::int64_t{conv.height} * conv.width * conv.channels;
  if (conv.groups != 1 || conv.zero_point != nullptr || conv.channels % kChunk == 0 || depth == 0 ||
      depth > kMostDepth || picture >= (std::int64_t{1} << 31)) {
    return 0;
  }
  return static_cast<int>(round_up(depth, kChunk));
}

std::size_t patch_workspace_bytes(const ConvSizes& conv) {
  if (patch_bytes(conv) == 0) return 0;
  return static_cast<std::size_t>(
      bytes_of_patches(conv) +
      round_up(std::int64_t{conv.columns} * patch_bytes(conv), kAlignment));
}

ConvSizes enqueue_patches(const ConvSizes& conv, void* workspace, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  const int row_bytes = patch_bytes(conv);
  auto* patches = static_cast<std::int8_t*>(workspace);
  std::int8_t* rows = patches + bytes_of_patches(conv);
  const std::int64_t chunks = row_bytes / kChunk;
  launch_kernel("launching patches", write_patches,
                grid_stride_blocks(conv.pixels * chunks, kThreads), kThreads, 0, on, conv,
                static_cast<int>(chunks), reinterpret_cast<uint4*>(patches));
  launch_kernel("launching patches", write_weight_rows,
                grid_stride_blocks(std::int64_t{conv.columns} * row_bytes, kThreads), kThreads, 0,
                on, conv, row_bytes, rows);
  ConvSizes of_rows = conv;
  of_rows.q = patches;
  of_rows.w = rows;
  of_rows.height = conv.out_height;
  of_rows.width = conv.out_width;
  of_rows.channels = of_rows.all_channels = row_bytes;
  of_rows.kernel_h = of_rows.kernel_w = of_rows.stride_h = of_rows.stride_w = 1;
  of_rows.pad_top = of_rows.pad_left = 0;
  of_rows.dilation_h = of_rows.dilation_w = 1;
  return of_rows;
}

}  // namespace qsim::golden::train::cuda
