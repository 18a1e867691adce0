// A float HostNetwork as a quantizer wants it: constants computed, nodes that change nothing gone,
// and batch norms and factors in the weights before them.
#pragma once

#include "core/network/host_network.h"

namespace qsim::quantize {

// `network` has been folded and shaped (golden/host/host_executor.h), and so has the result, but
// for values that are new. What changes:
// - nodes whose outputs are known are gone: the outputs are constants;
// - Identity, Dropout, and Cast between float types are gone (a host has float32 in place of
//   float16);
// - Sub and Div of one number are Add and Mul of one;
// - BatchNormalization, and Mul, Add, Sub and Div of constants that are one number a channel, are
//   in the weights and bias of the Conv, ConvTranspose, Gemm or MatMul before them, which nothing
//   else reads; so are a Gemm's factors. MatMul of a matrix and a bias is Gemm.
HostNetwork folded_network(HostNetwork network);

}  // namespace qsim::quantize
