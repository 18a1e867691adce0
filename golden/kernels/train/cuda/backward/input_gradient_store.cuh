// How a block of input_gradient_wgmma.cu writes its sums to dx: two pixels of a row at a time, four
// channels of a pixel, or one number by one.
#pragma once

#include "golden/kernels/train/cuda/backward/input_gradient_wgmma.cuh"
#include "golden/kernels/train/cuda/backward/real_values.cuh"

namespace qsim::golden::train::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Sums to dx. A thread has two channels, eight apart, and two pixels of each of 16 lines: rows of
// the tile, or of kSmall those of two pictures. Made before the products, so that the bits of
// `passes` are there after them.
template <bool kSmall>
class TileStore {
 public:
  __device__ TileStore(const WgmmaInputArgs& args, const WgmmaJob& job, int half) : args_(args) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
    const int first = (job.group * args.in_blocks + job.in_block) * kTileChannels + warp * 16;
    const int x = job.x + (kSmall ? 0 : half * 8) + lane % 4 * 2;
    const int b = job.b + (kSmall ? half * 2 : 0);
    channel_ = lane / 4;
    pixels_ = min(args.width - x, 2);
    rows_ = min(args.side, args.height - job.y);
    pictures_ = args.batch - b;
    at_ = b * args.dx.stride_b + job.y * args.dx.stride_h + x * args.dx.stride_w +
          (first + channel_) * args.dx.stride_c;
    const std::int64_t bits =
        (((std::int64_t{b} * args.height + job.y) * args.width + x) * args.channels + first) / 8;
#pragma unroll
    for (int j = 0; j < kLines; ++j) {
#pragma unroll
      for (int pixel = 0; pixel < 2; ++pixel) {
        bits_[j][pixel] = 0xFFFF;
        if (args.passes == nullptr || !has_line(j) || pixel >= pixels_) continue;
        const std::int64_t line = std::int64_t{picture_of(j)} * args.height + row_of(j);
        bits_[j][pixel] = __ldg(reinterpret_cast<const std::uint16_t*>(
            args.passes + bits + (line * args.width + pixel) * (args.channels / 8)));
      }
    }
  }

  __device__ void store(const float (&sums)[64]) const {
    switch (args_.dx.type) {
      case RealType::kFloat32:
        return store_as<RealType::kFloat32>(sums);
      case RealType::kFloat16:
        return store_as<RealType::kFloat16>(sums);
      default:
        return store_as<RealType::kBfloat16>(sums);
    }
  }

 private:
  static constexpr int kLines = 16;

  __device__ static constexpr int picture_of(int line) { return kSmall ? line / kSmallSide : 0; }
  __device__ static constexpr int row_of(int line) { return kSmall ? line % kSmallSide : line; }
  __device__ bool has_line(int line) const {
    return row_of(line) < rows_ && picture_of(line) < pictures_;
  }

  template <RealType kType>
  __device__ void store_as(const float (&sums)[64]) const {
    switch (args_.order) {
      case DxOrder::kRowPairs:
        return store_in<kType, DxOrder::kRowPairs>(sums);
      case DxOrder::kChannelQuads:
        return store_in<kType, DxOrder::kChannelQuads>(sums);
      default:
        return store_in<kType, DxOrder::kAny>(sums);
    }
  }

  template <RealType kType, DxOrder kOrder>
  __device__ void store_in(const float (&sums)[64]) const {
#pragma unroll
    for (int j = 0; j < kLines; ++j) {
      if (!has_line(j)) continue;
      const std::int64_t at =
          at_ + picture_of(j) * args_.dx.stride_b + row_of(j) * args_.dx.stride_h;
      const float2 lower = passing(j, channel_, sums[4 * j], sums[4 * j + 1]);
      const float2 upper = passing(j, channel_ + 8, sums[4 * j + 2], sums[4 * j + 3]);
      if constexpr (kOrder == DxOrder::kChannelQuads) {
        store_four<kType>(at, lower, upper);
      } else {
        store_two<kType, kOrder>(at, lower);
        store_two<kType, kOrder>(at + 8 * args_.dx.stride_c, upper);
      }
    }
  }

  __device__ float2 passing(int j, int bit, float first, float second) const {
    return {(bits_[j][0] >> bit & 1) != 0 ? first : 0.0F,
            (bits_[j][1] >> bit & 1) != 0 ? second : 0.0F};
  }

  // Two pixels of a channel.
  template <RealType kType, DxOrder kOrder>
  __device__ void store_two(std::int64_t at, float2 two) const {
    const RealView& dx = args_.dx;
    if (kOrder == DxOrder::kRowPairs && pixels_ == 2) {
      store_pair(dx.data, kType, at, two);
    } else {
      if (pixels_ > 0) store_real(dx.data, kType, at, two.x);
      if (pixels_ > 1) store_real(dx.data, kType, at + dx.stride_w, two.y);
    }
  }

  // After two exchanges, four channels of a pixel: lanes of odd channels take the second pixel, and
  // those whose channels are 2 or 3 mod 4 the upper eight.
  template <RealType kType>
  __device__ void store_four(std::int64_t at, float2 lower, float2 upper) const {
    const int odd = channel_ & 1;
    const int above = channel_ >> 1 & 1;
    const float2 low = channels_of(odd, lower);
    const float2 high = channels_of(odd, upper);
    const float2 sent = above != 0 ? low : high;
    const float2 got = {__shfl_xor_sync(0xFFFFFFFFu, sent.x, 8),
                        __shfl_xor_sync(0xFFFFFFFFu, sent.y, 8)};
    if (odd >= pixels_) return;
    const float2 first = above != 0 ? got : low;
    const float2 second = above != 0 ? high : got;
    store_quad(args_.dx.data, kType, at + odd * args_.dx.stride_w + 8 * above - (channel_ & 3),
               {first.x, first.y, second.x, second.y});
  }

  // Two channels of one of the two pixels.
  __device__ static float2 channels_of(int odd, float2 two) {
    const float got = __shfl_xor_sync(0xFFFFFFFFu, odd != 0 ? two.x : two.y, 4);
    return odd != 0 ? float2{got, two.y} : float2{two.x, got};
  }

  const WgmmaInputArgs& args_;
  int channel_, pixels_, rows_, pictures_;  // what of a line is inside, and what of the batch
  std::int64_t at_;
  std::uint16_t bits_[kLines][2];  // of the warp's 16 channels
};

#endif

}  // namespace qsim::golden::train::cuda
