// The convolution of conv_boxes.h as a kernel: each warpgroup finishes its units by itself, while
// others multiply.
#pragma once

#include "golden/device/shared_memory.cuh"
#include "golden/kernels/train/cuda/forward/conv_boxes_pipeline.cuh"
#include "golden/kernels/train/cuda/forward/conv_finish.cuh"

namespace qsim::golden::train::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Barrier of a warpgroup.
__device__ inline void meet_group(int group) {
  asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

// The first tap whose input is at `limit` or after it, of an output that begins `before` it.
__device__ inline int first_tap(int before, int dilation, int taps) {
  return before <= 0 ? 0 : min(taps, (before + dilation - 1) / dilation);
}

// Takes the zero_point's part from a thread's sums of a job.
__device__ inline void subtract_zero_point(const BoxConv& plan, const ConvSizes& conv, int job,
                                           int group, std::int32_t (&sums)[kPieceColumns / 2]) {
  if (plan.zero_sums == nullptr) return;
  const int row_tile = plan.column_blocks.divide(job);
  const int first_column = (job - row_tile * plan.column_blocks.divisor()) * kPieceColumns;
  const BoxUnit place(plan, row_tile * kBoxWarpgroups + group);
  const int thread = static_cast<int>(threadIdx.x) % 128;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * h;
    int top = 0, left = 0, bottom = 1, right = 1;  // of the taps inside, in a line
    if (plan.is_line == 0) {
      const int y = (place.y + row / 8) * conv.stride_h - conv.pad_top;
      const int x = (place.x + row % 8) * conv.stride_w - conv.pad_left;
      top = first_tap(-y, conv.dilation_h, conv.kernel_h);
      left = first_tap(-x, conv.dilation_w, conv.kernel_w);
      bottom = first_tap(conv.height - y, conv.dilation_h, conv.kernel_h);
      right = first_tap(conv.width - x, conv.dilation_w, conv.kernel_w);
    }
    const auto subtract = [&](int rows, int columns, std::uint32_t sign) {
      const int column = first_column + thread % 4 * 2;
      const std::int32_t* from = plan.zero_sums +
                                 std::int64_t{rows * (conv.kernel_w + 1) + columns} * conv.columns +
                                 column;
#pragma unroll
      for (int j = 0; j < kPieceColumns / 8; ++j) {
        if (column + 8 * j >= conv.columns) break;
        const int2 part = *reinterpret_cast<const int2*>(from + 8 * j);
        sums[4 * j + 2 * h] -= static_cast<std::int32_t>(static_cast<std::uint32_t>(part.x) * sign);
        sums[4 * j + 2 * h + 1] -=
            static_cast<std::int32_t>(static_cast<std::uint32_t>(part.y) * sign);
      }
    };
    subtract(bottom, right, 1);
    if (top > 0) subtract(top, right, ~0U);
    if (left > 0) subtract(bottom, left, ~0U);
    if (top > 0 && left > 0) subtract(top, left, 1);
  }
}

// What a finishing warpgroup keeps from job to job: its block has one place of columns.
template <class Finish, int kColumns>
class BoxFinisher {
 public:
  // What the finisher has in dynamic shared memory.
  struct Memory {
    PieceSums<Finish::kRowsInnermost> sums;
  };

  __device__ BoxFinisher(const BoxConv& plan, const ConvSizes& conv, const Finish& finish,
                         Memory& memory, PieceFrame& frame, int group)
      : plan_(plan),
        conv_(conv),
        finish_(finish),
        sums_(memory.sums),
        frame_(frame),
        group_(group) {
    const int blocks = plan.column_blocks.divisor();
    first_column_ = static_cast<int>(blockIdx.x) % blocks * kColumns;
    slot_ = static_cast<int>(blockIdx.x) / blocks * kBoxWarpgroups + group;
  }

  __device__ void run(int job, const std::int32_t (&sums)[kColumns / 2]) {
    const int thread = static_cast<int>(threadIdx.x) % 128;
    const int unit = plan_.column_blocks.divide(job) * kBoxWarpgroups + group_;
    if (unit >= plan_.units) return;
    if (thread < kPieceRows) {
      frame_.set_row(conv_, finish_, thread,
                     BoxUnit(plan_, unit).pixel(plan_, conv_, unit, thread));
    }
    const int row = thread / 32 * 16 + thread % 32 / 4;
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      const int first = first_column_ + half * kPieceColumns;
      if (first >= conv_.columns) break;
      if constexpr (Finish::kHasColumnValues) {
        const int column = thread - kPieceRows;
        if (column >= 0 && first + column < conv_.columns) {
          frame_.set_column(finish_, column, first + column);
        }
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int at = (half * 8 + j) * 4;
        sums_.put(row, 8 * j + thread % 4 * 2, sums[at], sums[at + 1]);
        sums_.put(row + 8, 8 * j + thread % 4 * 2, sums[at + 2], sums[at + 3]);
      }
      meet_group(group_);
      finish_.run(conv_, sums_, piece(half), states_[half]);
      meet_group(group_);
    }
  }

  __device__ void end() {
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      if (first_column_ + half * kPieceColumns >= conv_.columns) break;
      finish_.end(conv_, states_[half], piece(half), slot_);
    }
  }

 private:
  static constexpr int kHalves = kColumns / kPieceColumns;

  __device__ Piece piece(int half) const {
    const int column = first_column_ + half * kPieceColumns;
    return {frame_, column, min(kPieceColumns, conv_.columns - column),
            static_cast<int>(threadIdx.x) % 128};
  }

  const BoxConv& plan_;
  const ConvSizes& conv_;
  const Finish& finish_;
  PieceSums<Finish::kRowsInnermost>& sums_;
  PieceFrame& frame_;
  int group_;
  int first_column_;
  int slot_;
  typename Finish::State states_[kHalves];
};

#endif

template <class Finish, int kColumns, int kTaps>
__global__ void __launch_bounds__(kBoxThreads, 1)
    conv_boxes(const __grid_constant__ BoxConv plan, const __grid_constant__ ConvSizes conv,
               const __grid_constant__ Finish finish) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t shared[];
  __shared__ BoxBarriers barriers;
  __shared__ PieceFrame frames[kBoxWarpgroups];
  using Finisher = BoxFinisher<Finish, kColumns>;
  const std::uint32_t base = shared_address(shared);
  const std::uint32_t inputs = (base + 1023) / 1024 * 1024;
  const std::uint32_t weights =
      inputs + static_cast<std::uint32_t>(plan.input_stages * kBoxWarpgroups * plan.unit_stride);
  const std::uint32_t pieces =
      weights + static_cast<std::uint32_t>(plan.weight_stages * kTaps * kColumns * kBoxRowBytes);
  // The same for a whole warp, which the shuffle tells the compiler: wgmma needs to know.
  const int group = __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x) / 128, 0);
  if (threadIdx.x == 0) barriers.init();
  __syncthreads();
  begin_kernel();
  if (group == kBoxWarpgroups) {
    give_registers<32>();
    if (threadIdx.x == 128 * kBoxWarpgroups) {
      produce_boxes<kColumns, kTaps>(plan, conv, barriers, inputs, weights);
    }
  } else {
    take_registers<112>();  // 640 threads have 96 each at entry: the producer gives 64 of its own
    auto* memories = reinterpret_cast<typename Finisher::Memory*>(shared + (pieces - base));
    BoxMultiplier<kColumns, kTaps> multiplier(plan, conv, barriers, inputs, weights, group);
    Finisher finisher(plan, conv, finish, memories[group], frames[group], group);
    if (group > 0 && plan.lead_stages > 0) wait_to_begin(group);
    int lead = plan.lead_stages;
    for (int job = static_cast<int>(blockIdx.x); job < plan.jobs;
         job += static_cast<int>(gridDim.x)) {
      std::int32_t sums[kColumns / 2];
      multiplier.multiply(sums, lead, group);
      lead = 0;
      if constexpr (kColumns == kPieceColumns) subtract_zero_point(plan, conv, job, group, sums);
      finisher.run(job, sums);
    }
    finisher.end();
  }
#else
  __trap();  // compiled for an architecture without wgmma
#endif
}

template <int kColumns, class Finish>
void launch_box_columns(const BoxConv& plan, const ConvSizes& conv, const Finish& finish,
                        cudaStream_t stream) {
  const auto kernel =
      plan.taps_per_stage == 3 ? conv_boxes<Finish, kColumns, 3> : conv_boxes<Finish, kColumns, 1>;
  allow_all_shared_memory(kernel);
  launch_kernel("launching a convolution", kernel, plan.blocks, kBoxThreads,
                static_cast<std::size_t>(plan.shared_bytes), stream, plan, conv, finish);
}

template <class Finish>
void launch_boxes(const BoxConv& plan, const ConvSizes& conv, const Finish& finish,
                  cudaStream_t stream) {
  if (plan.columns == 64) {
    launch_box_columns<64>(plan, conv, finish, stream);
  } else {
    launch_box_columns<128>(plan, conv, finish, stream);
  }
}

}  // namespace qsim::golden::train::cuda
