// Quantize and pack by ballots. The quantizing function is a parameter, as in bit_tensor.h: a type
// with `bool operator()(float x, int base) const` for the device.
#pragma once

#include <cstdint>

#include "golden/device/launch.cuh"

namespace qsim::golden::cuda {

// `words` of 64 channels of all pixels: [pixel][base][word]. A warp makes all bases of a word.
template <class Quantizer>
__global__ void pack_bits(const float* x, std::int64_t pixels, std::int32_t channels,
                          std::int32_t words, std::int32_t bases, Quantizer quantizer,
                          std::uint64_t* bits) {
  begin_kernel();
  const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
  for (std::int64_t i = grid_thread() / 32; i < pixels * words; i += grid_threads() / 32) {
    const std::int64_t pixel = i / words;
    const auto word = static_cast<std::int32_t>(i - pixel * words);
    const float* values = x + pixel * channels;
    const std::int32_t low = word * 64 + lane;
    const float a = low < channels ? values[low] : 0.0F;
    const float b = low + 32 < channels ? values[low + 32] : 0.0F;
    std::uint64_t mine = 0;
    for (std::int32_t base = 0; base < bases; ++base) {
      const std::uint32_t first = __ballot_sync(0xFFFFFFFFu, low < channels && quantizer(a, base));
      const std::uint32_t second =
          __ballot_sync(0xFFFFFFFFu, low + 32 < channels && quantizer(b, base));
      if (lane == base) mine = std::uint64_t{second} << 32 | first;
    }
    if (lane < bases) bits[(pixel * bases + lane) * words + word] = mine;
  }
}

template <class Quantizer>
void launch_pack(const float* x, std::int64_t pixels, std::int32_t channels, std::int32_t bases,
                 const Quantizer& quantizer, std::uint64_t* bits, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const std::int32_t words = (channels + 63) / 64;
  launch_kernel("launching quantize and pack", pack_bits<Quantizer>,
                grid_stride_blocks(pixels * words * 32, kThreads), kThreads, 0, stream, x, pixels,
                channels, words, bases, quantizer, bits);
}

}  // namespace qsim::golden::cuda
