#include "quantize/ranges/range_search.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace qsim::quantize {
namespace {

constexpr int kOctaves = 11;
constexpr int kStepsPerOctave = 12;
constexpr int kFinerSteps = 7;     // on each side of the best, in each refinement
constexpr int kRefinements = 2;    // 1/12 of an octave to 1/12 / 64
constexpr double kTie = 1 - 1e-9;  // errors this close are equal

class Search {
 public:
  Search(const SearchSpace& space, const std::function<double(const Quantization&)>& error)
      : space_(space), error_(error) {}

  // Whether this scale is better than all before it.
  bool try_scale(float scale) {
    const Quantization candidate =
        best_zero_point(quantization_at(scale, space_.range, space_.levels, space_.symmetry));
    const double error = error_(candidate);
    const double step = candidate.scale;
    if (best_ && error - step * step / 4 > least_) {
      const double steps = candidate.hi - candidate.lo;
      hopeless_ = std::max(hopeless_, step * (steps - 1) / (steps + 1));
    }
    if (best_ && !(error < least_ * kTie)) return false;
    least_ = error;
    best_ = candidate;
    return true;
  }

  const Quantization& best() const { return *best_; }

  // Whether no scale at or below `scale` can be the best. A scale s whose error without that of
  // rounding, at most s^2 / 4, is above the least error clips too much; so does every scale whose
  // levels cover no more. (Windows are at multiples of their scale, so one of n steps of s' is in
  // one of n steps of s wherever it is only if (n + 1) s' <= (n - 1) s.)
  bool is_hopeless(double scale) const { return scale <= hopeless_; }

 private:
  // A window that clips values on one side and has free levels on the other is never better: the
  // zero_points between those that put an end of the window on an end of the range are enough.
  Quantization best_zero_point(Quantization candidate) const {
    if (space_.symmetry != Symmetry::kAffine) return candidate;
    const double scale = candidate.scale;
    const double bottom = candidate.lo - std::min(space_.range.lo, 0.0F) / scale;
    const double top = candidate.hi - std::max(space_.range.hi, 0.0F) / scale;
    const auto level = [&](double real) {
      return static_cast<std::int32_t>(std::clamp<double>(real, candidate.lo, candidate.hi));
    };
    std::int32_t least = level(std::floor(std::min(bottom, top)));
    std::int32_t most = level(std::ceil(std::max(bottom, top)));
    while (least < most) {
      candidate.zero_point = least + (most - least) / 2;
      const double here = error_(candidate);
      const std::int32_t middle = candidate.zero_point++;
      if (error_(candidate) < here * kTie) {
        least = middle + 1;
      } else {
        most = middle;
      }
    }
    candidate.zero_point = least;
    return candidate;
  }

  const SearchSpace& space_;
  const std::function<double(const Quantization&)>& error_;
  std::optional<Quantization> best_;
  double least_ = 0;
  double hopeless_ = 0;
};

void search_exponents(const ExponentLimits& limits, double covering, Search& search) {
  const int top = std::clamp(covering_exponent(covering), limits.least, limits.most);
  for (int exponent = top; exponent >= std::max(top - kOctaves, limits.least); --exponent) {
    if (search.is_hopeless(std::ldexp(1.0, exponent))) break;
    search.try_scale(std::ldexp(1.0F, exponent));
  }
}

void search_scales(ScaleKind kind, double covering, Search& search) {
  const auto try_octaves = [&](double octaves) {
    const double scale = covering * std::exp2(octaves);
    return search.try_scale(kind == ScaleKind::kDyadic ? dyadic_scale(scale) : float_scale(scale));
  };
  double best = 0;
  try_octaves(best);
  double step = 1.0 / kStepsPerOctave;
  for (int at = -kStepsPerOctave / 2; at <= kOctaves * kStepsPerOctave; ++at) {
    if (search.is_hopeless(covering * std::exp2(-at * step))) break;
    if (at != 0 && try_octaves(-at * step)) best = -at * step;
  }
  for (int refinement = 0; refinement < kRefinements; ++refinement) {
    step /= kFinerSteps + 1;
    const double centre = best;
    for (int at = -kFinerSteps; at <= kFinerSteps; ++at) {
      if (at != 0 && try_octaves(centre + at * step)) best = centre + at * step;
    }
  }
}

}  // namespace

Quantization least_error(const SearchSpace& space,
                         const std::function<double(const Quantization&)>& error) {
  const double covering = covering_scale(space.range, space.levels, space.symmetry);
  if (covering == 0) {
    return quantization_of(space.range, space.levels, space.symmetry, ScaleKind::kFloat);
  }
  Search search(space, error);
  if (space.kind == ScaleKind::kPowerOfTwo) {
    search_exponents(space.exponents, covering, search);
  } else {
    search_scales(space.kind, covering, search);
  }
  return search.best();
}

}  // namespace qsim::quantize
