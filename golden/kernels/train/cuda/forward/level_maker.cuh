// From real numbers to levels, on the device. The definition is in include/qsim/training.h.
#pragma once

#include "golden/kernels/train/cuda/forward/reals.cuh"

namespace qsim::golden::train::cuda {

struct MadeLevel {
  std::int32_t level;
  bool passes;
  float rest;  // the quotient minus what it was rounded to
};

__device__ inline float reciprocal(float value) { return __frcp_rn(value); }

// kTruncates: rounds toward zero, else to nearest, ties to even.
template <bool kTruncates>
class LevelMaker {
 public:
  __device__ LevelMaker(const Levels& levels, float scale, std::int32_t zero_point)
      : scale_(scale),
        inverse_(reciprocal(scale)),
        most_(512.0F * scale),
        is_usual_(scale >= 0x1p-60F && scale <= 0x1p60F),
        least_level_(levels.lo - zero_point),
        most_level_(levels.hi - zero_point),
        zero_point_(zero_point),
        easy_(is_usual_ && zero_point == 0 && levels.lo <= 0 && levels.hi >= 0
                  ? (static_cast<float>(min(-levels.lo, levels.hi)) + 0.25F) * scale
                  : -1.0F) {}

  // Whether easy_level() may be asked: x passes, and its level is its rounded quotient.
  __device__ bool is_easy(float x) const { return fabsf(x) <= easy_; }
  __device__ std::int32_t easy_level(float x) const {
    float rounded;
    return rounded_quotient(corrected_quotient(x), rounded);
  }

  __device__ MadeLevel operator()(float x) const {
    float quotient;
    bool is_nan;
    if (is_usual_) {
      quotient = usual_quotient(x);
      is_nan = x != x;
    } else {
      const float whole = __fdiv_rn(x, scale_);
      quotient = fminf(fmaxf(whole, -512.0F), 512.0F);
      is_nan = whole != whole;
    }
    float rounded;
    std::int32_t integer = rounded_quotient(quotient, rounded);
    if (is_nan) integer = 0;
    MadeLevel made;
    made.level = min(max(integer, least_level_), most_level_) + zero_point_;
    made.passes = integer >= least_level_ && integer <= most_level_ && !is_nan;
    made.rest = __fadd_rn(quotient, -rounded);
    return made;
  }

 private:
  // The rounded quotient, in `rounded` as a float too.
  __device__ static std::int32_t rounded_quotient(float quotient, float& rounded) {
    if constexpr (kTruncates) {
      rounded = truncf(quotient);
      return static_cast<std::int32_t>(rounded);
    } else {
      // |quotient| <= 512: the sum is the nearest integer, ties to even, plus 1.5 * 2^23.
      constexpr float kIntegers = 12582912.0F;
      const float sum = __fadd_rn(quotient, kIntegers);
      rounded = __fadd_rn(sum, -kIntegers);
      return __float_as_int(sum) - 0x4B400000;
    }
  }

  // RN(x / scale) for 2^-60 <= scale <= 2^60, but clamped to +-512, beyond which every level is
  // clamped; where it is below 2^-18 it may differ, but stays below 2^-17: its level and its
  // residual are those of 0.
  //
  // Let s be the scale, r = RN(1 / s) = (1 / s)(1 + e), |e| <= 2^-24, and a the clamped x, with
  // |a / s| >= 2^-19, so that nothing below over- or underflows: every remainder is a multiple of
  // ulp(q) ulp(s) >= 2^(-20 - 23 - 60 - 23) = 2^-126. The product a r is off by |a / s| 2^-24,
  // which is below 1 ulp of a / s, and by half an ulp for its rounding: by less than 2 ulps. The
  // first correction adds (a / s - q0)(1 + 2^-22) or so: before it is rounded the sum is off by
  // less than 2^-20 ulps, so that q1 is within one ulp of a / s. The remainder a - q1 s then is
  // exact, and Markstein's theorem (IBM J. Res. Dev. 34, 1990, theorem 7.2 there: r the nearest
  // number to 1 / s, q1 within one ulp) has RN(q1 + r (a - q1 s)) = RN(a / s).
  __device__ float usual_quotient(float x) const {
    return corrected_quotient(fminf(fmaxf(x, -most_), most_));
  }
  __device__ float corrected_quotient(float a) const {
    float q = __fmul_rn(a, inverse_);
    q = __fmaf_rn(__fmaf_rn(-q, scale_, a), inverse_, q);
    return __fmaf_rn(__fmaf_rn(-q, scale_, a), inverse_, q);
  }

  float scale_, inverse_, most_;
  bool is_usual_;
  std::int32_t least_level_, most_level_, zero_point_;
  float easy_;  // the greatest easy magnitude; negative: none is
};

template <bool kTruncates>
__device__ LevelMaker<kTruncates> maker_of(const QuantizeLevels& call) {
  return {call.levels, *call.scale, call.zero_point == nullptr ? 0 : *call.zero_point};
}

// The level of rounded `t`, ties to even; NaN is the zero_point and does not pass.
__device__ inline std::int32_t nearest_level(float t, std::int32_t zero_point, std::int32_t lo,
                                             std::int32_t hi, bool& passes) {
  constexpr float kIntegers = 12582912.0F;  // as above
  const bool is_nan = t != t;
  const float sum = __fadd_rn(fminf(fmaxf(t, -512.0F), 512.0F), kIntegers);
  const std::int32_t level = (is_nan ? 0 : __float_as_int(sum) - 0x4B400000) + zero_point;
  const std::int32_t clamped = min(max(level, lo), hi);
  passes = clamped == level && !is_nan;
  return clamped;
}

__device__ inline std::int32_t residual_of(const MadeLevel& level) {
  return level.passes ? __float2int_rn(__fmul_rn(127.0F, level.rest)) : 0;
}

// Four values in the low bytes of their words, as a word.
__device__ inline std::uint32_t four_bytes(std::int32_t a, std::int32_t b, std::int32_t c,
                                           std::int32_t d) {
  const std::uint32_t low =
      __byte_perm(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), 0x0040);
  const std::uint32_t high =
      __byte_perm(static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(d), 0x0040);
  return __byte_perm(low, high, 0x5410);
}

}  // namespace qsim::golden::train::cuda
