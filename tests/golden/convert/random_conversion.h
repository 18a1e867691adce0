// Random group conversions: tensors of any rank, strides and numbers, and how they are quantized.
#pragma once

#include "core/base/random.h"
#include "golden/kernels/convert/conversion.h"

namespace qsim::golden {

struct RandomConversion {
  std::vector<std::uint16_t> storage;
  HalfTensor x;  // points into storage
  Quantization how;
  int threads = 1;

  // What a failing test prints.
  std::string text() const;
};

// The same for the same seed, on every machine.
RandomConversion random_conversion(std::uint64_t seed, ElementFormat format);

// Changes some parts to what a backward conversion may meet, and no quantization makes.
void disturb(QuantizedTensor& q, std::uint64_t seed);

}  // namespace qsim::golden
