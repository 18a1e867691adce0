// The int32 sums of a convolution of levels, some output pixels at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "golden/kernels/train/pair_products.h"
#include "golden/kernels/train/panels.h"
#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train {

class ConvSums {
 public:
  // Copies the weights; the call's tensors must live as long.
  ConvSums(const LevelConv& conv, ThreadTeam& team);

  // Calls use(first, count, acc) for the pixels begin..end - 1, kBlock or fewer at a time;
  // acc [count][channels of y].
  static constexpr std::int64_t kBlock = 16;
  template <typename Use>
  void each_block(std::int64_t begin, std::int64_t end, const Use& use) const {
    const std::int64_t outs = conv_.y_shape.channels;
    std::vector<std::int16_t> patches(static_cast<std::size_t>(kBlock * row_));
    std::vector<std::int32_t> acc(static_cast<std::size_t>(kBlock * outs));
    for (std::int64_t first = begin; first < end; first += kBlock) {
      const std::int64_t count = std::min(kBlock, end - first);
      for (std::int64_t group = 0; group < conv_.groups; ++group) {
        gather(group, first, count, patches.data());
        multiply_block(group, count, patches.data(), acc.data());
      }
      use(first, count, acc.data());
    }
  }

 private:
  // The products' first factors, [count][row_]; a pad is 0.
  void gather(std::int64_t group, std::int64_t first, std::int64_t count,
              std::int16_t* patches) const;
  void multiply_block(std::int64_t group, std::int64_t count, const std::int16_t* patches,
                      std::int32_t* acc) const;

  LevelConv conv_;
  std::int32_t zero_point_;
  std::int64_t row_;           // the products of an output, up to an even number
  Panels<LevelPair> weights_;  // a step for two products
};

}  // namespace qsim::golden::train
