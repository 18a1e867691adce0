// A small program written by hand, for the tests of whatever reads programs: two convolutions on a
// 4x4 array that use every unit, every semaphore of the compiler's convention, both halves, two
// column blocks, and a second layer that loads what the first one stored.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/machine/program.h"

namespace qsim::sample {

enum Semaphores : std::size_t {
  kActReady,
  kActFree,
  kWeightReady,
  kWeightFree,
  kParamReady,
  kParamFree,
  kAccReady,
  kAccFree,
  kOutReady,
  kOutFree,
  kOfmapDone
};

template <typename... Bits>
std::uint16_t mask(Bits... bits) {
  return static_cast<std::uint16_t>((0u | ... | (1u << bits)));
}

inline ArchConfig tiny_arch() {
  ArchConfig arch;
  arch.name = "tiny";
  arch.array_rows = arch.array_cols = 4;
  arch.act_scratchpad_kib = arch.weight_scratchpad_kib = 1;
  arch.accumulator_kib = arch.output_scratchpad_kib = 1;
  arch.bus_bytes = 4;
  return arch;
}

inline DramTensor tensor(std::int64_t address, ImageShape shape) {
  DramTensor result;
  result.address = address;
  result.value.shape = shape;
  result.block = 4;
  return result;
}

inline DramSegment random_segment(std::string name, std::int64_t address, std::size_t bytes,
                                  Random& random) {
  DramSegment segment{std::move(name), address, std::vector<std::byte>(bytes)};
  for (std::byte& byte : segment.bytes) byte = static_cast<std::byte>(random.uniform(0, 255));
  return segment;
}

// `blocks` parameter slots: random biases, shift 9 in every column.
inline DramSegment random_params(std::string name, std::int64_t address, std::size_t blocks,
                                 Random& random) {
  DramSegment segment{std::move(name), address, std::vector<std::byte>(blocks * 20)};
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t c = 0; c < 4; ++c) {
      const auto bias = static_cast<std::uint32_t>(random.uniform(-20000, 20000));
      for (std::size_t byte = 0; byte < 4; ++byte) {
        segment.bytes[block * 20 + c * 4 + byte] =
            static_cast<std::byte>((bias >> (8 * byte)) & 0xff);
      }
      segment.bytes[block * 20 + 16 + c] = std::byte{9};
    }
  }
  return segment;
}

template <typename Fields>
void emit(Program& program, std::uint16_t wait, std::uint16_t signal, Fields fields,
          Origin origin) {
  program.streams.append({wait, signal, fields}, origin);
}

inline Load load(LoadMemory memory, std::uint32_t dram_addr, std::uint32_t local_addr,
                 std::uint32_t bytes, std::uint32_t plane_words = 0) {
  Load l;
  l.memory = static_cast<std::uint32_t>(memory);
  l.dram_addr = dram_addr;
  l.local_addr = local_addr;
  l.run_bytes = bytes;
  l.runs = l.groups = 1;
  l.run_stride = l.group_stride = bytes;
  l.plane_words = plane_words;
  return l;
}

// Output rows [2 half, 2 half + 2) of column block `block`: one plane of 4 channels, kernel 3x3
// with a pad of 1; the three picture rows it needs are resident in activation slot `half`.
inline Execute conv3x3(std::uint32_t half, std::uint32_t block) {
  Execute e;
  e.act_addr = 128 * half;
  e.act_row_words = 4;
  e.act_plane_words = 16;
  e.in_rows = 3;
  e.in_cols = 4;
  e.origin_row = half == 0 ? -1 : 0;
  e.origin_col = -1;
  e.kernel_h = e.kernel_w = 3;
  e.stride_h = e.stride_w = 1;
  e.planes = 1;
  e.out_rows = 2;
  e.out_cols = 4;
  e.weight_addr = 64 * block;
  e.acc_half = block;
  e.pad_value = 3;
  e.blocks = 1;
  return e;
}

// Two rows of psums without pooling, from accumulator half `half` to output half `half`.
inline Post plain_post(std::uint32_t half) {
  Post p;
  p.acc_half = half;
  p.out_addr = 128 * half;
  p.param_slot = half;
  p.in_rows = p.out_rows = 2;
  p.in_cols = p.out_cols = 4;
  p.pool_h = p.pool_w = p.pool_stride_h = p.pool_stride_w = 1;
  p.rounding = 1;
  p.zero_point = 3;
  p.lo = -100;
  p.hi = 100;
  return p;
}

inline Store store(std::uint32_t dram_addr, std::uint32_t out_addr, std::uint32_t bytes) {
  Store s;
  s.dram_addr = dram_addr;
  s.out_addr = out_addr;
  s.run_bytes = bytes;
  s.runs = s.groups = 1;
  s.run_stride = s.group_stride = bytes;
  return s;
}

// Layer "first": 4 to 8 channels; tile 2 h + b is rows [2 h, 2 h + 2) of column block b.
inline void emit_first_layer(Program& p) {
  for (std::uint32_t tile = 0; tile < 4; ++tile) {
    const std::uint32_t half = tile / 2;
    const std::uint32_t block = tile % 2;
    const auto y = static_cast<std::int32_t>(2 * half);
    const auto c = static_cast<std::int32_t>(4 * block);
    const Origin origin{0, static_cast<std::int32_t>(tile), 0, 1, y, y + 2, 0, 4, c, c + 4};
    if (block == 0) {
      emit(p, mask(kActFree), mask(kActReady),
           load(LoadMemory::kActivation, 16 * half, 128 * half, 48, 12), origin);
    }
    emit(p, mask(kWeightFree), mask(kWeightReady),
         load(LoadMemory::kWeight, 256 + 144 * block, 64 * block, 144), origin);
    emit(p, mask(kParamFree), mask(kParamReady),
         load(LoadMemory::kParameter, 544 + 20 * block, block, 20), origin);
    emit(p, block == 0 ? mask(kActReady, kWeightReady, kAccFree) : mask(kWeightReady, kAccFree),
         block == 0 ? mask(kWeightFree, kAccReady) : mask(kActFree, kWeightFree, kAccReady),
         conv3x3(half, block), origin);
    emit(p, mask(kAccReady, kParamReady, kOutFree), mask(kAccFree, kParamFree, kOutReady),
         plain_post(block), origin);
    emit(p, mask(kOutReady), tile == 3 ? mask(kOutFree, kOfmapDone) : mask(kOutFree),
         store(64 + 64 * block + 32 * half, 128 * block, 32), origin);
  }
}

// Layer "second": 8 to 4 channels, kernel 1x1, then max-pool 2x2; one tile.
inline void emit_second_layer(Program& p) {
  const Origin origin{1, 0, 0, 1, 0, 2, 0, 2, 0, 4};
  emit(p, mask(kWeightFree), mask(kWeightReady), load(LoadMemory::kWeight, 584, 0, 32), origin);
  emit(p, mask(kParamFree), mask(kParamReady), load(LoadMemory::kParameter, 616, 0, 20), origin);
  emit(p, mask(kActFree, kOfmapDone), mask(kActReady),
       load(LoadMemory::kActivation, 64, 0, 128, 16), origin);
  Execute e = conv3x3(0, 0);
  e.in_rows = e.out_rows = 4;
  e.origin_row = e.origin_col = 0;
  e.kernel_h = e.kernel_w = 1;
  e.planes = 2;
  emit(p, mask(kActReady, kWeightReady, kAccFree), mask(kActFree, kWeightFree, kAccReady), e,
       origin);
  Post post = plain_post(0);
  post.in_rows = 4;
  post.out_rows = post.out_cols = 2;
  post.pool_h = post.pool_w = post.pool_stride_h = post.pool_stride_w = 2;
  emit(p, mask(kAccReady, kParamReady, kOutFree), mask(kAccFree, kParamFree, kOutReady), post,
       origin);
  emit(p, mask(kOutReady), mask(kOutFree), store(192, 0, 16), origin);
}

inline Program program(std::uint64_t seed = 1) {
  Random random(seed);
  Program p;
  p.name = "two layers";
  p.arch = tiny_arch();
  p.semaphores = {{{"act_ready", 0},
                   {"act_free", 2},
                   {"weight_ready", 0},
                   {"weight_free", 2},
                   {"param_ready", 0},
                   {"param_free", 2},
                   {"acc_ready", 0},
                   {"acc_free", 2},
                   {"out_ready", 0},
                   {"out_free", 2},
                   {"ofmap_done", 0}}};
  p.writable_bytes = 256;
  p.input.tensor = tensor(0, {1, 4, 4, 4});
  p.segments.push_back(random_segment("first.weights", 256, 288, random));
  p.segments.push_back(random_params("first.params", 544, 2, random));
  p.segments.push_back(random_segment("second.weights", 584, 32, random));
  p.segments.push_back(random_params("second.params", 616, 1, random));
  p.layers.push_back({"first", "conv2d", "4 tiles", 0, 4608, tensor(64, {1, 4, 4, 8})});
  p.layers.push_back({"second", "conv2d+max_pool", "1 tile", 2, 512, tensor(192, {1, 2, 2, 4})});
  emit_first_layer(p);
  emit_second_layer(p);
  return p;
}

inline Tensor input(std::uint64_t seed = 1) {
  Random random(seed);
  Tensor picture(DType::kInt8, {1, 4, 4, 4});
  for (std::int8_t& v : picture.as<std::int8_t>()) {
    v = static_cast<std::int8_t>(random.uniform(-128, 127));
  }
  return picture;
}

}  // namespace qsim::sample
