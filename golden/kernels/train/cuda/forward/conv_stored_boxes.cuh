// Real numbers of conv_boxes.h's units by the copy engine: a warpgroup writes the numbers of its
// unit to shared memory as they come from the tensor cores, and a box of them is stored while the
// next unit is multiplied. y has channels innermost.
#pragma once

#include <optional>

#include "golden/device/tensor_map.h"
#include "golden/kernels/train/cuda/forward/conv_stored_sums.cuh"

namespace qsim::golden::train::cuda {

inline constexpr int kStoredRowBytes = 128;  // of a box: the widest that is swizzled

// T: float, or the codes of a type of 16 bits.
template <typename T>
struct StoredBoxes {
  static constexpr bool kRowsInnermost = false;
  CUtensorMap y;
  RealFinishArgs args;  // bits: none, or words
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <typename T, int kColumns>
class BoxFinisher<StoredBoxes<T>, kColumns> {
 public:
  using Finish = StoredBoxes<T>;
  static constexpr int kBoxBytes = kPieceRows * kStoredRowBytes;
  static constexpr int kBoxes = static_cast<int>(sizeof(T)) / 2;  // of a piece
  static constexpr int kSlots = 2 / kBoxes;                       // pieces
  struct Memory {
    alignas(1024) std::uint8_t pieces[kSlots][kBoxes * kBoxBytes];
    StoredColumns<kColumns> columns;
  };

  __device__ BoxFinisher(const BoxConv& plan, const ConvSizes& conv, const Finish& finish,
                         Memory& memory, PieceFrame& /*frame*/, int group)
      : plan_(plan), conv_(conv), finish_(finish), memory_(memory), group_(group) {
    first_column_ = static_cast<int>(blockIdx.x) % plan.column_blocks.divisor() * kColumns;
    memory_.columns.load(conv, finish.args, first_column_);
  }

  __device__ void run(int job, const std::int32_t (&sums)[kColumns / 2]) {
    const int unit = plan_.column_blocks.divide(job) * kBoxWarpgroups + group_;
    if (unit >= plan_.units) return;
#pragma unroll
    for (int half = 0; half < kColumns / kPieceColumns; ++half) {
      const int first = first_column_ + half * kPieceColumns;
      if (first >= conv_.columns) break;
      if (thread() == 0) wait_for_stores_to_read<kSlots - 1>();
      meet_group(group_);
      if (finish_.args.bits.passes != nullptr) {
        std::uint32_t bits[2][2] = {};
        fill<true>(sums, half, bits);
        store_pass_words(plan_, conv_, finish_.args.bits.passes, unit, first, bits);
      } else {
        std::uint32_t none[2][2];
        fill<false>(sums, half, none);
      }
      fence_shared_for_wgmma();
      meet_group(group_);
      if (thread() == 0) store(unit, first);
      slot_ = (slot_ + 1) % kSlots;
    }
  }

  __device__ void end() {
    if (thread() == 0) wait_for_stores();
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x) % 128; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  __device__ void store(int unit, int first_column) const {
    const BoxUnit place(plan_, unit);
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
      store_box(&finish_.y, shared_address(memory_.pieces[slot_] + box * kBoxBytes),
                first_column * static_cast<int>(sizeof(T)) + box * kStoredRowBytes, place.x,
                place.y, place.picture);
    }
    commit_stores();
  }

  // bits[h]: the thread's bits of first_row() + 8 h.
  template <bool kHasBits>
  __device__ void fill(const std::int32_t (&sums)[kColumns / 2], int half,
                       std::uint32_t (&bits)[2][2]) {
    const int quarter = lane() % 4;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int column = half * kPieceColumns + 8 * j + 2 * quarter;
      const float2 factors = memory_.columns.factors_of(column);
      const float2 biases = memory_.columns.biases_of(column);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int at = (half * 8 + j) * 4 + 2 * h;
        put(j, h,
            finish_pair<kHasBits>(finish_.args, sums[at], sums[at + 1], factors, biases,
                                  j % 4 * 8 + 2 * quarter, bits[h][j / 4]));
      }
    }
  }

  // Columns 8 j + 2 (lane % 4) and the next, of first_row() + 8 h, where the copy engine's swizzle
  // has them: chunk c of 16 bytes of row r is at c ^ r % 8.
  __device__ void put(int j, int h, const float2& values) {
    const int quarter = lane() % 4;
    const int of_row = lane() / 4;  // first_row() % 8
    std::uint8_t* to = memory_.pieces[slot_] + (first_row() + 8 * h) * kStoredRowBytes;
    if constexpr (sizeof(T) == 4) {
      const int chunk = (j % 4 * 2 + quarter / 2) ^ of_row;
      *reinterpret_cast<float2*>(to + j / 4 * kBoxBytes + chunk * 16 + quarter % 2 * 8) = values;
    } else {
      const bool is_half = finish_.args.y.type == RealType::kFloat16;
      const std::uint32_t low = is_half ? half_bits(values.x) : bfloat_bits(values.x);
      const std::uint32_t high = is_half ? half_bits(values.y) : bfloat_bits(values.y);
      *reinterpret_cast<std::uint32_t*>(to + (j ^ of_row) * 16 + quarter * 4) = low | high << 16;
    }
  }

  const BoxConv& plan_;
  const ConvSizes& conv_;
  const Finish& finish_;
  Memory& memory_;
  int group_;
  int first_column_;
  int slot_ = 0;
};

#endif

// y as the copy engine stores it; none where its addresses are not multiples of 16 bytes.
inline std::optional<CUtensorMap> stored_map(const BoxConv& plan, const ConvSizes& conv,
                                             const RealTensor& y) {
  constexpr std::int64_t kMostStride = std::int64_t{1} << 40;
  const std::int64_t bytes = real_bytes(y.type);
  if (y.strides[3] != 1 || !is_aligned(y.data, 16)) return std::nullopt;
  std::vector<std::uint64_t> strides;  // of columns, rows, pictures
  for (std::size_t axis = 3; axis-- > 0;) {
    const std::int64_t stride = y.shape[axis] == 1 ? 16 : y.strides[axis] * bytes;
    if (stride % 16 != 0 || stride <= 0 || stride >= kMostStride) return std::nullopt;
    strides.push_back(static_cast<std::uint64_t>(stride));
  }
  const auto size = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t row = size(conv.columns * bytes);
  if (plan.is_line == 0) {
    return golden::cuda::make_tensor_map(
        y.data, {row, size(y.shape[2]), size(y.shape[1]), size(y.shape[0])},
        {kStoredRowBytes, 8, 8, 1}, strides);
  }
  const std::int64_t step =
      y.shape[2] > 1 ? y.strides[2] : (y.shape[1] > 1 ? y.strides[1] : y.strides[0]);
  if ((y.shape[1] > 1 && y.strides[1] != y.shape[2] * step) ||
      (y.shape[0] > 1 && y.strides[0] != y.shape[1] * y.shape[2] * step)) {
    return std::nullopt;
  }
  strides[0] = conv.pixels == 1 ? 16 : size(step * bytes);
  return golden::cuda::make_tensor_map(y.data, {row, size(conv.pixels), 1, 1},
                                       {kStoredRowBytes, 64, 1, 1}, strides);
}

// Instead of launch_boxes(); false where y is not so.
inline bool launch_stored(const BoxConv& plan, const ConvSizes& conv,
                          const RealChannelsFinish& finish, cudaStream_t stream) {
  if (finish.args.bits.passes != nullptr && !finish.args.bits.words) return false;
  const std::optional<CUtensorMap> map = stored_map(plan, conv, finish.args.y);
  if (!map) return false;
  if (finish.args.y.type == RealType::kFloat32) {
    launch_boxes(plan, conv, StoredBoxes<float>{*map, finish.args}, stream);
  } else {
    launch_boxes(plan, conv, StoredBoxes<std::uint16_t>{*map, finish.args}, stream);
  }
  return true;
}

}  // namespace qsim::golden::train::cuda
