// The core's side of the DRAM port, for tests of what is between it and a memory: random read
// and write bursts as docs/reference/rtl.md allows them, and a check of every answer. Reads stay in
// the lower half of the memory, writes in the upper half, so that their order does not matter.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace qsim::test {

struct CoreBurst {
  std::uint32_t addr = 0;
  std::uint32_t beats = 0;
  std::uint32_t size = 0;
};

// What each side drives in a cycle.
struct CoreOutputs {
  bool read_valid = false;
  CoreBurst read;
  bool write_valid = false;
  CoreBurst write;
  bool write_data_valid = false;
  std::vector<std::uint8_t> write_data;
};

struct CoreInputs {
  bool read_ready = false;
  bool read_data_valid = false;
  std::vector<std::uint8_t> read_data;
  bool write_ready = false;
  bool write_done = false;
  bool operator==(const CoreInputs&) const = default;
};

struct CoreTrafficOptions {
  std::uint32_t bus_bytes = 16;
  std::uint32_t max_beats = 64;
  int bursts = 100;          // of each kind
  double pause = 0;          // probability of a cycle without a request
  bool full_bursts = false;  // longest bursts of full beats, aligned to their size
};

class CoreTraffic {
 public:
  // `memory` is what the memory holds at the beginning.
  CoreTraffic(const CoreTrafficOptions& options, std::vector<std::uint8_t> memory,
              std::uint64_t seed);

  const CoreOutputs& drive();
  // The clock edge at the end of the cycle; `answered_beats` of the writes have been answered
  // before this cycle's edge, which is when `write_done` must have been raised for them.
  void clock(const CoreInputs& inputs, std::uint64_t answered_beats);

  bool finished() const;
  // What the memory must hold once finished.
  const std::vector<std::uint8_t>& expected() const { return memory_; }
  std::uint64_t read_beats() const { return read_beats_; }
  std::uint64_t written_beats() const { return written_beats_; }
  const std::string& breach() const { return breach_; }

 private:
  CoreBurst random_burst(std::uint32_t first_byte, std::uint32_t bytes);
  void take_read_beat(const std::vector<std::uint8_t>& data);
  void drive_write_data();
  void check_done(bool done, std::uint64_t answered_beats);
  void fail(const std::string& what);

  CoreTrafficOptions options_;
  std::vector<std::uint8_t> memory_;
  std::mt19937_64 random_;
  std::bernoulli_distribution pause_;
  CoreOutputs driven_;
  int reads_left_ = 0;
  int writes_left_ = 0;
  std::deque<CoreBurst> open_reads_;
  CoreBurst streaming_;  // the write burst whose beats are under way; `beats` still to send
  std::deque<std::uint64_t> write_ends_;  // written beats at the end of each burst without a done
  std::uint64_t granted_beats_ = 0;
  std::uint64_t read_beats_ = 0;
  std::uint64_t written_beats_ = 0;
  std::string breach_;
};

}  // namespace qsim::test
