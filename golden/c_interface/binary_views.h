// The checked parts of a binary convolution, which the CPU and a GPU compute with.
#pragma once

#include "golden/binary/binary_conv.h"
#include "golden/c_interface/tensor_view.h"

namespace qsim::golden::c_interface {

// Throws Error for another number of bases than 1..8.
int require_bases(const Call& call, const char* field, std::int64_t bases);
// Of tensors on the CPU.
BinaryConv conv_of(Call& call, const qsim_binary_weights* given, const qsim_window* window);
// Enqueues the packing of x into `bits`, on a GPU, by thresholds (none: by its sign).
void pack_on_device(const Call& call, const View& x, const std::vector<float>& v, const View& bits);

inline ImageShape image_of(const View& view) {
  return {view.dim(0), view.dim(1), view.dim(2), view.dim(3)};
}

}  // namespace qsim::golden::c_interface
