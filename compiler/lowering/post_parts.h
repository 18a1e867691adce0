// What POST takes at once of a psum tile: the whole tile, or where windows of an average pool count
// several numbers of positions, a rectangle of windows that count one number.
#pragma once

#include "compiler/lowering/layer_geometry.h"

namespace qsim::compiler {

struct PostPart {
  Range out_y, out_x;       // of the ofmap
  std::int64_t number = 0;  // of the parameter blocks of a column block
  // Of the parts of a tile with these parameters, which follow one another.
  bool is_first_of_number = true;
  bool is_last_of_number = true;
};

// The parts of the psum tile of these ofmap positions, in the order of their POSTs.
std::vector<PostPart> post_parts(const LayerGeometry& geometry, const Range& out_y,
                                 const Range& out_x);

// POSTs of all psum tiles of a picture for one column block, and the numbers of each tile.
struct PostCounts {
  std::int64_t posts = 0;
  std::int64_t numbers = 0;
};
PostCounts count_posts(const LayerGeometry& geometry, std::int64_t tile_rows,
                       std::int64_t tile_cols);

}  // namespace qsim::compiler
