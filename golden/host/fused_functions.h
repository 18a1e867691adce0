// Functions of float32 with the roundings of ONNX Runtime's CPU (its MLAS library) on a processor
// with AVX2 and FMA. The same bits on every processor.
#pragma once

#include <cstdint>
#include <span>

#include "golden/common/vector_path.h"

namespace qsim::golden {

enum class FusedFunction : std::uint8_t { kExp, kErf, kTanh, kSigmoid };

// y[i] = function(x[i]); y may be x.
void apply(FusedFunction function, std::span<const float> x, std::span<float> y,
           VectorPath path = VectorPath::kAuto);
float apply(FusedFunction function, float x);

// exp(x[i] + shift), and their sum.
float exponentials(std::span<const float> x, float shift, std::span<float> y,
                   VectorPath path = VectorPath::kAuto);

// The code for one kind of processor; the AVX2 one is null where there is none.
struct FusedFunctions {
  void (*apply)(FusedFunction function, std::span<const float> x, std::span<float> y) = nullptr;
  float (*exponentials)(std::span<const float> x, float shift, std::span<float> y) = nullptr;
};
extern const FusedFunctions kPortableFunctions;
extern const FusedFunctions kAvx2Functions;

}  // namespace qsim::golden
