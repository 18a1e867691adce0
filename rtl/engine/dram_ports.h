// The memory at the core's DRAM port: bytes of a DramMemory, at the cycles of
// core/machine/dram_channel.h or, for tests, with random delays everywhere. Called once a cycle;
// what the calls cost is most of what the harness costs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/machine/dram_channel.h"
#include "core/machine/dram_memory.h"
#include "rtl/engine/core_abi.h"

namespace qsim::rtl {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// Random ready, latency, gaps between read beats, and delay of write responses, from a seed. The
// core's rules are kept: beats in order, responses in order, no more bursts open than it has
// places.
using DramSeed = std::optional<std::uint64_t>;

// Bursts that the core reads.
class ReadPort {
 public:
  ReadPort(const RtlPorts& ports, const Program& program, const DramMemory& dram, DramSeed seed);

  // Sets the inputs of cycle `cycle` and takes a request of that cycle. Throws InternalError for a
  // burst that breaks the port's rules or lies outside every region.
  void drive(std::uint64_t cycle) {
    const bool ready = random_ ? random_ready() : cycle >= ready_cycle_;
    *ports_.read_request_ready_i = ready;
    if (ready && *ports_.read_request_valid_o != 0) accept(cycle);
    const bool beat = cycle >= beat_cycle_;
    *ports_.read_data_valid_i = beat;
    if (beat) deliver(cycle);
  }

  std::uint64_t bursts() const { return bursts_; }  // accepted so far
  std::size_t open_bursts() const { return open_; }

 private:
  struct Burst {
    const std::byte* bytes = nullptr;
    std::size_t available = 0;  // bytes from there to the end of their region
    std::size_t beats = 0;      // still to come
    std::size_t beat_bytes = 0;
    std::uint64_t first_beat_cycle = 0;
  };

  bool random_ready();
  void accept(std::uint64_t cycle);
  void deliver(std::uint64_t cycle);

  const RtlPorts& ports_;
  const Program& program_;
  const DramMemory& dram_;
  DramChannel channel_;
  std::optional<Random> random_;
  std::uint64_t ready_cycle_ = 0;
  std::uint64_t beat_cycle_ = kNever;  // of the next beat
  std::vector<Burst> ring_;
  std::size_t oldest_ = 0;
  std::size_t open_ = 0;
  std::uint64_t bursts_ = 0;
};

// Bursts that the core writes. Their bytes reach the memory with the response.
class WritePort {
 public:
  WritePort(const RtlPorts& ports, const Program& program, DramMemory& dram, DramSeed seed);

  // As ReadPort::drive().
  void drive(std::uint64_t cycle) {
    const bool ready = random_ ? random_ready(cycle) : cycle >= ready_cycle_;
    *ports_.write_request_ready_i = ready;
    if (*ports_.write_data_valid_o != 0) take_beat(cycle);
    if (ready && *ports_.write_request_valid_o != 0) accept(cycle);
    const bool done = cycle >= response_cycle_;
    *ports_.write_done_i = done;
    if (done) respond();
  }

  std::uint64_t bursts() const { return bursts_; }
  std::size_t open_bursts() const { return open_; }

 private:
  struct Burst {
    std::int64_t address = 0;
    std::size_t beats = 0;
    std::size_t beats_taken = 0;
    std::size_t beat_bytes = 0;
    std::uint64_t response_cycle = kNever;
  };

  bool random_ready(std::uint64_t cycle);
  void accept(std::uint64_t cycle);
  void take_beat(std::uint64_t cycle);
  void respond();
  std::byte* bytes_of(std::size_t burst) { return bytes_.data() + burst * burst_bytes_; }

  const RtlPorts& ports_;
  const Program& program_;
  DramMemory& dram_;
  DramChannel channel_;
  std::optional<Random> random_;
  std::uint64_t ready_cycle_ = 0;
  std::uint64_t response_cycle_ = kNever;  // of the oldest burst
  std::uint64_t last_response_cycle_ = 0;  // the latest given to a burst
  std::size_t burst_bytes_;                // room of one
  std::vector<Burst> ring_;
  std::vector<std::byte> bytes_;  // of the bursts of the ring
  std::size_t oldest_ = 0;
  std::size_t open_ = 0;
  std::size_t streaming_ = 0;  // the burst that the next beat belongs to
  std::uint64_t bursts_ = 0;
};

}  // namespace qsim::rtl
