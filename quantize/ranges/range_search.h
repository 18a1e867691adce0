// The search for the quantization of least error, over all that the levels, the symmetry and the
// kind of scale allow. What the error is, the caller says.
#pragma once

#include <functional>

#include "quantize/levels.h"

namespace qsim::quantize {

struct SearchSpace {
  Range range;  // of the values; widened to have 0
  Levels levels;
  Symmetry symmetry = Symmetry::kAffine;
  ScaleKind kind = ScaleKind::kFloat;  // kDyadic: m * 2^n, m of 8 bits
  ExponentLimits exponents = {};       // of scales 2^n
};

// `error` is the mean of the squared distances between values and their nearest levels. For a value
// it is convex in the zero_point. (The levels are the multiples of the scale in a window that the
// zero_point moves by whole steps: a value costs the same while the window has its nearest
// multiple, and then ever more for each step.) So for a scale the best zero_point is found by
// bisection.
//
// Power-of-two scales: the smallest that covers the range and the eleven below it; the result is
// the best of them. Other scales: 1.5 down to 2^-11 of the one that covers the range in twelfths of
// an octave, and then finer around the best, down to 0.1%. Both stop where every smaller scale must
// be worse. A tie goes to the quantization that covers the range.
Quantization least_error(const SearchSpace& space,
                         const std::function<double(const Quantization&)>& error);

}  // namespace qsim::quantize
