// The checked parts of a binary convolution, which the CPU and a GPU compute with.
#pragma once

#include <optional>

#include "golden/c_interface/tensor_view.h"
#include "golden/kernels/binary/binary_conv.h"

namespace qsim::golden::c_interface {

// Throws Error for another number of bases than 1..8.
int require_bases(const Call& call, const char* field, std::int64_t bases);
// The weights of a convolution, whose shapes fit each other and the window.
struct BinaryWeightsViews {
  View words;
  View alpha;
  View beta;
  std::optional<View> bias;
  WeightShape shape;
  int bases;
  Window window;
};
BinaryWeightsViews weights_of(Call& call, const qsim_binary_weights* given,
                              const qsim_window* window);
// The convolution with its values, for tensors on the CPU.
BinaryConv conv_of(const BinaryWeightsViews& views);
BinaryConv conv_of(Call& call, const qsim_binary_weights* given, const qsim_window* window);

// Thresholds on the CPU, or on the GPU of x.
struct ThresholdsView {
  std::int64_t bases = 1;
  std::vector<float> values;      // on the CPU; empty: by the sign
  std::optional<View> on_device;  // else
};

// Enqueue on the call's stream, on a GPU. Outputs alone have no gaps, or Error is thrown.
void pack_on_device(const Call& call, const View& x, const ThresholdsView& v, const View& bits);
void binary_conv_on_device(const Call& call, const View& bits, const BinaryWeightsViews& weights,
                           const View& y);
// Packs x first, into the workspace.
void abc_conv_on_device(const Call& call, const View& x, const ThresholdsView& v,
                        const BinaryWeightsViews& weights, const View& y);

}  // namespace qsim::golden::c_interface
