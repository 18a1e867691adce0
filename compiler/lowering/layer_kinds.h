// The kinds of layers that lowering tells apart. A kind is a struct: its traits answer what a yes,
// a word or a number answers, and its members are what only this kind has. Answers that take the
// layer's sizes as well are visitors in layer_geometry.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/passes/window_counts.h"

namespace qsim {

// The input channels whose products an output channel adds up.
enum class ChannelReads : std::uint8_t {
  kAllChannels,
  kItsGroup,
  kItself,  // the channel with its own number: all weights are 1
};

struct KindTraits {
  ChannelReads reads = ChannelReads::kAllChannels;
  // Rows are input vectors: row n is that of picture n, and there is one column.
  bool rows_are_vectors = false;
  // All taps have the weights of one. An EXECUTE runs one tap, and the weights of one LOAD serve
  // all taps.
  bool shares_weights = false;
  // There are several ifmaps. An activation chunk is a channel block of one, so that a LOAD reads
  // one ifmap.
  bool has_operands = false;
  std::int64_t tiles_of_post = 1;  // psum tiles that POST makes one of, and so its beats a position
};

struct ConvolutionLayer {
  static constexpr KindTraits kTraits{};
};

// Fully connected.
struct VectorLayer {
  static constexpr KindTraits kTraits{.rows_are_vectors = true};
};

// A convolution of several groups.
struct GroupedLayer {
  static constexpr KindTraits kTraits{.reads = ChannelReads::kItsGroup};
  std::int64_t inputs = 1;  // channels of a group
  std::int64_t outputs = 1;
  std::int64_t block_planes = 1;  // planes of each column block, which are neighbours
};

// A max-pool, ReLU or lookup table by itself: psums are the activations.
struct CopyLayer {
  static constexpr KindTraits kTraits{.reads = ChannelReads::kItself};
};

// Psums are sums of activations.
struct AverageLayer {
  static constexpr KindTraits kTraits{.reads = ChannelReads::kItself, .shares_weights = true};
  // Where windows count several numbers of positions; else null.
  std::shared_ptr<const WindowCounts> counts;
};

// The planes of one operand after the other.
struct ConcatLayer {
  static constexpr KindTraits kTraits{.reads = ChannelReads::kItself, .has_operands = true};
  struct Place {
    std::int64_t first_channel = 0;  // of the ofmap
    std::int64_t first_plane = 0;
  };
  std::shared_ptr<const std::vector<Place>> operands;  // where the channels of each begin
  std::int64_t block_planes = 1;                       // as GroupedLayer's
};

// The planes of two operands by turns, a channel block of each.
struct AddLayer {
  static constexpr KindTraits kTraits{
      .reads = ChannelReads::kItself, .has_operands = true, .tiles_of_post = 2};
};

}  // namespace qsim
