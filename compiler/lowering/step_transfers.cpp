#include "compiler/lowering/step_transfers.h"

#include "compiler/lowering/command_field.h"

namespace qsim::compiler {

Range StepTransfers::resident_rows(const Tile& tile, const Range& kernel_rows) const {
  return input_range(tile.conv_y, kernel_rows, g_.window.stride_h, g_.window.dilation_h,
                     g_.window.pad_top, g_.in_rows);
}

Range StepTransfers::resident_cols(const Tile& tile) const {
  return input_range(tile.conv_x, {0, g_.window.kernel_w}, g_.window.stride_w, g_.window.dilation_w,
                     g_.window.pad_left, g_.in_cols);
}

Load StepTransfers::act_load(const Tile& tile, const Range& planes,
                             const Range& kernel_rows) const {
  if (g_.traits().rows_are_vectors) return vector_load(tile, planes);
  return picture_load(tile, planes, kernel_rows);
}

// Input vectors one after the other, `planes` of each: run by run, no plane order to keep.
Load StepTransfers::vector_load(const Tile& tile, const Range& planes) const {
  const DramTensor& ifmap = planned_.ifmap;
  Load load;
  load.memory = command_field(static_cast<int>(LoadMemory::kActivation));
  load.dram_addr = command_field(ifmap.address + tile.conv_y.begin * ifmap.picture_bytes() +
                                 planes.begin * arch_.array_rows);
  load.run_bytes = command_field(planes.size() * arch_.array_rows);
  load.runs = command_field(tile.conv_y.size());
  load.run_stride = load.runs > 1 ? command_field(ifmap.picture_bytes()) : 0;
  load.groups = 1;
  load.plane_words = 1;
  return load;
}

// Planes, rows and columns of a picture; contiguous bytes become one run.
Load StepTransfers::picture_load(const Tile& tile, const Range& planes,
                                 const Range& kernel_rows) const {
  const auto [operand, first_plane] = g_.operand_plane(planes.begin);
  const DramTensor& ifmap = operand == 0 ? planned_.ifmap : planned_.more_ifmaps[operand - 1];
  const Range rows = resident_rows(tile, kernel_rows);
  const Range cols = resident_cols(tile);
  const std::int64_t first_block = first_plane / g_.granule_planes;
  const std::int64_t blocks =
      ceil_div(first_plane + planes.size(), g_.granule_planes) - first_block;
  Load load;
  load.memory = command_field(static_cast<int>(LoadMemory::kActivation));
  load.dram_addr = command_field(
      ifmap.element_address(tile.picture, rows.begin, cols.begin, first_block * ifmap.block));
  load.plane_words = command_field(rows.size() * cols.size());
  std::int64_t run_bytes = cols.size() * ifmap.block;
  std::int64_t runs = rows.size();
  std::int64_t groups = blocks;
  if (cols.size() == g_.in_cols) {
    run_bytes *= runs;
    runs = 1;
  }
  if (cols.size() == g_.in_cols && rows.size() == g_.in_rows) {
    run_bytes *= groups;
    groups = 1;
  }
  load.run_bytes = command_field(run_bytes);
  load.runs = command_field(runs);
  load.run_stride = runs > 1 ? command_field(ifmap.row_bytes()) : 0;
  load.groups = command_field(groups);
  load.group_stride = groups > 1 ? command_field(ifmap.plane_bytes()) : 0;
  return load;
}

Load StepTransfers::weight_load(const WeightChunk& chunk, std::int64_t folds_before,
                                std::int64_t blocks) const {
  const std::int64_t fold_bytes = arch_.array_rows * arch_.array_cols;
  const std::int64_t folds = folds_before + chunk.first_fold * blocks;
  Load load;
  load.memory = command_field(static_cast<int>(LoadMemory::kWeight));
  load.dram_addr = command_field(planned_.weights_address + folds * fold_bytes);
  load.run_bytes = command_field(chunk.weight_folds() * blocks * fold_bytes);
  load.runs = 1;
  load.groups = 1;
  return load;
}

Load StepTransfers::param_load(std::int64_t block, std::int64_t number) const {
  Load load;
  load.memory = command_field(static_cast<int>(LoadMemory::kParameter));
  load.dram_addr = command_field(planned_.params_address +
                                 (number * g_.column_blocks + block) * planned_.param_stride);
  load.run_bytes = command_field(arch_.param_block_bytes());
  load.runs = 1;
  load.groups = 1;
  return load;
}

Load StepTransfers::table_load() const {
  Load load;
  load.memory = command_field(static_cast<int>(LoadMemory::kTable));
  load.dram_addr = command_field(planned_.table_address);
  load.run_bytes = command_field(kTableBytes);
  load.runs = 1;
  load.groups = 1;
  return load;
}

OfmapBox StepTransfers::ofmap_box(const Tile& tile) const {
  if (g_.traits().rows_are_vectors) return {tile.out_y, {0, 1}, {0, 1}};
  return {{tile.picture, tile.picture + 1}, tile.out_y, tile.out_x};
}

// Where B = C a row of the tile is contiguous, and rows of full width are too; else a pixel's
// array_cols bytes are a run.
Store StepTransfers::store(const Tile& tile, std::int64_t block) const {
  const DramTensor& ofmap = planned_.ofmap;
  const std::int64_t rows = tile.out_y.size();
  const std::int64_t cols = tile.out_x.size();
  const OfmapBox box = ofmap_box(tile);
  const bool are_pictures = box.pictures.size() > 1;  // the tile's rows
  const std::int64_t row_stride = are_pictures ? ofmap.picture_bytes() : ofmap.row_bytes();
  Store s;
  s.dram_addr = command_field(ofmap.element_address(box.pictures.begin, box.rows.begin,
                                                    box.cols.begin, block * arch_.array_cols));
  if (ofmap.block == arch_.array_cols) {
    const bool merged = !are_pictures && cols == g_.out_cols;
    s.run_bytes = command_field((merged ? rows : 1) * cols * ofmap.block);
    s.runs = command_field(merged ? 1 : rows);
    s.run_stride = s.runs > 1 ? command_field(row_stride) : 0;
    s.groups = 1;
    return s;
  }
  s.run_bytes = command_field(arch_.array_cols);
  s.runs = command_field(cols);
  s.run_stride = cols > 1 ? command_field(ofmap.block) : 0;
  s.groups = command_field(rows);
  s.group_stride = rows > 1 ? command_field(row_stride) : 0;
  return s;
}

}  // namespace qsim::compiler
