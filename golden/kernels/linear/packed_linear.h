// The weight-only linear layer with vector instructions and threads: the bits of
// reference_linear() from weights that are packed once.
#pragma once

#include <optional>

#include "golden/common/thread_team.h"
#include "golden/kernels/linear/aligned_bytes.h"
#include "golden/kernels/linear/linear.h"
#include "golden/kernels/linear/linear_kernels.h"
#include "golden/kernels/linear/packed_rows.h"

namespace qsim::golden {

struct PackedLinearOptions {
  VectorPath vector_path = VectorPath::kAuto;  // must be available
  std::optional<TileShape> shape = {};         // one of kTileShapes; else chosen by path and rows
};

class PackedLinear {
 public:
  // Copies the weights [N][K] into panels of kLinearPanelChannels channels; `bias` is [N], FP32, or
  // empty. Throws Error as check_shapes() does, and for a path that is not available.
  PackedLinear(const LinearWeights& weights, std::span<const float> bias,
               const PackedLinearOptions& options = {});

  // y [M][N] of x [M][K], any M. Throws Error when x does not fit. Several threads may call it at
  // once, each with a team of its own.
  FloatMatrix run(const FloatMatrix& x, FloatType y_type, ThreadTeam& team) const;

  // The same with x quantized to int8: the bits of reference_linear_int8(). Throws Error as run()
  // and check_int8_activations() do.
  FloatMatrix run_int8(const FloatMatrix& x, const Int8Activations& activations, FloatType y_type,
                       ThreadTeam& team) const;

  // What a run reads of the weights: panels, scales, zero_points.
  std::int64_t weight_bytes() const;

 private:
  struct Block;

  void pack(const LinearWeights& weights);
  RowLayout layout_for(const FloatMatrix& x) const;
  FloatMatrix product(const PackedRows& rows, FloatType y_type, ThreadTeam& team) const;
  void compute(const PackedRows& rows, const Block& block, FloatMatrix& y) const;
  void add_group(const PackedRows& rows, std::size_t row, std::size_t panel, std::size_t group,
                 std::int32_t* acc, float* sums) const;
  int weight(std::size_t panel, std::size_t channel, std::size_t k) const;
  void store(const PackedRows& rows, std::size_t row, std::size_t panel, const float* sums,
             FloatMatrix& y) const;
  TileShape shape_for(std::size_t row_count) const;

  const LinearKernels& kernels_;
  VectorPath path_;
  std::optional<TileShape> shape_;
  std::size_t channels_, in_features_, panels_, groups_, group_elems_;
  std::int64_t group_size_;  // as LinearWeights has it
  std::size_t quads_;        // even
  std::size_t panel_bytes_;
  int bits_;
  AlignedBytes packed_;                    // [panel][panel_bytes_]
  std::vector<float> scales_;              // [panel][group][kLinearPanelChannels]
  std::vector<std::uint8_t> zero_points_;  // the same; of 8 bits one panel and group for all
  std::vector<float> bias_;
};

}  // namespace qsim::golden
