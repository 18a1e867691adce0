// The compiler's passes, in the order in which compile() runs them.
#pragma once

#include <vector>

#include "compiler/passes/fused_layer.h"
#include "compiler/passes/refusal.h"

namespace qsim::compiler {

// Joins every convolution, fully connected layer, lone max-pool or lone ReLU with the ReLU,
// max-pool and Flatten layers that alone read its ofmap, whatever lies between them in the file.
// The result keeps the graph's order. All rounding modes and clamps are monotone, so max-pool,
// ReLU and requantize commute. Throws Error (exit code 4) naming the layer for what the accelerator
// cannot do: window sizes beyond its fields, rounding modes that only golden has.
std::vector<FusedLayer> fuse_layers(const Graph& graph);
// The same, but what the accelerator cannot do is added to `refusals`, and left out of the result.
std::vector<FusedLayer> fuse_layers(const Graph& graph, Refusals& refusals);

// bias[c] -= zero_point * (sum of channel c's weights), so that the array may multiply carried
// activations as they are. Throws Error (exit code 4) when a bias leaves int32 or when a partial
// sum could reach 2^31 for some input (docs/reference/numerics.md derives the bound).
void fold_zero_points(std::vector<FusedLayer>& layers);
void fold_zero_points(std::vector<FusedLayer>& layers, Refusals& refusals);

// Adds the layers whose scales, rounding, additions or tables need `requantizer: dyadic`, where the
// configuration has `shift`.
void check_requantizers(const std::vector<FusedLayer>& layers, const ArchConfig& arch,
                        const Remedies& remedies, Refusals& refusals);

// Lets the operands of a concatenation be stored where its channels are, which takes no command:
// where the batch is 1 and each begins with a channel block of DRAM, is the ofmap of a layer and of
// no other such concatenation. The others, and a last layer, remain as layers.
void place_concats(std::vector<FusedLayer>& layers, const ArchConfig& arch);

// Lets the host lay the taps of the first layer's window side by side as channels when that means
// fewer folds (3 channels fill 3 of R rows; 27 taps fill 27 of 32), and no other layer reads the
// input.
void fold_first_layer_taps(std::vector<FusedLayer>& layers, const ArchConfig& arch);

}  // namespace qsim::compiler
