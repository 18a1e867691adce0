// The last step of a layer with weights: a tile of psums becomes bytes of the ofmap.
#pragma once

#include "golden/graph/cpu/packed_weights.h"

namespace qsim::golden {

class OutputStage {
 public:
  // Finishes a layer's channels from `first_channel` on. Keeps references to everything but the
  // kernels' table, which is the program's.
  OutputStage(const Requantization& requantization, const Tensor& bias, const Value& output,
              std::int64_t first_channel, const VectorKernels& kernels)
      : requantization_(requantization),
        bias_(bias.as<std::int32_t>().data() + first_channel),
        output_(output),
        first_channel_(first_channel),
        kernels_(kernels) {}

  // acc is [row_count][kPanelChannels], the psums of panel `panel`; `out` is the ofmap's byte of
  // the first row's pixel and the first channel of the range. Pixels are the ofmap's channels
  // apart.
  void finish(const std::int32_t* acc, int row_count, const PackedWeights& packed,
              std::size_t panel, std::uint8_t* out) const;

 private:
  const Requantization& requantization_;
  const std::int32_t* bias_;
  const Value& output_;
  std::int64_t first_channel_;
  const VectorKernels& kernels_;
};

}  // namespace qsim::golden
