// The kinds of layers that lowering tells apart. A kind is a struct: its traits answer what a yes,
// a word or a number answers, and its members are what only some kinds have. LayerGeometry asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/passes/window_counts.h"

namespace qsim::compiler {

// [begin, end)
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// A plane of one of a layer's ifmaps.
struct OperandPlane {
  std::size_t operand = 0;
  std::int64_t plane = 0;
};

// The planes that each column block reads, of a kind whose blocks do not read all. Shared, because
// searches copy a geometry often.
using BlockPlanes = std::shared_ptr<const std::vector<Range>>;

// The input channels whose products an output channel adds up.
enum class ChannelReads : std::uint8_t {
  kAllChannels,
  kItsGroup,
  kItself,  // the channel with its own number: all weights are 1
};

// The row of a kind.
struct KindTraits {
  ChannelReads reads = ChannelReads::kAllChannels;
  // Rows are input vectors: row n is picture n of the batch, and there is one column.
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
  BlockPlanes blocks;
};

// A max-pool, ReLU or lookup table by itself: psums are the activations.
struct CopyLayer {
  static constexpr KindTraits kTraits{.reads = ChannelReads::kItself};
  BlockPlanes blocks;
};

// Psums are sums of activations.
struct AverageLayer {
  static constexpr KindTraits kTraits{.reads = ChannelReads::kItself, .shares_weights = true};
  BlockPlanes blocks;
  // Where windows count several numbers of positions; else null.
  std::shared_ptr<const WindowCounts> counts;
};

// The planes of one operand after the other.
struct ConcatLayer {
  static constexpr KindTraits kTraits{.reads = ChannelReads::kItself, .has_operands = true};
  BlockPlanes blocks;
  struct Place {
    std::int64_t first_channel = 0;  // of the ofmap
    std::int64_t first_plane = 0;
  };
  std::shared_ptr<const std::vector<Place>> operands;  // where the channels of each begin

  OperandPlane operand_plane(std::int64_t plane, std::int64_t granule_planes) const;
  // The lane (plane * array_rows + row) that is output channel `channel`.
  std::int64_t lane_of(std::int64_t channel, std::int64_t array_rows) const;
};

// The planes of two operands by turns, a channel block of each.
struct AddLayer {
  static constexpr KindTraits kTraits{
      .reads = ChannelReads::kItself, .has_operands = true, .tiles_of_post = 2};
  BlockPlanes blocks;

  OperandPlane operand_plane(std::int64_t plane, std::int64_t granule_planes) const;
};

}  // namespace qsim::compiler
