// The bytes of DRAM while a program runs: the program's constant segments, seen in place, and a
// writable area for input and ofmaps, which may share bytes. No timing; that is
// core/machine/dram_channel.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/zeroed_bytes.h"
#include "core/machine/program.h"

namespace qsim {

// Takes the finished ofmap of program layer `layer`: the bytes of its region of DRAM, in the layout
// of program.layers[layer].ofmap (core/machine/dram_layout.h). They are there during the call
// alone. What it throws ends the run and comes out of Engine::run.
using TakeOfmap = std::function<void(std::size_t layer, std::span<const std::byte> dram)>;

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
  // The same for writing: only the writable area, and the input only where an ofmap shares its
  // bytes.
  std::span<std::byte> write(std::int64_t address, std::int64_t count);

  // read() and write() for a LOAD and a STORE: they are counted. Where ofmaps share bytes, STOREs
  // come in the order of their stream, all bytes of each: so the first byte of a layer is known,
  // and an ofmap that it overwrites is kept, or handed over, just before.
  std::span<const std::byte> load(std::int64_t address, std::int64_t count) {
    region_of(address).read += static_cast<std::uint64_t>(count);
    return read(address, count);
  }
  std::span<std::byte> store(std::int64_t address, std::int64_t count) {
    if (!turns_.empty()) note_store(count);
    region_of(address).written += static_cast<std::uint64_t>(count);
    return write(address, count);
  }
  DramTraffic traffic() const;

  // What becomes of an ofmap that is overwritten, in place of being kept for ofmaps(): nothing,
  // where the engine hands ofmaps over by itself, or it is handed over to `take`, which must
  // outlive this object.
  void drop_overwritten() { fate_ = Fate::kDrop; }
  void hand_over_overwritten(const TakeOfmap& take) {
    fate_ = Fate::kHandOver;
    take_ = &take;
  }
  // Whether another ofmap has taken the place of this one.
  bool is_overwritten(std::size_t layer) const { return regions_[layer + 1].is_overwritten; }

  // The bytes in one program layer's region now.
  std::span<const std::byte> ofmap(std::size_t layer) const;
  // Drops the whole pages in bytes [begin, end) of the writable area, which nothing reads any more
  // (core/base/page_release.h).
  void release(std::int64_t begin, std::int64_t end);

  // Every program layer's ofmap, NHWC in its own dtype: as it was when it was overwritten, or else
  // as it is in DRAM now.
  std::vector<Tensor> ofmaps() const;
  // The same at the end of a run, when nothing is read from here any more: the memory of each ofmap
  // is freed when it has been unpacked.
  std::vector<Tensor> take_ofmaps();

 private:
  // The input, an ofmap or a segment.
  struct Region {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    bool is_overwritten = false;

    bool has(std::int64_t address) const {
      return address >= begin && address < end && !is_overwritten;
    }
    bool overlaps(const Region& other) const { return begin < other.end && other.begin < end; }
  };
  // Successive STOREs of one layer, and the bytes that are stored when the last of them is done.
  struct Turn {
    std::size_t layer;
    std::uint64_t end_bytes;
  };
  enum class Fate : std::uint8_t { kKeep, kDrop, kHandOver };

  Region& region_of(std::int64_t address) {
    return regions_[last_].has(address) ? regions_[last_] : find_region(address);
  }
  Region& find_region(std::int64_t address);
  // The segment of the last address at or before this one; segments.size() where there is none.
  std::size_t segment_of(std::int64_t address) const;
  bool tensors_overlap() const;
  void plan_turns();
  void note_store(std::int64_t count);
  void begin_turn(std::size_t layer);

  const Program& program_;
  ZeroedBytes writable_;
  std::vector<Region> regions_;  // the input, the ofmaps, the segments; then what is in none
  std::size_t last_ = 0;         // the region of the last access
  std::vector<Turn> turns_;      // empty where no two tensors share bytes
  std::size_t next_turn_ = 0;
  std::uint64_t stored_bytes_ = 0;
  Fate fate_ = Fate::kKeep;
  const TakeOfmap* take_ = nullptr;
  std::vector<std::optional<Tensor>> kept_;  // by layer: of those that were overwritten
};

}  // namespace qsim
