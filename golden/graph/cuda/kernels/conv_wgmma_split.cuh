// A tile whose K is shared by the blocks of a cluster: each block leaves its sums in its shared
// memory, and each finishes its part of the values from everyone's. For layers with too few tiles
// to fill the device. Integer sums do not depend on the order.
#pragma once

#include "golden/graph/cuda/kernels/conv_wgmma_epilogue.cuh"
#include "golden/graph/cuda/kernels/conv_wgmma_pipeline.cuh"

namespace qsim::golden::cuda {

__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

__device__ inline std::int32_t load_from_rank(std::uint32_t address, int rank) {
  std::int32_t value;
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %1, %2;\n"
      "ld.shared::cluster.s32 %0, [remote];\n}"
      : "=r"(value)
      : "r"(address), "r"(rank));
  return value;
}

// The values of a consumer thread in the order in which the blocks of a cluster divide them: runs
// of channels; when pooling, vertical neighbours side by side.
template <int kN>
struct SplitOrder {
  static constexpr int kRuns = kN / 64;
  __device__ static constexpr int index(bool pool, int group, int half, int run, int i) {
    return pool ? ((group * kRuns + run) * kRun + i) * 2 + half
                : ((group * 2 + half) * kRuns + run) * kRun + i;
  }
};

template <class Tile>
class SplitTile {
 public:
  static constexpr int kGroups = Tile::kGroups;
  static constexpr int kN = Tile::kN;
  static constexpr int kValues = kGroups * kN / 2;  // of a consumer thread
  static constexpr int kThreads = Tile::kConsumers;
  static constexpr int kChunk = 8;

  // `sums` is [kValues][kThreads] int32 in shared memory.
  __device__ SplitTile(const ConvWgmmaArgs& args, std::uint32_t sums) : args_(args), sums_(sums) {}

  __device__ void leave(const std::int32_t (&acc)[kGroups][kN / 2]) const {
    const bool pool = args_.pool;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (int v = 0; v < kN / 2; ++v) {
        const int column = v / 4 * 2 + v % 2;  // 2 * (8-column group) + e
        const int index =
            SplitOrder<kN>::index(pool, group, v / 2 % 2, column / kRun, column % kRun);
        asm volatile("st.shared.s32 [%0], %1;" ::"r"(address(index)), "r"(acc[group][v])
                     : "memory");
      }
    }
  }

  // After everyone's leave(): finishes this rank's part, a chunk of kChunk values at a time: eight
  // channels, or four when pooling.
  __device__ void finish(const Job& job, int rank) const {
    const int part = kValues / args_.geometry.split;
    for (int first = rank * part; first < (rank + 1) * part; first += kChunk) {
      std::int32_t sums[kChunk] = {};
      for (int from = 0; from < args_.geometry.split; ++from) {
#pragma unroll
        for (int i = 0; i < kChunk; ++i) sums[i] += load_from_rank(address(first + i), from);
      }
      if (args_.pool) {
        finish_pooled(job, first, sums);
      } else {
        finish_whole(job, first, sums);
      }
    }
  }

 private:
  static constexpr int kRuns = kN / 64;

  __device__ std::uint32_t address(int index) const {
    return sums_ +
           static_cast<std::uint32_t>((index * kThreads + static_cast<int>(threadIdx.x)) * 4);
  }

  __device__ void finish_whole(const Job& job, int first, std::int32_t (&values)[kChunk]) const {
    const int run = first / kRun % kRuns;
    const int half = first / kRun / kRuns % 2;
    const int row_group = first / kRun / kRuns / 2;
    const int channel = channel_of(job, run, first % kRun);
    const int pixel = pixel_of(job, row_group, half);
    const RunParams<kChunk> params(args_.output, channel);
    if (args_.other.data != nullptr) {
      std::uint32_t words[kChunk / 4];
      load_other<kChunk>(args_, pixel, channel, words);
      finish_sums(values, params, args_, channel, words);
      if (pixel >= 0) store_run<false, true>(values, args_, pixel, channel);
    } else {
      finish_levels(values, params, channel);
      if (pixel >= 0) store_run<false, false>(values, args_, pixel, channel);
    }
  }

  __device__ void finish_pooled(const Job& job, int first,
                                const std::int32_t (&sums)[kChunk]) const {
    const int first_output = first / 2;
    const int run = first_output / kRun % kRuns;
    const int row_group = first_output / kRun / kRuns;
    const int channel = channel_of(job, run, first_output % kRun);
    std::int32_t values[kChunk / 2];
#pragma unroll
    for (int i = 0; i < kChunk / 2; ++i) {
      values[i] = max(sums[2 * i], sums[2 * i + 1]);
      values[i] = max(values[i], __shfl_xor_sync(0xFFFFFFFFu, values[i], 4));
    }
    finish_levels(values, RunParams<kChunk / 2>(args_.output, channel), channel);
    if (threadIdx.x % 32 / 4 % 2 != 0) return;
    const int pixel = pixel_of(job, row_group, 0);
    if (pixel >= 0) store_run<false, false>(values, args_, pixel, channel);
  }

  template <int kCount>
  __device__ void finish_levels(std::int32_t (&values)[kCount], const RunParams<kCount>& params,
                                int channel) const {
    if (args_.output.scale != nullptr) {
      finish_scales(values, params, args_, channel);
    } else {
      finish_shifts(values, params, args_, channel);
    }
  }

  __device__ int channel_of(const Job& job, int run, int in_run) const {
    return job.column_block * kN + 64 * run + kRun * static_cast<int>(threadIdx.x % 4) + in_run;
  }

  __device__ int pixel_of(const Job& job, int row_group, int half) const {
    const ConvGeometry& g = args_.geometry;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x / 32) % 4;
    const int index = static_cast<int>(threadIdx.x / 128) * kGroups + row_group;
    const int unit = index >> g.unit_shift;
    const int row = (index - (unit << g.unit_shift)) * kGroupRows + 16 * warp + lane / 4 + 8 * half;
    const int first_unit = job.row_tile * (Tile::kTileGroups >> g.unit_shift);
    return UnitPlace(g, first_unit + unit).pixel(g, row, args_.pool);
  }

  const ConvWgmmaArgs& args_;
  std::uint32_t sums_;
};

}  // namespace qsim::golden::cuda
