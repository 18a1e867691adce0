// Scales and zero_points at which an average pool gives the same bytes in ONNX Runtime
// (docs/reference/onnx.md). It adds float32 numbers there, so means that are nearly halves
// of a level may round to the other side: not where the two scales are far from all such means.
// Between powers of two its sums are exact, but it rounds after it has added the zero_point, so
// halves go to another level where that is odd.
#pragma once

#include "core/network/operations.h"
#include "quantize/levels.h"

namespace qsim::quantize {

// The distance, in levels, from the nearest tie to any mean of a window that the output's levels
// can hold. `varies`: pads or the picture's end leave windows of fewer positions.
double distance_from_ties(const Quantization& input, const Quantization& output,
                          const Window& window, bool varies);

// The output's scale, or one up to 6% larger: the first of 64 that no float32 sum can bring to a
// tie, or else the one that is farthest from ties.
float scale_without_ties(const Quantization& input, const Quantization& output,
                         const Window& window, bool varies);

// The zero_point, or the even one beside it at which more of least..most is in the levels.
std::int32_t even_zero_point(const Quantization& output, float least, float most);

// The same reals, one level higher where symmetric levels have an odd zero_point: reduced unsigned
// ones are 1..2^b - 1 around 2^(b-1) then. Levels that fill the type stay, with their zero_point
// one higher.
Quantization with_even_middle(const Quantization& output);

}  // namespace qsim::quantize
