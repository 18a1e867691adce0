// The tables of a planned layer: weights, and what is inside the picture by class of position.
#pragma once

#include <cstdint>
#include <vector>

#include "golden/kernels/binary/binary_conv.h"
#include "golden/kernels/binary/cuda/conv_args.h"

namespace qsim::golden::cuda {

// What the tables are made of. `args` has the numbers of the loops.
struct TableSource {
  const BinaryConv& conv;
  const BinaryStage* stage;
  ImageShape input;
  ImageShape y;
  BinaryTile tile;
  std::int64_t words;  // of a base of a pixel
  // By word along K: its place in a window, with kOpposite its opposite, or -1 where a weight is 0.
  // Empty: the window's own order.
  std::vector<std::int64_t> order;
};

// Which taps of one axis are inside the picture, by position; equal sets share a class.
struct AxisClasses {
  std::vector<std::int32_t> of;           // [positions]
  std::vector<std::vector<bool>> inside;  // [classes][kernel]
};
struct WindowClasses {
  AxisClasses rows;
  AxisClasses columns;
  std::int64_t count() const {
    return static_cast<std::int64_t>(rows.inside.size() * columns.inside.size());
  }
};
WindowClasses window_classes(const Window& window, const ImageShape& input, const ImageShape& y);

// Sets in `args` where the tables are and their bytes: the common ones', and those of one block.
void place_tables(const TableSource& source, const WindowClasses& classes, BinaryConvArgs& args);
// The tables at these places: the common ones, then those of each channel block.
std::vector<std::uint8_t> make_tables(const TableSource& source, const WindowClasses& classes,
                                      const BinaryConvArgs& args);

}  // namespace qsim::golden::cuda
