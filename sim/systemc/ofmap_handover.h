// Which bytes of DRAM a run still needs, and for what: hands each ofmap over when its last STORE is
// done, and frees the memory of the input and of ofmaps when nothing reads them any more; bytes
// that several tensors share are freed after the last of these. It counts the LOADs and STOREs that
// are done; it knows no time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/machine/engine.h"

namespace qsim::sim {

class OfmapHandover {
 public:
  // DRAM is freed in chunks of this size, from address 0 on: the last LOAD that reads a plane's
  // first rows is long done when the last rows are read.
  static constexpr std::int64_t kChunkBytes = DramMemory::kReleaseBytes;

  // All three must outlive this object; `take` must not be empty. A STORE's origin says which
  // ofmap it writes. Throws InternalError when it names no layer, and for an ofmap outside the
  // writable area.
  OfmapHandover(const Program& program, DramMemory& dram, const TakeOfmap& take,
                std::int64_t chunk_bytes = kChunkBytes);

  // The next command of the LOAD or STORE stream has had its effect on memories. store_done()
  // throws what `take` throws.
  void load_done();
  void store_done();
  // The run is over: hands over what no STORE has written.
  void finish();

  double seconds() const { return seconds_; }  // spent in `take`

 private:
  // What happens when the first `commands` commands of a stream are done.
  struct Due {
    std::size_t commands;
    std::size_t what;
  };

  // Chunks [begin, end) that hold at least one byte of an ofmap, which is never empty.
  struct Chunks {
    std::size_t begin;
    std::size_t end;
  };

  std::size_t chunk_of(std::int64_t address) const {
    return static_cast<std::size_t>(address / chunk_bytes_);
  }
  Chunks chunks_of(const DramTensor& ofmap) const;
  void note_reads(const Load& load, std::size_t number, std::vector<std::size_t>& last_loads) const;
  void plan_hand_over();
  void plan_reads();
  void hand_over(std::size_t layer);
  void settle(std::size_t chunk);

  const Program& program_;
  DramMemory& dram_;
  const TakeOfmap& take_;
  std::int64_t chunk_bytes_;
  // By chunk, what must happen before it is dead: the hand-over of each ofmap in it, its last LOAD.
  std::vector<std::size_t> waits_;
  std::vector<Due> reads_end_;  // of chunks, by number of LOADs
  std::vector<Due> finished_;   // layers, by number of STOREs
  std::size_t loads_done_ = 0;
  std::size_t stores_done_ = 0;
  std::size_t next_end_ = 0;       // in reads_end_
  std::size_t next_finished_ = 0;  // in finished_
  double seconds_ = 0;
};

}  // namespace qsim::sim
