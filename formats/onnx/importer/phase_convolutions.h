// Convolutions that the array has once levels are moved: the moves are the host's, the products the
// array's. With k taps, a stride of s, J = ceil(k / s), and phases r from 0 to s - 1, along an
// axis:
//   ConvTranspose: y[t - pad], t = s * q + r, sums w[s * j + r] * x[q - j], j from 0 to J - 1. Each
//     phase is an output channel of a convolution of stride 1 and J taps, the last one first.
//     DepthToSpace puts the phases between each other, Slice cuts off the pads.
//   Conv: y[q] sums w[s * j + r] * x[s * (q + j) + r - pad]. Pad and SpaceToDepth make each phase
//     of x a channel.
// A tap that w does not have is the zero_point of w.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/network/host_network.h"
#include "formats/onnx/importer/model_graph.h"

namespace qsim::formats {

struct PhaseConvolutions {
  std::set<int> convolutions;        // by the file's numbers, which they keep
  std::map<int, std::string> moves;  // what each does, by numbers that no node of the file has
};

// Rewrites those of the nodes `wanted` that are a Conv or QLinearConv with a stride or an extent
// that the array does not have, or a ConvTranspose, between levels and of constant weights.
// `network` is the model's, with its shapes.
PhaseConvolutions rewrite_by_phases(ModelGraph& model, const HostNetwork& network,
                                    const std::set<int>& wanted);

}  // namespace qsim::formats
