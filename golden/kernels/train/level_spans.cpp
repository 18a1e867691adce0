#include "golden/kernels/train/level_spans.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cstring>

#include "golden/kernels/train/level_arithmetic.h"

// One clone of a function per instruction set, chosen when the program is loaded. Sanitizers start
// later than that choice, so their builds take the plain function.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define QSIM_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define QSIM_CLONES
#endif

namespace qsim::golden::train {
namespace {

constexpr std::int64_t kLanes = 16;

struct Lanes {
  std::array<float, kLanes> least, most;
};

// `count` is a multiple of kLanes.
QSIM_CLONES void include_all(const float* values, std::int64_t count, Lanes& lanes) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Lanes own = lanes;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + static_cast<std::int64_t>(lane)];
      const bool is_finite = std::fabs(value) <= FLT_MAX;
      const float low = is_finite ? value : kInfinity;
      const float high = is_finite ? value : -kInfinity;
      own.least[lane] = low < own.least[lane] ? low : own.least[lane];
      own.most[lane] = high > own.most[lane] ? high : own.most[lane];
    }
  }
  lanes = own;
}

QSIM_CLONES void write_levels(const float* values, std::int64_t count, const SpanScale& scale,
                              const Levels& levels, std::int8_t* q, std::uint8_t* passes) {
  const SpanScale s = scale;
  const Levels l = levels;
  for (std::int64_t i = 0; i < count; ++i) {
    const float rounded = round_quotient(values[i] / s.scale, l.rounding);
    const Level level = clamp_level(rounded, s.zero_point, l.lo, l.hi);
    q[i] = level.q;
    passes[i] = level.passes;
  }
}

QSIM_CLONES void write_residuals(const float* values, std::int64_t count, float scale,
                                 LevelRounding rounding, const std::uint8_t* passes,
                                 std::int8_t* residual) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float quotient = values[i] / scale;
    const float kept = passes[i] != 0 ? quotient : 0.0F;  // what was clamped may be infinite
    residual[i] = residual_of(kept, round_quotient(kept, rounding));
  }
}

}  // namespace

void FiniteRange::include(const FiniteRange& other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

FiniteRange range_of_span(const float* values, std::int64_t count) {
  FiniteRange range;
  Lanes lanes;
  lanes.least.fill(range.least);
  lanes.most.fill(range.most);
  const std::int64_t whole = count / kLanes * kLanes;
  include_all(values, whole, lanes);
  std::array<float, kLanes> rest;
  rest.fill(std::numeric_limits<float>::quiet_NaN());  // is left out
  std::copy(values + whole, values + count, rest.begin());
  include_all(rest.data(), kLanes, lanes);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    range.include({lanes.least[lane], lanes.most[lane]});
  }
  return range;
}

void levels_of_span(const float* values, std::int64_t count, const SpanScale& scale,
                    const Levels& levels, std::int8_t* q, std::uint8_t* passes,
                    std::int8_t* residual) {
  write_levels(values, count, scale, levels, q, passes);
  if (residual != nullptr) {
    write_residuals(values, count, scale.scale, levels.rounding, passes, residual);
  }
}

void pack_bits(const std::uint8_t* flags, std::int64_t count, std::uint8_t* bits) {
  for (std::int64_t i = 0; i < count; i += 8) {
    std::uint8_t byte = 0;
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<std::uint8_t>(byte | flags[i + bit] << bit);
    }
    bits[i / 8] = byte;
  }
}

}  // namespace qsim::golden::train
