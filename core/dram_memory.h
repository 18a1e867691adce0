// The bytes of DRAM while a program runs: the program's constant segments, seen in place, and a
// writable area for input and ofmaps. No timing; that is core/dram_channel.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/program.h"
#include "core/zeroed_bytes.h"

namespace qsim {

// Bytes that an engine moved, counted where it moved them, by the region of DRAM that they are in.
struct DramTraffic {
  struct Ofmap {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    bool operator==(const Ofmap&) const = default;
  };
  std::uint64_t input_read = 0;
  std::vector<Ofmap> ofmaps;                 // by program layer
  std::vector<std::uint64_t> segments_read;  // as Program::segments
  bool operator==(const DramTraffic&) const = default;
};

class DramMemory {
 public:
  // How much is freed at a time when parts are freed one after the other: see release().
  static constexpr std::int64_t kReleaseBytes = std::int64_t{256} << 10;

  // The image at the start of a run: input packed, everything else writable zero. `program` must
  // outlive this object.
  DramMemory(const Program& program, const Tensor& input);

  // Bytes [address, address + count). Throws InternalError when they do not lie in one region.
  std::span<const std::byte> read(std::int64_t address, std::int64_t count) const;
  // The same for writing: only the writable area, but not the input.
  std::span<std::byte> write(std::int64_t address, std::int64_t count);

  // read() and write() for a LOAD and a STORE: they are counted.
  std::span<const std::byte> load(std::int64_t address, std::int64_t count) {
    region_of(address).read += static_cast<std::uint64_t>(count);
    return read(address, count);
  }
  std::span<std::byte> store(std::int64_t address, std::int64_t count) {
    region_of(address).written += static_cast<std::uint64_t>(count);
    return write(address, count);
  }
  DramTraffic traffic() const;

  // The bytes of one program layer's ofmap.
  std::span<const std::byte> ofmap(std::size_t layer) const;
  // Drops the whole pages in bytes [begin, end) of the writable area, which nothing reads any more
  // (core/page_release.h).
  void release(std::int64_t begin, std::int64_t end);

  // Every program layer's ofmap as it lies in DRAM now, NHWC in its own dtype.
  std::vector<Tensor> ofmaps() const;
  // The same at the end of a run, when nothing is read from here any more: the memory of each ofmap
  // goes when it has been unpacked. Ofmaps must not overlap (the verifier sees to it).
  std::vector<Tensor> take_ofmaps();

 private:
  // The input, an ofmap or a segment.
  struct Region {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };

  Region& region_of(std::int64_t address) {
    const Region& last = regions_[last_];
    return address >= last.begin && address < last.end ? regions_[last_] : find_region(address);
  }
  Region& find_region(std::int64_t address);

  const Program& program_;
  ZeroedBytes writable_;
  std::vector<Region> regions_;  // the input, the ofmaps, the segments; then what is in none
  std::size_t last_ = 0;         // the region of the last access
};

}  // namespace qsim
