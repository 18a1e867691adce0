// A memory behind an AXI4 subordinate port with a single ID, for tests: random stalls on all five
// channels, and a check of everything that the manager does. It knows nothing of the shim.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace qsim::test {

struct AxiAddress {
  bool valid = false;
  std::uint32_t addr = 0;
  std::uint32_t len = 0;  // beats - 1
  std::uint32_t size = 0;
  std::uint32_t burst = 0;
  bool operator==(const AxiAddress&) const = default;
};

struct AxiWriteBeat {
  bool valid = false;
  bool last = false;
  std::vector<std::uint8_t> data;
  std::vector<bool> strobes;
  bool operator==(const AxiWriteBeat&) const = default;
};

// What each side drives in a cycle.
struct AxiManager {
  AxiAddress ar;
  AxiAddress aw;
  AxiWriteBeat w;
  bool r_ready = false;
  bool b_ready = false;
  bool operator==(const AxiManager&) const = default;
};

struct AxiSubordinate {
  bool ar_ready = false;
  bool aw_ready = false;
  bool w_ready = false;
  bool r_valid = false;
  bool r_last = false;
  std::uint32_t r_resp = 0;
  std::vector<std::uint8_t> r_data;
  bool b_valid = false;
  std::uint32_t b_resp = 0;
};

// Which of the orders that AXI leaves to the subordinate this one takes.
enum class AxiWriteOrder { kAny, kAddressWaitsForData, kDataWaitsForAddress };

struct AxiMemoryOptions {
  std::uint32_t bus_bytes = 16;
  double stall = 0;           // probability of each channel to stall in a cycle
  double response_stall = 0;  // that of B, where it is more
  AxiWriteOrder write_order = AxiWriteOrder::kAny;
  std::uint32_t r_resp = 0;  // of the read beat and the response numbered below
  std::uint32_t b_resp = 0;
  std::uint64_t error_at = UINT64_MAX;
};

class Axi4Memory {
 public:
  Axi4Memory(const AxiMemoryOptions& options, std::size_t bytes, std::uint64_t seed);

  // This cycle's signals, given what the manager drives in it.
  const AxiSubordinate& drive(const AxiManager& manager);
  // The clock edge at the end of the cycle.
  void clock(const AxiManager& manager);

  std::vector<std::uint8_t>& bytes() { return bytes_; }
  // Beats of write bursts whose response has been taken.
  std::uint64_t answered_beats() const { return answered_beats_; }
  std::uint64_t address_bursts() const { return address_bursts_; }
  // The first breach of the protocol, or "".
  const std::string& breach() const { return breach_; }

 private:
  struct Burst {
    AxiAddress address;
    std::uint32_t beat = 0;
  };

  void check_address(const AxiAddress& now, const AxiAddress& before, bool was_ready,
                     const char* channel);
  void check_write_beat(const AxiWriteBeat& now);
  void take_write_beats();
  void drive_read();
  void fail(const std::string& what);
  bool stalls() { return stall_(random_); }
  bool response_stalls() { return stalls() || response_stall_(random_); }

  AxiMemoryOptions options_;
  std::vector<std::uint8_t> bytes_;
  std::mt19937_64 random_;
  std::bernoulli_distribution stall_;
  std::bernoulli_distribution response_stall_;
  AxiSubordinate driven_;
  AxiManager before_;  // the manager's signals and our readies of the cycle before
  AxiSubordinate driven_before_;
  std::deque<Burst> reads_;
  std::deque<Burst> writes_;
  std::deque<AxiWriteBeat> write_beats_;
  std::deque<std::uint32_t> responses_;  // beats of each written burst
  std::uint64_t read_beats_ = 0;
  std::uint64_t response_count_ = 0;
  std::uint64_t answered_beats_ = 0;
  std::uint64_t address_bursts_ = 0;
  std::string breach_;
};

}  // namespace qsim::test
