// Sums of products of a convolution as products of matrices, chunk by chunk: the inputs of a block
// of output pixels are gathered for one chunk of products, and pass over all panels of weights
// while they lie in the second-level cache. What the sums start from and become is a stage's.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base/checked_math.h"
#include "golden/common/thread_team.h"
#include "golden/graph/real/gather.h"
#include "golden/graph/real/packed_products.h"
#include "golden/graph/real/product_kernels.h"
#include "golden/graph/real/real_arithmetic.h"

namespace qsim::golden {

// Output pixels and channels whose sums are made together, [pixels][pitch].
struct SumBlock {
  std::int64_t first_pixel;  // counted over [N][H][W]
  std::int64_t pixels;
  std::int64_t first_channel;
  std::size_t channels;  // that exist; the pitch has lanes without a channel
  std::size_t pitch;
};

// How a layer's work is cut: blocks of output pixels by ranges of panels, of each group.
struct WorkDivision {
  std::int64_t pixels;
  std::int64_t block;  // pixels
  std::int64_t blocks;
  std::int64_t ranges;  // of panels
};

class BlockedProducts {
 public:
  // `channels` that an output channel reads; `outputs` of all groups.
  BlockedProducts(const Window& window, std::int64_t groups, std::int64_t outputs,
                  std::int64_t channels, const ProductKernels& kernels)
      : window_(window),
        groups_(groups),
        outputs_(outputs / groups),
        channels_(channels),
        kernels_(kernels) {}

  // Weights `factors`, [Cout][depth], whose products count 2^shift. A layer's weights are the sum
  // of its bands; a float stage has one, of shift 0.
  void add_band(const float* factors, int shift);

  // Stage::Sum is float: sums are those of docs/reference/golden.md; or std::int64_t: chunk sums
  // are integers below 2^24 in magnitude, and are added as integers.
  //   void start(const SumBlock&, Sum* sums) const
  //   void finish(const SumBlock&, const Sum* sums, Tensor& output) const
  template <typename Stage>
  void run(const Tensor& input, Tensor& output, ThreadTeam& team, const Stage& stage) const {
    const WorkDivision division = divide_work(image_shape(output), team.threads());
    const std::int64_t parts = division.blocks * division.ranges;
    team.run(size(parts * groups_), [&](std::size_t part) {
      const auto p = static_cast<std::int64_t>(part);
      run_part(p / parts, division, p % parts, input, output, stage);
    });
  }

 private:
  struct Band {
    std::vector<PackedProducts> groups;
    int shift;
  };

  WorkDivision divide_work(const ImageShape& shape, std::int64_t threads) const;
  SumBlock block_of(std::int64_t group, const WorkDivision& division, std::int64_t block,
                    std::size_t first_panel, std::size_t last_panel) const;
  // The chunk from product k on, of a range of panels.
  void add_chunk(const Band& band, std::int64_t group, const SumBlock& block, std::size_t k,
                 const float* rows, std::size_t first_panel, std::size_t last_panel,
                 float* sums) const;
  void add_chunk(const Band& band, std::int64_t group, const SumBlock& block, std::size_t k,
                 const float* rows, std::size_t first_panel, std::size_t last_panel,
                 std::int64_t* sums) const;

  template <typename Stage>
  void run_part(std::int64_t group, const WorkDivision& division, std::int64_t part,
                const Tensor& input, Tensor& output, const Stage& stage) const {
    const PackedProducts& packed = bands_[0].groups[size(group)];
    const auto panels = static_cast<std::int64_t>(packed.panels());
    const std::int64_t range = part % division.ranges;
    const std::size_t first_panel = size(panels * range / division.ranges);
    const std::size_t last_panel = size(panels * (range + 1) / division.ranges);
    const SumBlock block =
        block_of(group, division, part / division.ranges, first_panel, last_panel);
    AlignedArray<float> rows(size(block.pixels) * kRowPitch);
    AlignedArray<typename Stage::Sum> sums(size(block.pixels) * block.pitch);
    stage.start(block, sums.data());
    const GroupView view = {input.as<float>().data(), image_shape(input), group * channels_,
                            channels_};
    for (std::size_t k = 0; k < packed.depth(); k += size(kChunk)) {
      const std::size_t end = std::min(k + size(kChunk), packed.depth());
      gather_chunk(view, window_, image_shape(output), block.first_pixel, block.pixels,
                   static_cast<std::int64_t>(k), static_cast<std::int64_t>(end), rows.data());
      for (const Band& band : bands_) {
        add_chunk(band, group, block, k, rows.data(), first_panel, last_panel, sums.data());
      }
    }
    stage.finish(block, sums.data(), output);
  }

  Window window_;
  std::int64_t groups_;
  std::int64_t outputs_;  // of a group
  std::int64_t channels_;
  const ProductKernels& kernels_;
  std::vector<Band> bands_;
};

}  // namespace qsim::golden
