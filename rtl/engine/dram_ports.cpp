#include "rtl/engine/dram_ports.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace qsim::rtl {
namespace {

// What lies beyond a region's end; only the unused end of a run's last beat may read it.
constexpr int kNoByte = 0xEE;

std::string burst_text(const char* port, std::uint64_t address, std::uint64_t beats,
                       std::uint64_t size, std::uint64_t cycle) {
  return std::string(port) + " burst in cycle " + std::to_string(cycle) + " at " +
         std::to_string(address) + ", " + std::to_string(beats) + " beats of 2^" +
         std::to_string(size) + " bytes";
}

void check_burst(const char* port, const ArchConfig& arch, std::uint32_t address,
                 std::uint32_t beats, std::uint32_t size, std::uint64_t cycle) {
  QSIM_CHECK(beats >= 1 && beats <= static_cast<std::uint64_t>(arch.burst_beats) &&
                 (std::uint64_t{1} << size) <= static_cast<std::uint64_t>(arch.bus_bytes),
             burst_text(port, address, beats, size, cycle) + ": allowed are 1 to " +
                 std::to_string(arch.burst_beats) + " beats of at most " +
                 std::to_string(arch.bus_bytes) + " bytes");
}

// Bytes [address, address + count), cut at the end of the region that holds the first.
std::span<const std::byte> readable(const Program& program, const DramMemory& dram,
                                    std::int64_t address, std::int64_t count) {
  std::int64_t end = program.writable_bytes;
  if (address >= end) {
    const auto next = std::upper_bound(
        program.segments.begin(), program.segments.end(), address,
        [](std::int64_t a, const DramSegment& segment) { return a < segment.address; });
    if (next != program.segments.begin()) {
      end = (next - 1)->address + static_cast<std::int64_t>((next - 1)->bytes.size());
    }
  }
  return dram.read(address, std::max<std::int64_t>(1, std::min(count, end - address)));
}

std::optional<Random> random_of(DramSeed seed, std::uint64_t salt) {
  if (!seed) return std::nullopt;
  return Random(*seed * 2 + salt);
}

// Mostly none, at times a few cycles, seldom many.
std::uint64_t random_delay(Random& random, std::int64_t many) {
  if (random.chance(0.75)) return 0;
  return static_cast<std::uint64_t>(random.uniform(1, random.chance(0.9) ? 5 : many));
}

}  // namespace

ReadPort::ReadPort(const RtlPorts& ports, const Program& program, const DramMemory& dram,
                   DramSeed seed)
    : ports_(ports),
      program_(program),
      dram_(dram),
      channel_(program.arch),
      random_(random_of(seed, 0)),
      ring_(static_cast<std::size_t>(program.arch.outstanding_bursts)) {}

bool ReadPort::random_ready() { return open_ < ring_.size() && random_->chance(0.5); }

void ReadPort::accept(std::uint64_t cycle) {
  const std::uint32_t address = *ports_.read_request_addr_o;
  const std::uint32_t beats = *ports_.read_request_beats_o;
  const std::uint32_t size = *ports_.read_request_size_o;
  check_burst("read", program_.arch, address, beats, size, cycle);
  QSIM_CHECK(open_ < ring_.size(), burst_text("read", address, beats, size, cycle) +
                                       ": more bursts are open than the core has places");
  Burst& burst = ring_[(oldest_ + open_) % ring_.size()];
  const std::span<const std::byte> bytes =
      readable(program_, dram_, address, std::int64_t{beats} << size);
  burst = {bytes.data(), bytes.size(), beats, std::size_t{1} << size, 0};
  if (random_) {
    const std::int64_t latency = program_.arch.dram_latency_cycles;
    burst.first_beat_cycle = cycle + static_cast<std::uint64_t>(random_->uniform(1, 2 * latency));
  } else {
    burst.first_beat_cycle = channel_.issue(cycle, beats) - beats;
    ready_cycle_ = channel_.earliest_issue();
  }
  if (open_++ == 0) beat_cycle_ = burst.first_beat_cycle;
  ++bursts_;
}

void ReadPort::deliver(std::uint64_t cycle) {
  Burst& burst = ring_[oldest_];
  const std::size_t count = std::min(burst.beat_bytes, burst.available);
  if (count < burst.beat_bytes) std::memset(ports_.read_data_i, kNoByte, burst.beat_bytes);
  std::memcpy(ports_.read_data_i, burst.bytes, count);
  burst.bytes += count;
  burst.available -= count;
  beat_cycle_ = cycle + 1;
  if (random_) beat_cycle_ += random_delay(*random_, 3 * program_.arch.dram_latency_cycles);
  if (--burst.beats > 0) return;
  if (++oldest_ == ring_.size()) oldest_ = 0;
  if (--open_ == 0) {
    beat_cycle_ = kNever;
  } else {
    beat_cycle_ = std::max(beat_cycle_, ring_[oldest_].first_beat_cycle);
  }
}

WritePort::WritePort(const RtlPorts& ports, const Program& program, DramMemory& dram, DramSeed seed)
    : ports_(ports),
      program_(program),
      dram_(dram),
      channel_(program.arch),
      random_(random_of(seed, 1)),
      burst_bytes_(static_cast<std::size_t>(program.arch.burst_beats * program.arch.bus_bytes)),
      ring_(static_cast<std::size_t>(program.arch.outstanding_bursts)),
      bytes_(ring_.size() * burst_bytes_) {}

// Beats follow an issue without a gap, so that the next one must wait until they have streamed.
bool WritePort::random_ready(std::uint64_t cycle) {
  return cycle >= ready_cycle_ && open_ < ring_.size() && random_->chance(0.5);
}

void WritePort::accept(std::uint64_t cycle) {
  const std::uint32_t address = *ports_.write_request_addr_o;
  const std::uint32_t beats = *ports_.write_request_beats_o;
  const std::uint32_t size = *ports_.write_request_size_o;
  check_burst("write", program_.arch, address, beats, size, cycle);
  QSIM_CHECK(open_ < ring_.size(), burst_text("write", address, beats, size, cycle) +
                                       ": more bursts are open than the core has places");
  Burst& burst = ring_[(oldest_ + open_) % ring_.size()];
  burst = {address, beats, 0, std::size_t{1} << size, kNever};
  if (random_) {
    ready_cycle_ = cycle + beats;
  } else {
    burst.response_cycle = channel_.issue(cycle, beats) - 1;
    ready_cycle_ = channel_.earliest_issue();
  }
  if (open_++ == 0) response_cycle_ = burst.response_cycle;
  ++bursts_;
}

void WritePort::take_beat(std::uint64_t cycle) {
  Burst& burst = ring_[streaming_];
  QSIM_CHECK(open_ > 0 && burst.beats_taken < burst.beats,
             "a write beat in cycle " + std::to_string(cycle) + " belongs to no burst");
  std::memcpy(bytes_of(streaming_) + burst.beats_taken * burst.beat_bytes, ports_.write_data_o,
              burst.beat_bytes);
  if (++burst.beats_taken < burst.beats) return;
  if (random_) {
    const std::int64_t latency = program_.arch.dram_latency_cycles;
    burst.response_cycle =
        std::max(last_response_cycle_ + 1,
                 cycle + static_cast<std::uint64_t>(random_->uniform(0, 2 * latency)));
    last_response_cycle_ = burst.response_cycle;
    if (streaming_ == oldest_) response_cycle_ = burst.response_cycle;
  }
  if (++streaming_ == ring_.size()) streaming_ = 0;
}

void WritePort::respond() {
  const Burst& burst = ring_[oldest_];
  QSIM_CHECK(burst.beats_taken == burst.beats,
             "the write burst at " + std::to_string(burst.address) + " has sent " +
                 std::to_string(burst.beats_taken) + " of its " + std::to_string(burst.beats) +
                 " beats when its response is due");
  const std::size_t count = burst.beats * burst.beat_bytes;
  const std::span<std::byte> target = dram_.store(burst.address, static_cast<std::int64_t>(count));
  std::memcpy(target.data(), bytes_of(oldest_), count);
  if (++oldest_ == ring_.size()) oldest_ = 0;
  response_cycle_ = --open_ == 0 ? kNever : ring_[oldest_].response_cycle;
}

}  // namespace qsim::rtl
