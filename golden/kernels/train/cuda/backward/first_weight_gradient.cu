// A warp has 64 channels of g and all levels of a window; its depths are every fourth 32 pixels of
// a part. A lane gathers the window of its pixel. Nothing is shared between warps until their sums
// are added.
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/bfloat16_tiles.cuh"
#include "golden/kernels/train/cuda/backward/first_weight_gradient.h"
#include "golden/kernels/train/cuda/backward/real_values.cuh"
#include "golden/kernels/train/cuda/backward/weight_sums.cuh"

namespace qsim::golden::train::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kRows = 64;     // channels of g
constexpr int kColumns = 32;  // levels of a window, at most
constexpr int kUnit = 32;     // pixels
constexpr int kGBytes = kUnit * kRows * 2;
constexpr int kQBytes = kUnit * kColumns * 2;
constexpr int kWarpBytes = 2 * kGBytes + kQBytes;

struct FirstArgs {
  ConvGeometry conv;
  const std::int8_t* q;
  const std::int32_t* zero_point;
  const std::uint16_t* g;
  float* sums;                               // [parts][out_channels][depth]
  golden::cuda::FastDivisor picture, width;  // pixels of y
  int pixels, depth, row_tiles, parts, units;
  int offsets[kColumns];  // in q, from the window's first
  std::int16_t tap_y[kColumns], tap_x[kColumns];
};

class FirstWarp {
 public:
  __device__ FirstWarp(const FirstArgs& args, std::uint32_t shared, int first_row)
      : args_(args), g_(shared), q_(shared + 2 * kGBytes), first_row_(first_row) {
    const int zero_point = args.zero_point == nullptr ? 0 : *args.zero_point;
    shift_ = level_shift(zero_point);
    pad_ = static_cast<std::uint8_t>(zero_point);
    lane_ = static_cast<int>(threadIdx.x) % 32;
  }

  __device__ void run(int first, int end) {
    copy(first, 0, first < end);
    int turn = 0;
    for (int unit = first; unit < end; unit += kWarps) {
      copy(unit + kWarps, turn ^ 1, unit + kWarps < end);
      gather(unit);
      golden::cuda::wait_copies<1>();
      __syncwarp();
      multiply(turn);
      __syncwarp();
      turn ^= 1;
    }
    golden::cuda::wait_copies<0>();
  }

  // The sums of rows 16 i + ... as [64][32] floats.
  __device__ void store(float* to) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          to[(16 * i + lane_ / 4 + k / 2 * 8) * kColumns + 8 * j + lane_ % 4 * 2 + k % 2] =
              sums_[i][j][k];
        }
      }
    }
  }

 private:
  __device__ void copy(int unit, int turn, bool is_there) const {
    if (is_there) {
      const int channel = first_row_ + lane_ % 8 * 8;
#pragma unroll
      for (int i = 0; i < kUnit / 4; ++i) {
        const int in_unit = lane_ / 8 + 4 * i;
        const int pixel = unit * kUnit + in_unit;
        const bool inside = pixel < args_.pixels && channel < args_.conv.out_channels;
        copy_16(
            g_ + static_cast<std::uint32_t>(turn * kGBytes) + in_rows_of_128(in_unit, lane_ % 8),
            args_.g + (inside ? std::int64_t{pixel} * args_.conv.out_channels + channel : 0),
            inside);
      }
    }
    golden::cuda::commit_copies();
  }

  // The window of the lane's pixel as a row of bfloat16.
  __device__ void gather(int unit) const {
    const int pixel = min(unit * kUnit + lane_, args_.pixels - 1);
    const ConvGeometry& c = args_.conv;
    const int picture = args_.picture.divide(pixel);
    const int in_picture = pixel - picture * args_.picture.divisor();
    const int row = args_.width.divide(in_picture);
    const int y = row * c.stride_h - c.pad_top;
    const int x = (in_picture - row * args_.width.divisor()) * c.stride_w - c.pad_left;
    const std::int8_t* from =
        args_.q + ((std::int64_t{picture} * c.height + y) * c.width + x) * c.channels;
    std::uint32_t levels[kColumns];
    const bool whole = y >= 0 && x >= 0 && y + args_.tap_y[args_.depth - 1] < c.height &&
                       x + args_.tap_x[args_.depth - 1] < c.width;
    if (__all_sync(0xFFFFFFFFu, whole)) {
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
        levels[n] = n < args_.depth ? static_cast<std::uint8_t>(__ldg(from + args_.offsets[n])) : 0;
      }
    } else {
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
        levels[n] = pad_;
        const bool inside =
            n < args_.depth &&
            static_cast<unsigned>(y + args_.tap_y[n]) < static_cast<unsigned>(c.height) &&
            static_cast<unsigned>(x + args_.tap_x[n]) < static_cast<unsigned>(c.width);
        if (inside) levels[n] = static_cast<std::uint8_t>(__ldg(from + args_.offsets[n]));
      }
    }
#pragma unroll
    for (int chunk = 0; chunk < 4; ++chunk) {
      const std::uint32_t* of = levels + 8 * chunk;
      const uint2 words = {of[0] | of[1] << 8 | of[2] << 16 | of[3] << 24,
                           of[4] | of[5] << 8 | of[6] << 16 | of[7] << 24};
      store_16(q_ + in_rows_of_64(lane_, chunk), eight_levels(words, shift_));
    }
  }

  __device__ void multiply(int turn) {
    const std::uint32_t g = g_ + static_cast<std::uint32_t>(turn * kGBytes);
#pragma unroll
    for (int k = 0; k < kUnit; k += 16) {
      std::uint32_t columns[2][4];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        load_turned(columns[j], q_ + in_rows_of_64(k + lane_ % 16, 2 * j + lane_ / 16));
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        std::uint32_t rows[4];
        load_turned(rows,
                    g + in_rows_of_128(k + lane_ / 16 * 8 + lane_ % 8, 2 * i + lane_ / 8 % 2));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          multiply_bfloat16(sums_[i][j], rows, columns[j / 2][j % 2 * 2],
                            columns[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }

  const FirstArgs& args_;
  std::uint32_t g_, q_;
  int first_row_, lane_;
  float shift_;
  std::uint32_t pad_;
  float sums_[4][4][4] = {};
};

__global__ void __launch_bounds__(kThreads, 3)
    first_weight_gradient(const __grid_constant__ FirstArgs args) {
  golden::cuda::begin_kernel();
  __shared__ __align__(128) std::uint8_t memory[kWarps * kWarpBytes];
  const int first_row = static_cast<int>(blockIdx.x) % args.row_tiles * kRows;
  const int part = static_cast<int>(blockIdx.x) / args.row_tiles;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const auto at_part = [&](int i) {
    return static_cast<int>(std::int64_t{args.units} * i / args.parts);
  };
  FirstWarp own(args,
                golden::cuda::to_shared(memory) + static_cast<std::uint32_t>(warp * kWarpBytes),
                first_row);
  own.run(at_part(part) + warp, at_part(part + 1));
  __syncthreads();
  auto* const sums = reinterpret_cast<float*>(memory);
  own.store(sums + warp * kRows * kColumns);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kColumns; i += kThreads) {
    const int row = first_row + i / kColumns;
    const int column = i % kColumns;
    if (row >= args.conv.out_channels || column >= args.depth) continue;
    float sum = sums[i];
    for (int other = 1; other < kWarps; ++other) sum += sums[other * kRows * kColumns + i];
    args.sums[(std::int64_t{part} * args.conv.out_channels + row) * args.depth + column] = sum;
  }
}

// The number of parts depends on the shapes only.
std::int64_t parts_of(const LevelConv& conv) {
  constexpr std::int64_t kMostParts = 1056;
  constexpr std::int64_t kFewestUnits = 4 * kWarps;
  return std::clamp<std::int64_t>(conv.pixels() / kUnit / kFewestUnits, 1, kMostParts);
}

}  // namespace

bool has_first_weight_gradient(const ConvWeightGradient& call) {
  const LevelConv& conv = call.conv;
  const Window& w = conv.window;
  const std::int64_t of_picture = conv.x_shape.height * conv.x_shape.width * conv.x_shape.channels;
  return conv.groups == 1 && conv.depth() <= kColumns && conv.pixels() > 0 &&
         conv.y_shape.channels % 8 == 0 && is_aligned_16(call.g) && of_picture <= INT32_MAX / 2 &&
         w.extent_h() <= INT16_MAX && w.extent_w() <= INT16_MAX;
}

std::size_t first_weight_workspace_bytes(const ConvWeightGradient& call) {
  return static_cast<std::size_t>(parts_of(call.conv) * call.dw.elems()) * sizeof(float);
}

void enqueue_first_weight_gradient(const ConvWeightGradient& call, void* workspace,
                                   cudaStream_t stream) {
  FirstArgs args{};
  args.conv = geometry_of(call.conv);
  const ConvGeometry& c = args.conv;
  args.q = call.conv.q;
  args.zero_point = call.conv.zero_point;
  args.g = call.g;
  args.sums = static_cast<float*>(workspace);
  args.picture = golden::cuda::FastDivisor(c.out_height * c.out_width);
  args.width = golden::cuda::FastDivisor(c.out_width);
  args.pixels = static_cast<int>(call.conv.pixels());
  args.depth = static_cast<int>(call.conv.depth());
  args.row_tiles = (c.out_channels + kRows - 1) / kRows;
  args.parts = static_cast<int>(parts_of(call.conv));
  args.units = (args.pixels + kUnit - 1) / kUnit;
  for (int n = 0; n < args.depth; ++n) {
    const int tap = n / c.channels;
    const int y = tap / c.kernel_w * c.dilation_h;
    const int x = tap % c.kernel_w * c.dilation_w;
    args.tap_y[n] = static_cast<std::int16_t>(y);
    args.tap_x[n] = static_cast<std::int16_t>(x);
    args.offsets[n] = (y * c.width + x) * c.channels + n % c.channels;
  }
  golden::cuda::launch_kernel("launching first_weight_gradient", first_weight_gradient,
                              std::int64_t{args.row_tiles} * args.parts, kThreads, 0, stream, args);
  enqueue_weight_sums(
      {args.sums, call.scale, call.passes, view_of(call.dw), call.dw.is_dense(), false, false}, c,
      args.parts, stream);
}

}  // namespace qsim::golden::train::cuda
