// Random small graphs for `qsim verify --seeds N`: a convolution, fully connected, max-pool or ReLU
// layer with whatever may follow it, its tensors, and the facts that a histogram counts. Everything
// made here is supported by the accelerator.
#pragma once

#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/machine/arch_config.h"
#include "core/network/graph.h"

namespace qsim::formats {

// A feature of a layer that is counted: {"kernel", "3"}, {"rounding", "floor"}.
struct Bucket {
  std::string feature;
  std::string value;
  // clang-tidy 14 takes the 0 that a defaulted <=> is compared with for a pointer.
  auto operator<=>(const Bucket&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct RandomLayer {
  Graph graph;  // valid
  Tensor input;
  std::vector<Bucket> buckets;  // every one is in random_layer_buckets()
  // Whether the memories' sizes alone force several tiles, however it is compiled.
  bool many_pixel_tiles = false;        // more psums of a picture than an accumulator half holds
  bool many_in_channel_tiles = false;   // more weights of a column block than a weight slot holds
  bool many_out_channel_tiles = false;  // more output channels than columns
};

// The same seed and config give the same layer everywhere. A layer takes about 0.3 to 5 million
// MACs. On a config of shrink_memories at least a third of the layers need several tiles in each of
// pixels, input channels and output channels; full-sized memories would need far larger layers.
RandomLayer make_random_layer(std::uint64_t seed, const ArchConfig& arch);

// All buckets there are, so that an empty one can be named.
std::vector<Bucket> random_layer_buckets();

// The same array with much smaller scratchpads and accumulator, drawn at random, so that a modest
// layer needs many tiles. "+small" is added to the name.
ArchConfig shrink_memories(const ArchConfig& arch, Random& random);

}  // namespace qsim::formats
