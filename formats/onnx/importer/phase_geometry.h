// The sizes and weights of convolutions that are written by their phases
// (formats/onnx/importer/phase_convolutions.h has the formula).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/checked_math.h"
#include "core/base/tensor.h"
#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

using Integers = std::vector<std::int64_t>;

struct PhaseAxis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad = 0;  // at the begin

  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
  // The taps of the new convolution and their distance. A stride of 1 keeps the dilation.
  std::int64_t taps() const { return stride == 1 ? kernel : ceil_div(extent(), stride); }
  std::int64_t step() const { return stride == 1 ? dilation : 1; }
  std::int64_t reach() const { return step() * (taps() - 1); }
  // The tap of phase r and the new tap j; -1 where there is none.
  std::int64_t tap(std::int64_t r, std::int64_t j) const {
    if (stride == 1) return j;
    const std::int64_t at = stride * j + r;
    return at % dilation == 0 && at / dilation < kernel ? at / dilation : -1;
  }
};

// A convolution of one or two axes; one of one has a first axis of size 1.
struct PhasedConvolution {
  bool is_transposed = false;
  std::size_t rank = 0;
  std::array<PhaseAxis, 2> axes;
  std::int64_t groups = 1;
  std::int64_t in_channels = 0;   // of a group
  std::int64_t out_channels = 0;  // of a group

  std::int64_t phases() const { return axes[0].stride * axes[1].stride; }
  std::span<const PhaseAxis> own_axes() const { return std::span(axes).last(rank); }
  bool is_square() const { return rank == 2 && axes[0].stride == axes[1].stride; }
  // SpaceToDepth puts a phase's channels together, which only a single group allows.
  bool has_phases_outside() const { return !is_transposed && is_square() && groups == 1; }
};

// Reads a node between tensors of these shapes; the shapes have shown that its attributes are
// valid. Nothing for more than two axes, other types, or weights that would grow more than four
// times.
std::optional<PhasedConvolution> read_phased(const onnx::NodeProto& conv, const Shape& x,
                                             const Shape& y, const Tensor& weights);

// The weights of the new convolution; `zero_points` may be null.
Tensor phase_weights(const PhasedConvolution& conv, const Tensor& from, const Tensor* zero_points);

// Which positions the new convolution has, and where the output begins among their phases.
struct PhaseSpread {
  Integers pads;
  Integers positions;
  Integers starts;
  bool is_cut = false;
};

// The spread of a ConvTranspose.
PhaseSpread spread_of(const PhasedConvolution& conv);

}  // namespace qsim::formats
