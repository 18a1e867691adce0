#include "tests/rtl/leaf/core_traffic.h"

#include <bit>

namespace qsim::test {

CoreTraffic::CoreTraffic(const CoreTrafficOptions& options, std::vector<std::uint8_t> memory,
                         std::uint64_t seed)
    : options_(options),
      memory_(std::move(memory)),
      random_(seed),
      pause_(options.pause),
      reads_left_(options.bursts),
      writes_left_(options.bursts) {
  driven_.write_data.resize(options.bus_bytes);
}

void CoreTraffic::fail(const std::string& what) {
  if (breach_.empty()) breach_ = what;
}

CoreBurst CoreTraffic::random_burst(std::uint32_t first_byte, std::uint32_t bytes) {
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::uint32_t>(random_() % limit);
  };
  const auto bus_size = static_cast<std::uint32_t>(std::countr_zero(options_.bus_bytes));
  CoreBurst burst;
  burst.size = options_.full_bursts ? bus_size : below(bus_size + 1);
  burst.beats = options_.full_bursts ? options_.max_beats : 1 + below(options_.max_beats);
  const std::uint32_t burst_bytes = burst.beats << burst.size;
  const std::uint32_t step = options_.full_bursts ? burst_bytes : 1u << burst.size;
  burst.addr = first_byte + below((bytes - burst_bytes) / step + 1) * step;
  return burst;
}

const CoreOutputs& CoreTraffic::drive() {
  const auto half = static_cast<std::uint32_t>(memory_.size() / 2);
  if (!driven_.read_valid && reads_left_ > 0 && !pause_(random_)) {
    driven_.read_valid = true;
    driven_.read = random_burst(0, half);
  }
  // A burst is issued, at the earliest, in the cycle of the last beat of the one before.
  if (!driven_.write_valid && writes_left_ > 0 && streaming_.beats <= 1 && !pause_(random_)) {
    driven_.write_valid = true;
    driven_.write = random_burst(half, half);
  }
  drive_write_data();
  return driven_;
}

// The next beat of the burst under way, in the low bytes; noise in the others.
void CoreTraffic::drive_write_data() {
  for (std::uint8_t& byte : driven_.write_data) byte = static_cast<std::uint8_t>(random_());
  driven_.write_data_valid = streaming_.beats > 0;
  if (!driven_.write_data_valid) return;
  const std::uint32_t beat_bytes = 1u << streaming_.size;
  for (std::uint32_t i = 0; i < beat_bytes; ++i) {
    memory_[streaming_.addr + i] = driven_.write_data[i];
  }
  streaming_.addr += beat_bytes;
  --streaming_.beats;
  ++written_beats_;
}

void CoreTraffic::clock(const CoreInputs& inputs, std::uint64_t answered_beats) {
  if (inputs.read_data_valid) take_read_beat(inputs.read_data);
  check_done(inputs.write_done, answered_beats);
  if (driven_.read_valid && inputs.read_ready) {
    driven_.read_valid = false;
    --reads_left_;
    open_reads_.push_back(driven_.read);
  }
  if (driven_.write_valid && inputs.write_ready) {
    driven_.write_valid = false;
    --writes_left_;
    streaming_ = driven_.write;
    granted_beats_ += driven_.write.beats;
    write_ends_.push_back(granted_beats_);
  }
}

void CoreTraffic::check_done(bool done, std::uint64_t answered_beats) {
  const bool expected = !write_ends_.empty() && answered_beats >= write_ends_.front();
  if (done && !expected) fail("write_done before the burst's last response");
  if (!done && expected) fail("no write_done in the cycle after the burst's last response");
  if (expected) write_ends_.pop_front();
}

void CoreTraffic::take_read_beat(const std::vector<std::uint8_t>& data) {
  if (open_reads_.empty()) return fail("a read beat that nothing asked for");
  CoreBurst& burst = open_reads_.front();
  const std::uint32_t beat_bytes = 1u << burst.size;
  for (std::uint32_t i = 0; i < beat_bytes; ++i) {
    if (data[i] != memory_[burst.addr + i]) fail("a read beat has a wrong byte");
  }
  burst.addr += beat_bytes;
  ++read_beats_;
  if (--burst.beats == 0) open_reads_.pop_front();
}

bool CoreTraffic::finished() const {
  return reads_left_ == 0 && writes_left_ == 0 && open_reads_.empty() && streaming_.beats == 0 &&
         write_ends_.empty() && !driven_.read_valid && !driven_.write_valid;
}

}  // namespace qsim::test
