// Float32 in NCHW memory from the units of conv_boxes.h, written as they come from the tensor
// cores: eight lanes have neighbours of a row.
#pragma once

#include "golden/kernels/train/cuda/forward/conv_stored_sums.cuh"

namespace qsim::golden::train::cuda {

struct StoredPlanes {
  static constexpr bool kRowsInnermost = true;
  RealFinishArgs args;  // bits: none, or words
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <int kColumns>
class BoxFinisher<StoredPlanes, kColumns> {
 public:
  struct Memory {
    StoredColumns<kColumns> columns;
  };

  __device__ BoxFinisher(const BoxConv& plan, const ConvSizes& conv, const StoredPlanes& finish,
                         Memory& memory, PieceFrame& /*frame*/, int group)
      : plan_(plan), conv_(conv), args_(finish.args), memory_(memory), group_(group) {
    first_column_ = static_cast<int>(blockIdx.x) % plan.column_blocks.divisor() * kColumns;
    memory_.columns.load(conv, args_, first_column_);
    meet_group(group);
  }

  __device__ void run(int job, const std::int32_t (&sums)[kColumns / 2]) {
    const int unit = plan_.column_blocks.divide(job) * kBoxWarpgroups + group_;
    if (unit >= plan_.units) return;
    float* rows[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) rows[h] = row_of(unit, first_row() + 8 * h);
#pragma unroll
    for (int half = 0; half < kColumns / kPieceColumns; ++half) {
      const int first = first_column_ + half * kPieceColumns;
      if (first >= conv_.columns) break;
      std::uint32_t bits[2][2] = {};
      if (args_.bits.passes != nullptr) {
        store<true>(sums, half, rows, bits);
        store_pass_words(plan_, conv_, args_.bits.passes, unit, first, bits);
      } else {
        store<false>(sums, half, rows, bits);
      }
    }
  }

  __device__ void end() {}

 private:
  // Where the first channel of a row's pixel is; null: there is none.
  __device__ float* row_of(int unit, int row) const {
    const BoxUnit place(plan_, unit);
    const int pixel = place.pixel(plan_, conv_, unit, row);
    if (pixel < 0) return nullptr;
    const RealTensor& y = args_.y;
    if (plan_.is_line != 0) return static_cast<float*>(y.data) + real_offset(y, conv_, pixel);
    return static_cast<float*>(y.data) + place.picture * y.strides[0] +
           (place.y + row / 8) * y.strides[1] + place.x + row % 8;
  }

  template <bool kHasBits>
  __device__ void store(const std::int32_t (&sums)[kColumns / 2], int half, float* const (&rows)[2],
                        std::uint32_t (&bits)[2][2]) const {
    const int pair = static_cast<int>(threadIdx.x) % 4 * 2;
    const std::int64_t step = args_.y.strides[3];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int column = half * kPieceColumns + 8 * j + pair;
      const int channel = first_column_ + column;
      const float2 factors = memory_.columns.factors_of(column);
      const float2 biases = memory_.columns.biases_of(column);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int at = (half * 8 + j) * 4 + 2 * h;
        const float2 values = finish_pair<kHasBits>(args_, sums[at], sums[at + 1], factors, biases,
                                                    j % 4 * 8 + pair, bits[h][j / 4]);
        if (rows[h] == nullptr) continue;
        float* to = rows[h] + channel * step;
        if (channel < conv_.columns) __stcs(to, values.x);
        if (channel + 1 < conv_.columns) __stcs(to + step, values.y);
      }
    }
  }

  const BoxConv& plan_;
  const ConvSizes& conv_;
  const RealFinishArgs& args_;
  Memory& memory_;
  int group_;
  int first_column_;
};

#endif

// Instead of launch_boxes(); false where y is not so, or a thread has too many sums.
inline bool launch_stored(const BoxConv& plan, const ConvSizes& conv,
                          const RealPixelsFinish& finish, cudaStream_t stream) {
  if (plan.columns != 64 || finish.args.y.type != RealType::kFloat32 ||
      (finish.args.bits.passes != nullptr && !finish.args.bits.words)) {
    return false;
  }
  launch_box_columns<64>(plan, conv, StoredPlanes{finish.args}, stream);
  return true;
}

}  // namespace qsim::golden::train::cuda
