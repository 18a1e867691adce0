// How a warp reads a tile of 16-bit elements: which rows and groups its chunks are in, and the
// extents of chunks.
#pragma once

#include "core/base/checked_math.h"
#include "golden/device/launch.cuh"
#include "golden/kernels/convert/cuda/params.h"

namespace qsim::golden::cuda {

// 8 elements; those that a chunk lacks are 0.
struct Chunk {
  std::uint32_t pairs[kChunk / 2];

  __device__ std::uint16_t element(int i) const {
    return static_cast<std::uint16_t>(pairs[i / 2] >> (16 * (i % 2)));
  }
};

__device__ inline Chunk empty_chunk() { return {{0, 0, 0, 0}}; }

// The 16 bytes are read once.
__device__ inline Chunk read_chunk(const std::uint16_t* from) {
  Chunk chunk;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(chunk.pairs[0]), "=r"(chunk.pairs[1]), "=r"(chunk.pairs[2]),
                 "=r"(chunk.pairs[3])
               : "l"(from));
  return chunk;
}

// A row, and a part of it: a group or a chunk.
struct Place {
  std::int64_t row;
  std::int64_t part;
};

__device__ inline Place place_of(std::int64_t index, std::int64_t parts_of_row) {
  return {index / parts_of_row, index % parts_of_row};
}

// `count` parts after `first`.
__device__ inline Place after(Place first, int count, std::int64_t parts_of_row) {
  const std::int64_t part = first.part + count;
  if (part < parts_of_row) return {first.row, part};
  if (parts_of_row > INT32_MAX) return {first.row + 1, part - parts_of_row};
  const auto small = static_cast<std::uint32_t>(part);
  const auto divisor = static_cast<std::uint32_t>(parts_of_row);
  return {first.row + small / divisor, small % divisor};
}

__device__ inline const std::uint16_t* row_start(const DeviceRows& rows, std::int64_t row) {
  std::int64_t offset = 0;
  for (int i = rows.dims - 1; i > 0; --i) {
    offset += row % rows.extents[i] * rows.strides[i];
    row /= rows.extents[i];
  }
  return rows.data + offset + (rows.dims == 0 ? 0 : row * rows.strides[0]);
}

// Elements col..col + count - 1 of a row.
__device__ inline Chunk gather_chunk(const DeviceRows& rows, std::int64_t row, std::int64_t col,
                                     int count) {
  const std::uint16_t* from = row_start(rows, row) + col * rows.step;
  if (count == kChunk && rows.step == 1 && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
    return read_chunk(from);
  }
  std::uint64_t low = 0;
  std::uint64_t high = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    (i < 4 ? low : high) |= std::uint64_t{from[i * rows.step]} << (16 * (i % 4));
  }
  return {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
           static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)}};
}

// The larger ones of two pairs of magnitudes; NaN if one is.
template <ElementFormat source>
__device__ inline std::uint32_t larger_pair(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  if constexpr (source == ElementFormat::kHalf) {
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else {
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}

// Few chunks need it: the elements that are not finite do not count.
template <ElementFormat source>
__device__ inline std::uint32_t slow_extent(const Chunk& x) {
  std::uint32_t positive = 0;
  std::uint32_t negative = 0;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    const std::uint32_t code = x.element(i);
    const std::uint32_t magnitude = code & 0x7FFF;
    if (magnitude >= infinity_code(source)) continue;
    std::uint32_t& side = code > 0x7FFF ? negative : positive;
    side = max(side, magnitude);
  }
  return positive | negative << 16;
}

__device__ inline std::uint32_t larger_extent(std::uint32_t a, std::uint32_t b) {
  return __vmaxu2(a, b);
}

__device__ inline Extent unpacked(std::uint32_t extent) {
  return {static_cast<std::uint16_t>(extent & 0xFFFF), static_cast<std::uint16_t>(extent >> 16)};
}

// positive | negative << 16 of the elements of a finite chunk (Extent).
__device__ inline std::uint32_t finite_signed_extent(const Chunk& x) {
  std::uint32_t positive = 0;
  std::uint32_t negative = 0;
#pragma unroll
  for (int i = 0; i < kChunk / 2; ++i) {
    // Finite codes as signed 16-bit numbers: those from 0 on; and the negative ones' magnitudes.
    positive = __vmaxs2(positive, x.pairs[i]);
    negative = __vmaxs2(negative, x.pairs[i] ^ 0x80008000);
  }
  positive = max(positive & 0xFFFF, positive >> 16);
  negative = max(negative & 0xFFFF, negative >> 16);
  return positive | negative << 16;
}

// The extent of a chunk whose elements are finite or not; with `both` false, `positive` has the
// larger one of a finite chunk. `finite` becomes false where an element is not.
template <ElementFormat source>
__device__ inline std::uint32_t chunk_extent(const Chunk& x, bool both, bool& finite) {
  constexpr std::uint32_t kMagnitudes = 0x7FFF7FFF;
  constexpr std::uint32_t kToSign = (0x8000 - infinity_code(source)) * 0x10001;
  std::uint32_t largest = x.pairs[0] & kMagnitudes;
#pragma unroll
  for (int i = 1; i < kChunk / 2; ++i) {
    largest = larger_pair<source>(largest, x.pairs[i] & kMagnitudes);
  }
  // Infinity and NaN reach the sign bits.
  if (((largest + kToSign) & 0x80008000) != 0) {
    finite = false;
    return slow_extent<source>(x);
  }
  if (!both) return max(largest & 0xFFFF, largest >> 16);
  return finite_signed_extent(x);
}

}  // namespace qsim::golden::cuda
