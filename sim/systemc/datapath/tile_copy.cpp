#include "sim/systemc/datapath/tile_copy.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/base/checked_math.h"

namespace qsim::sim {
namespace {

// Calls visit(address) for every run of a LOAD or STORE, in order.
template <typename Transfer, typename Visit>
void for_each_run(const Transfer& transfer, Visit visit) {
  for (std::uint32_t g = 0; g < transfer.groups; ++g) {
    for (std::uint32_t r = 0; r < transfer.runs; ++r) {
      visit(std::int64_t{transfer.dram_addr} + std::int64_t{g} * transfer.group_stride +
            std::int64_t{r} * transfer.run_stride);
    }
  }
}

template <typename Transfer>
std::int64_t stream_bytes(const Transfer& transfer) {
  return std::int64_t{transfer.groups} * transfer.runs * transfer.run_bytes;
}

void read_stream(const Load& load, DramMemory& dram, std::int8_t* to) {
  for_each_run(load, [&](std::int64_t address) {
    std::memcpy(to, dram.load(address, load.run_bytes).data(), load.run_bytes);
    to += load.run_bytes;
  });
}

// Copies `pixels` pixels of kWords words each so that word k of pixel p lies at plane k, pixel p.
// kWordBytes 0: any word size.
template <std::size_t kWordBytes>
void split_planes(const std::int8_t* from, std::int64_t pixels, std::int64_t words_per_pixel,
                  std::size_t word_bytes, std::int64_t plane_words, std::int8_t* to) {
  const std::size_t bytes = kWordBytes == 0 ? word_bytes : kWordBytes;
  const auto step = static_cast<std::int64_t>(bytes);
  for (std::int64_t k = 0; k < words_per_pixel; ++k) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      std::memcpy(to + (k * plane_words + p) * step, from + (p * words_per_pixel + k) * step,
                  bytes);
    }
  }
}

// The address formula of LOAD for B > R: a block's plane_words pixels become B / R planes.
void deinterleave(std::span<const std::int8_t> stream, const Load& load, const ArchConfig& arch,
                  Scratchpads& scratchpads) {
  const std::int64_t word_bytes = arch.array_rows;
  const std::int64_t words_per_pixel = arch.block_channels() / arch.array_rows;
  const std::int64_t pixels =
      static_cast<std::int64_t>(stream.size()) / (words_per_pixel * word_bytes);
  QSIM_CHECK(pixels * words_per_pixel * word_bytes == static_cast<std::int64_t>(stream.size()) &&
                 load.plane_words > 0,
             "a LOAD of activations must bring whole pixels into planes of at least one word");
  const auto split = word_bytes == 4    ? split_planes<4>
                     : word_bytes == 8  ? split_planes<8>
                     : word_bytes == 16 ? split_planes<16>
                                        : split_planes<0>;
  for (std::int64_t pixel = 0; pixel < pixels; pixel += load.plane_words) {
    const std::int64_t first = load.local_addr + pixel * words_per_pixel;
    const std::int64_t count = std::min<std::int64_t>(load.plane_words, pixels - pixel);
    const std::int64_t extent = (words_per_pixel - 1) * load.plane_words + count;
    split(stream.data() + pixel * words_per_pixel * word_bytes, count, words_per_pixel,
          static_cast<std::size_t>(word_bytes), load.plane_words,
          scratchpads.written_activations(first, extent).data());
  }
}

void load_activations(const Load& load, const ArchConfig& arch, DramMemory& dram,
                      Scratchpads& scratchpads) {
  const std::int64_t bytes = stream_bytes(load);
  if (arch.block_channels() == arch.array_rows) {
    const std::int64_t words = ceil_div(bytes, arch.array_rows);
    read_stream(load, dram, scratchpads.written_activations(load.local_addr, words).data());
    return;
  }
  std::vector<std::int8_t> stream(static_cast<std::size_t>(bytes));
  read_stream(load, dram, stream.data());
  deinterleave(stream, load, arch, scratchpads);
}

void load_slot(const Load& load, DramMemory& dram, std::span<std::int8_t> slot) {
  const std::int64_t bytes = stream_bytes(load);
  QSIM_CHECK(bytes <= static_cast<std::int64_t>(slot.size()),
             "a LOAD of " + std::to_string(bytes) + " bytes leaves its slot");
  read_stream(load, dram, slot.data());
}

}  // namespace

void load_tile(const Load& load, const ArchConfig& arch, DramMemory& dram,
               Scratchpads& scratchpads) {
  const std::int64_t bytes = stream_bytes(load);
  switch (static_cast<LoadMemory>(load.memory)) {
    case LoadMemory::kActivation:
      load_activations(load, arch, dram, scratchpads);
      return;
    case LoadMemory::kWeight: {
      const std::int64_t words = ceil_div(bytes, arch.weight_word_bytes());
      read_stream(load, dram, scratchpads.weights(load.local_addr, words).data());
      return;
    }
    case LoadMemory::kParameter:
      return load_slot(load, dram, scratchpads.parameters(load.local_addr));
    case LoadMemory::kTable:
      return load_slot(load, dram, scratchpads.table(load.local_addr));
  }
  QSIM_CHECK(false, "LOAD to memory " + std::to_string(load.memory));
}

void store_tile(const Store& store, const ArchConfig& arch, Scratchpads& scratchpads,
                DramMemory& dram) {
  const std::int64_t words = ceil_div(stream_bytes(store), arch.array_cols);
  const std::int8_t* from = scratchpads.outputs(store.out_addr, words).data();
  for_each_run(store, [&](std::int64_t address) {
    std::memcpy(dram.store(address, store.run_bytes).data(), from, store.run_bytes);
    from += store.run_bytes;
  });
}

}  // namespace qsim::sim
