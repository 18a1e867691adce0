// From psums of consecutive channels to values, and from values to bytes of the ofmap: what the
// epilogues of whole tiles (conv_wgmma_epilogue.cuh) and of split ones share.
#pragma once

#include "golden/graph/cuda/kernels/conv_wgmma_args.h"
#include "golden/graph/cuda/kernels/finish.cuh"

namespace qsim::golden::cuda {

// What the requantization of a run needs, loaded once for several rows.
template <int kCount>
struct RunParams {
  std::int32_t fold[kCount];

  RunParams() = default;
  __device__ RunParams(const OutputParams& params, int channel) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const int4 four = __ldg(reinterpret_cast<const int4*>(params.fold + channel + i));
      fold[i] = four.x;
      fold[i + 1] = four.y;
      fold[i + 2] = four.z;
      fold[i + 3] = four.w;
    }
  }
};

// Requantizes psums of kCount consecutive channels from `channel` on, in place: plain ones by
// args.shift, whose clamp is the pack's saturation; others by shifts or scales of their own.
template <int kCount>
__device__ inline void finish_plain(std::int32_t (&values)[kCount], const RunParams<kCount>& run,
                                    const ConvWgmmaArgs& args) {
  __builtin_assume(args.shift > 0);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    values[i] = rounding_shift(values[i] + run.fold[i], args.shift, RoundingMode::kHalfEven);
  }
}

template <int kCount>
__device__ inline void finish_shifts(std::int32_t (&values)[kCount], const RunParams<kCount>& run,
                                     const ConvWgmmaArgs& args, int channel) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    values[i] = requantize_narrow(values[i] + run.fold[i], __ldg(args.output.shift + channel + i),
                                  RoundingMode::kHalfEven, args.output.zero_point, args.output.lo,
                                  args.output.hi);
  }
}

// f(i, product): the scaled and clamped psum of value i.
template <int kCount, typename F>
__device__ inline void for_scaled(const std::int32_t (&values)[kCount],
                                  const RunParams<kCount>& run, const ConvWgmmaArgs& args,
                                  int channel, F f) {
#pragma unroll
  for (int i = 0; i < kCount; i += 4) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(args.output.scale + channel + i));
    f(i, scaled(args.output, values[i] + run.fold[i], four.x));
    f(i + 1, scaled(args.output, values[i + 1] + run.fold[i + 1], four.y));
    f(i + 2, scaled(args.output, values[i + 2] + run.fold[i + 2], four.z));
    f(i + 3, scaled(args.output, values[i + 3] + run.fold[i + 3], four.w));
  }
}

template <int kCount>
__device__ inline void finish_scales(std::int32_t (&values)[kCount], const RunParams<kCount>& run,
                                     const ConvWgmmaArgs& args, int channel) {
  for_scaled(values, run, args, channel, [&](int i, float product) {
    values[i] = nearest_int(product) + args.output.zero_point;
  });
}

// The level of byte `byte` of a word, as a float: the integers from 2^23 on are the floats'
// fractions. `levels` are the bytes, those of int8 with the highest bit turned.
__device__ inline float level_of_byte(std::uint32_t levels, int byte, float zero) {
  const std::uint32_t bits =
      __byte_perm(levels, 0x4B000000U, 0x7440U + static_cast<unsigned>(byte));
  return __fadd_rn(__uint_as_float(bits), -zero);
}

// The same plus the levels of the other operand, whose bytes are `words`, in the low bytes.
// kOtherIsFirst: the other operand is the first of the two.
template <bool kOtherIsFirst, int kCount>
__device__ inline void finish_sums_of(std::int32_t (&values)[kCount], const RunParams<kCount>& run,
                                      const ConvWgmmaArgs& args, int channel,
                                      const std::uint32_t (&words)[kCount / 4]) {
  const OtherOperand& other = args.other;
  for_scaled(values, run, args, channel, [&](int i, float product) {
    const float level =
        __fadd_rn(__fadd_rn(product, kIntegerFloats), args.output.from_integer_floats);
    const float theirs = level_of_byte(words[i / 4] ^ other.turned, i % 4, other.zero);
    values[i] = kOtherIsFirst ? add_float_byte(other.adder, theirs, level)
                              : add_float_byte(other.adder, level, theirs);
  });
}

template <int kCount>
__device__ inline void finish_sums(std::int32_t (&values)[kCount], const RunParams<kCount>& run,
                                   const ConvWgmmaArgs& args, int channel,
                                   const std::uint32_t (&words)[kCount / 4]) {
  if (args.other.is_first) {
    finish_sums_of<true>(values, run, args, channel, words);
  } else {
    finish_sums_of<false>(values, run, args, channel, words);
  }
}

__device__ inline void store_words(std::uint8_t* to, const std::uint32_t (&words)[4]) {
  *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}
__device__ inline void store_words(std::uint8_t* to, const std::uint32_t (&words)[2]) {
  *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
}
__device__ inline void store_words(std::uint8_t* to, const std::uint32_t (&words)[1]) {
  *reinterpret_cast<std::uint32_t*>(to) = words[0];
}

// Writes kCount finished values to channels from `channel` on; those beyond the ofmap's are
// dropped. kWhole: the ofmap's channels are a multiple of kCount. kLowBytes: low bytes are written;
// else values that saturate.
template <bool kWhole, bool kLowBytes, int kCount>
__device__ inline void store_run(const std::int32_t (&values)[kCount], const ConvWgmmaArgs& args,
                                 int pixel, int channel) {
  const int channels = args.geometry.channels;
  std::uint8_t* to = args.output_data + std::int64_t{pixel} * channels + channel;
  std::uint32_t words[kCount / 4];
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    const std::int32_t four[4] = {values[4 * i], values[4 * i + 1], values[4 * i + 2],
                                  values[4 * i + 3]};
    words[i] =
        kLowBytes ? pack_bytes(four) : pack4(four[0], four[1], four[2], four[3], args.is_unsigned);
  }
  if (channel >= channels) return;
  if (kWhole || channels % kCount == 0) return store_words(to, words);
  if constexpr (!kWhole) {
    if (channels % 4 == 0) {
#pragma unroll
      for (int i = 0; i < kCount / 4; ++i) {
        if (channel + 4 * i < channels) reinterpret_cast<std::uint32_t*>(to)[i] = words[i];
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (channel + i < channels) to[i] = static_cast<std::uint8_t>(words[i / 4] >> (8 * (i % 4)));
    }
  }
}

// The other operand's bytes of those channels; any where there are none.
template <int kCount>
__device__ inline void load_other(const ConvWgmmaArgs& args, int pixel, int channel,
                                  std::uint32_t (&words)[kCount / 4]) {
  const int channels = args.geometry.channels;
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) words[i] = 0;
  if (pixel < 0 || channel >= channels) return;
  const std::uint8_t* from = args.other.data + std::int64_t{pixel} * channels + channel;
  if (kCount == 16 && channels % 16 == 0) {
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    words[0] = four.x;
    words[1] = four.y;
    words[kCount == 16 ? 2 : 0] = four.z;
    words[kCount == 16 ? 3 : 0] = four.w;
  } else if (channels % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      if (channel + 4 * i < channels) words[i] = reinterpret_cast<const std::uint32_t*>(from)[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (channel + i < channels) words[i / 4] |= std::uint32_t{from[i]} << (8 * (i % 4));
    }
  }
}

}  // namespace qsim::golden::cuda
