// What the kernels of group conversions are told: plain data, made by plan.h.
#pragma once

#include <cstdint>

#include "golden/kernels/convert/scale_rule.h"

namespace qsim::golden::cuda {

inline constexpr int kMostDims = 64;                  // of a tensor whose dimensions do not join
inline constexpr int kChunk = 8;                      // elements that a thread has at once
inline constexpr int kLaneChunks = 8;                 // chunks of a thread of a quantization
inline constexpr int kTileChunks = 32 * kLaneChunks;  // of a warp
inline constexpr int kDecodeThreads = 512;
inline constexpr int kDecodeChunks = 4;       // of a thread
inline constexpr int kLongTile = 128;         // chunks of a warp of long groups
inline constexpr int kTileWarps = 4;          // of a block; they do not wait for each other
inline constexpr int kMostRowThreads = 1024;  // of a block that has a row in registers
inline constexpr std::int64_t kMostRowChunks = kMostRowThreads * kLaneChunks;
inline constexpr std::int64_t kMostBlocks = (std::int64_t{1} << 31) - 1;  // of a grid

// Rows and groups, as GroupLayout.
struct DeviceLayout {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t row_bytes;       // of the quantized tensor
  std::int64_t groups_per_row;  // 1 where a group is a row or more
  std::int64_t group;           // elements of a full group; 0: a row, or the tensor
  bool per_tensor;
  bool column_major;

  QSIM_HOST_DEVICE std::int64_t scale_index(std::int64_t row, std::int64_t group_of_row) const {
    if (per_tensor) return 0;
    return column_major ? group_of_row * rows + row : row * groups_per_row + group_of_row;
  }
};

// Where the rows of 16-bit codes are: the dimensions before the last one, joined where they can be.
struct DeviceRows {
  const std::uint16_t* data;
  std::int64_t step;  // from an element of a row to the next
  int dims;
  std::int64_t extents[kMostDims];
  std::int64_t strides[kMostDims];
};

struct DeviceScales {
  float* scales;
  std::uint8_t* codes;
  std::int8_t* zero_points;
  float* global;
  ScaleFormat format;
};

// What passes over a tensor leave for the next ones. Zeros before the first one.
struct Workspace {
  std::uint32_t whole;           // the largest extent of all groups
  std::uint32_t bin;             // of a tensor's percentile: the upper bits of its code
  std::uint64_t rank;            // in that bin
  std::uint64_t counts[2][256];  // of upper bits; of lower bits
  // Then, of long groups, the positive and the negative extent of each.
  QSIM_HOST_DEVICE std::uint32_t* extents() { return reinterpret_cast<std::uint32_t*>(this + 1); }
};

// A quantization in tiles of whole groups: a tile is groups_per_tile groups of chunks_per_group
// chunks each, the last one of a row with what is left.
struct QuantizeParams {
  DeviceLayout layout;
  DeviceRows rows;
  ScaleRule rule;
  DeviceScales scales;
  IntegerRange range;
  std::uint8_t* values;
  std::int64_t groups;          // of the tensor
  std::int64_t chunks_per_row;  // of long groups' tiles, which are any chunks
  std::int64_t percentile;
  std::uint64_t seed;
  std::int32_t chunks_per_group;
  std::int32_t groups_per_tile;
  std::int32_t team;          // lanes that find the extent of a group: a power of two
  std::uint32_t group_magic;  // chunk / chunks_per_group = chunk * group_magic >> 16
  Workspace* workspace;
  bool stochastic;
  bool clips;      // elements may be larger than amax
  bool saturates;  // codes of finite elements may be beyond the range of integers without `clips`
};

// A conversion of quantized elements.
struct DecodeParams {
  DeviceLayout layout;
  DeviceScales scales;
  const std::uint8_t* values;
  void* out;
  std::int64_t chunks_per_row;
  std::int64_t chunks_per_group;  // 0: the tensor is one
  std::int64_t groups;            // of a flat tensor, whose tiles are whole groups of a block
  std::int32_t groups_per_tile;
  std::uint32_t group_magic;  // chunk / chunks_per_group = chunk * group_magic >> 20
  bool with_scale;            // otherwise scales of 1
};

}  // namespace qsim::golden::cuda
