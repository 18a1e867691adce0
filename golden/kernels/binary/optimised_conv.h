// Binary convolution by popcounts of words, with vector instructions chosen at run time and in
// several threads. Its bits are those of reference_conv and reference_stage (binary_conv.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "golden/kernels/binary/binary_conv.h"
#include "golden/kernels/binary/popcount_kernels.h"

namespace qsim::golden {

struct BinaryOptions {
  PopcountPath path = PopcountPath::kAuto;  // must be available
  int threads = 1;                          // 0: one for each processor of this process
};

// The bits of `x` by ThresholdQuantizer, as quantize_and_pack makes them. Throws Error as it does,
// and for a path that is not available.
BitTensor pack_activations(std::span<const float> x, const ImageShape& shape,
                           std::span<const float> v, const BinaryOptions& options = {});

// A layer with its weights packed into panels. dot = n - 2 popcount(a ^ b) over the taps inside the
// picture. A pad is gathered as words of 0, which are not zeros but -1 in every channel: they add
// popcount(b) to the popcount, and their taps are not in n. Both are known before the input is, by
// the set of taps that lie outside.
class OptimisedBinaryConv {
 public:
  // Throws Error for a path that is not available. The layer may be freed after it.
  explicit OptimisedBinaryConv(const BinaryConv& conv, const BinaryOptions& options = {});
  ~OptimisedBinaryConv();
  OptimisedBinaryConv(const OptimisedBinaryConv&) = delete;
  OptimisedBinaryConv& operator=(const OptimisedBinaryConv&) = delete;

  // y, [batch][height][width][out_channels]. Throws Error as output_shape does. One thread at a
  // time may call run().
  std::vector<float> run(const BitTensor& input) const;
  // Convolution, max-pool, batch norm, ReLU and quantizer fused: a few rows of y are kept, and only
  // bits are written. Throws Error as stage_shape does.
  BitTensor run(const BitTensor& input, const BinaryStage& stage) const;

 private:
  struct Packed;
  std::unique_ptr<Packed> packed_;
};

}  // namespace qsim::golden
