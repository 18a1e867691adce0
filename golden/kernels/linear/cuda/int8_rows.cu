// The linear layer with int8 activations of few rows: reading the weights is the work. A group of
// warps takes tiles of 8 output channels; each of its warps streams a part of their input features
// from memory to registers, as columns of mma.m16n8k32, and multiplies them by the codes of up to
// 16 rows of x, which are in shared memory. The order of the input features in a product is free:
// a lane takes 16 bytes that follow each other as two pairs of words of two products.
#include "golden/device/shared_memory.cuh"
#include "golden/device/tensor_core.cuh"
#include "golden/kernels/linear/cuda/int8_values.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr int kTileChannels = 8;
constexpr int kTileRows = 16;
constexpr int kStepBytes = 128;  // of a channel, that a warp takes at once
constexpr int kAhead = 6;        // steps that are on their way
constexpr int kTableElems = kTileRows * kTileChannels;
constexpr int kTables = 2;  // of a warp: one is summed while the next is filled
// So that 8 rows of 64 bytes lie in all banks.
constexpr int kRowPadding = 64;
constexpr int kHeaderBytes = 128;

struct Int8RowPlan {
  int rows_of_block;
  int row_chunks;
  int blocks_of_chunk;
  int warps_of_tile;  // a power of two
  int tiles, steps;   // of a tile, over all its warps
};

std::int64_t shared_bytes(std::int64_t rows, std::int64_t code_stride) {
  return kHeaderBytes + kTables * kWarps * kTableElems * 4 + rows * (code_stride + kRowPadding);
}

// The places of a warp in the steps of its tiles, one after the other.
struct StepCursor {
  int tile, step;

  __device__ void advance(const Int8RowPlan& plan, int tile_stride) {
    step += plan.warps_of_tile;
    if (step >= plan.steps) {
      step = static_cast<int>(threadIdx.x) / 32 % plan.warps_of_tile;
      tile += tile_stride;
    }
  }
};

// Barrier 0 is the block's; 15 are left, and a warp alone needs none. The warps come here from
// different places of the unrolled loop, so the barrier is not the aligned one.
__device__ inline void sync_group(int group, int warps) {
  if (warps == 1) return __syncwarp();
  asm volatile("barrier.sync %0, %1;" ::"r"(1 + group), "r"(32 * warps) : "memory");
}

template <bool kOneRow, bool kSixteen>
class RowProduct {
 public:
  __device__ RowProduct(const Int8Job& job, const Int8RowPlan& plan, std::uint8_t* shared,
                        std::int64_t first_row)
      : job_(job), plan_(plan), first_row_(first_row) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    g_ = lane / 4;
    q_ = lane % 4;
    group_ = warp / plan.warps_of_tile;
    member_ = warp % plan.warps_of_tile;
    const int groups = kWarps / plan.warps_of_tile;
    tile_stride_ = plan.blocks_of_chunk * groups;
    // Blocks first: the last tiles are on as many multiprocessors as there are.
    const int block = static_cast<int>(blockIdx.x) % plan.blocks_of_chunk;
    first_tile_ = group_ * plan.blocks_of_chunk + block;
    row_bytes_ = (job.in_features + 15) / 16 * 16;
    rows_ =
        static_cast<int>(min(static_cast<std::int64_t>(plan.rows_of_block), job.rows - first_row));
    flags_ = reinterpret_cast<float*>(shared);
    tables_ = reinterpret_cast<std::int32_t*>(shared + kHeaderBytes);
    codes_ =
        reinterpret_cast<std::int8_t*>(shared + kHeaderBytes + kTables * kWarps * kTableElems * 4);
    code_stride_ = job.code_stride + kRowPadding;
    next_ = {first_tile_, member_};
    if (member_ >= plan.steps) next_.tile = plan.tiles;
  }

  __device__ void begin() {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) load(words_[i]);
  }

  // The codes to shared memory. Ends with a barrier.
  __device__ void take_rows() {
    if constexpr (kOneRow) {
      auto* largest = reinterpret_cast<std::uint32_t*>(flags_ + kTileRows);
      const std::uint32_t mine = job_.static_scale != 0 ? 0 : largest_of_thread(job_, first_row_);
      const RowScale scale(job_, largest_of_block(mine, largest));
      if (threadIdx.x == 0) flags_[0] = scale.scale();
      store_codes(job_, first_row_, scale, codes_);
    } else {
      const int vectors = job_.code_stride / 16;
      for (int i = static_cast<int>(threadIdx.x); i < rows_ * vectors; i += kThreads) {
        const int row = i / vectors;
        const int at = (i - row * vectors) * 16;
        *reinterpret_cast<uint4*>(codes_ + row * code_stride_ + at) =
            *reinterpret_cast<const uint4*>(job_.codes + (first_row_ + row) * job_.code_stride +
                                            at);
      }
      if (static_cast<int>(threadIdx.x) < rows_) {
        flags_[threadIdx.x] = job_.row_scales[first_row_ + threadIdx.x];
      }
    }
    __syncthreads();
    low_ = codes_ + min(g_, rows_ - 1) * code_stride_ + q_ * 16;
    high_ = codes_ + min(g_ + 8, rows_ - 1) * code_stride_ + q_ * 16;
  }

  __device__ void run() {
    if (first_tile_ >= plan_.tiles) return;
    StepCursor at{first_tile_, member_};
    if (member_ >= plan_.steps) {  // this warp has no steps, but its group's sums wait for it
      for (; at.tile < plan_.tiles; at.tile += tile_stride_) finish(at.tile);
      return;
    }
    while (true) {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        multiply(words_[i], at.step * kStepBytes);
        load(words_[i]);
        const int tile = at.tile;
        at.advance(plan_, tile_stride_);
        if (at.tile == tile) continue;
        finish(tile);
        if (at.tile >= plan_.tiles) return;
      }
    }
  }

 private:
  // What lies beyond the weights keeps what was there: its codes are 0, or its channel is not
  // stored.
  __device__ void load(uint4 (&words)[2]) {
    const int channel = next_.tile * kTileChannels + g_;
    const int byte = next_.step * kStepBytes + q_ * 16;
    if (next_.tile < plan_.tiles && channel < job_.out_features) {
      const std::uint8_t* from = job_.weights + channel * job_.row_bytes + byte;
      if (byte < row_bytes_) words[0] = load_once(reinterpret_cast<const uint4*>(from));
      if (byte + 64 < row_bytes_) words[1] = load_once(reinterpret_cast<const uint4*>(from + 64));
    }
    next_.advance(plan_, tile_stride_);
  }

  __device__ void multiply(const uint4 (&words)[2], int at) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint4 low = *reinterpret_cast<const uint4*>(low_ + at + 64 * i);
      uint4 high{};
      if constexpr (kSixteen) high = *reinterpret_cast<const uint4*>(high_ + at + 64 * i);
      const std::uint32_t first[4] = {low.x, high.x, low.y, high.y};
      const std::uint32_t second[4] = {low.z, high.z, low.w, high.w};
      multiply_a<false>(sums_, first, words[i].x, words[i].y);
      multiply_a<false>(sums_, second, words[i].z, words[i].w);
    }
  }

  // The sums of the group's warps, scaled and stored.
  __device__ void finish(int tile) {
    table_ ^= 1;
    std::int32_t* tables = tables_ + table_ * kWarps * kTableElems;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    std::int32_t* mine = tables + warp * kTableElems;
    *reinterpret_cast<int2*>(mine + g_ * 8 + 2 * q_) = make_int2(sums_[0], sums_[1]);
    if constexpr (kSixteen) {
      *reinterpret_cast<int2*>(mine + (g_ + 8) * 8 + 2 * q_) = make_int2(sums_[2], sums_[3]);
    }
#pragma unroll
    for (std::int32_t& sum : sums_) sum = 0;
    sync_group(group_, plan_.warps_of_tile);
    const int threads = 32 * plan_.warps_of_tile;
    const std::int32_t* first = tables + group_ * plan_.warps_of_tile * kTableElems;
    for (int i = static_cast<int>(threadIdx.x) % threads; i < rows_ * kTileChannels; i += threads) {
      std::int32_t sum = 0;
      for (int part = 0; part < plan_.warps_of_tile; ++part) sum += first[part * kTableElems + i];
      const int channel = tile * kTileChannels + i % kTileChannels;
      const int row = i / kTileChannels;
      if (channel < job_.out_features) {
        store_sum(job_, first_row_ + row, channel, sum, flags_[row]);
      }
    }
  }

  const Int8Job& job_;
  const Int8RowPlan& plan_;
  std::int64_t first_row_;
  int g_, q_, group_, member_, tile_stride_, first_tile_, row_bytes_, rows_, code_stride_;
  float* flags_;
  std::int32_t* tables_;
  std::int8_t* codes_;
  const std::int8_t* low_ = nullptr;
  const std::int8_t* high_ = nullptr;
  StepCursor next_;
  uint4 words_[kAhead][2] = {};
  std::int32_t sums_[4] = {};
  int table_ = 0;
};

template <bool kOneRow, bool kSixteen>
__global__ void __launch_bounds__(kThreads, 1)
    int8_rows(const __grid_constant__ Int8Job job, const __grid_constant__ Int8RowPlan plan) {
  std::uint8_t* shared = dynamic_shared();
  start_next_kernel();
  if (threadIdx.x < kHeaderBytes / 4) reinterpret_cast<std::uint32_t*>(shared)[threadIdx.x] = 0;
  __syncthreads();
  const std::int64_t chunk = blockIdx.x / static_cast<unsigned>(plan.blocks_of_chunk);
  RowProduct<kOneRow, kSixteen> product(job, plan, shared, chunk * plan.rows_of_block);
  if (!job.constant) wait_for_last_kernel();
  product.begin();
  if (job.constant) wait_for_last_kernel();
  product.take_rows();
  product.run();
}

// Warps that share a tile: as many as end first; of equally good ones the fewest.
Int8RowPlan plan_of(const Int8Job& job, int rows_of_block, int blocks) {
  Int8RowPlan plan{};
  plan.rows_of_block = rows_of_block;
  plan.row_chunks = static_cast<int>((job.rows + rows_of_block - 1) / rows_of_block);
  plan.tiles = (job.out_features + kTileChannels - 1) / kTileChannels;
  plan.steps = (job.in_features + kStepBytes - 1) / kStepBytes;
  std::int64_t least = 0;
  for (int warps = 1; warps <= kWarps; warps *= 2) {
    const int slots = blocks * kWarps / warps;
    const std::int64_t rounds = (plan.tiles + slots - 1) / slots;
    // A tile's sums take about as long as two steps.
    const std::int64_t cost = rounds * ((plan.steps + warps - 1) / warps + 2);
    if (least != 0 && cost >= least) continue;
    least = cost;
    plan.warps_of_tile = warps;
  }
  const int groups = kWarps / plan.warps_of_tile;
  plan.blocks_of_chunk = std::min(blocks, (plan.tiles + groups - 1) / groups);
  return plan;
}

}  // namespace

int int8_rows_of_block(std::int64_t rows, std::int64_t code_stride, int shared_limit) {
  const std::int64_t room = shared_limit - shared_bytes(0, code_stride);
  return static_cast<int>(std::clamp<std::int64_t>(room / (code_stride + kRowPadding), 0,
                                                   std::min<std::int64_t>(kTileRows, rows)));
}

void launch_int8_rows(const Int8Job& job, int rows_of_block, cudaStream_t stream) {
  int device = 0;
  int multiprocessors = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "asking for the number of multiprocessors");
  const Int8RowPlan plan = plan_of(job, rows_of_block, multiprocessors);
  const auto kernel = job.rows == 1       ? int8_rows<true, false>
                      : rows_of_block > 8 ? int8_rows<false, true>
                                          : int8_rows<false, false>;
  allow_all_shared_memory(kernel);
  launch_kernel("launching int8_rows", kernel,
                static_cast<std::int64_t>(plan.blocks_of_chunk) * plan.row_chunks, kThreads,
                static_cast<std::size_t>(shared_bytes(rows_of_block, job.code_stride)), stream, job,
                plan);
}

}  // namespace qsim::golden::cuda
