#include "tests/rtl/leaf/axi4_memory.h"

namespace qsim::test {
namespace {

constexpr std::uint32_t kIncr = 1;
constexpr std::uint32_t kMaxLen = 63;
constexpr std::uint32_t kBoundaryBytes = 4096;

}  // namespace

Axi4Memory::Axi4Memory(const AxiMemoryOptions& options, std::size_t bytes, std::uint64_t seed)
    : options_(options),
      bytes_(bytes),
      random_(seed),
      stall_(options.stall),
      response_stall_(options.response_stall) {
  for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(random_());
  driven_.r_data.resize(options.bus_bytes);
}

void Axi4Memory::fail(const std::string& what) {
  if (breach_.empty()) breach_ = what;
}

const AxiSubordinate& Axi4Memory::drive(const AxiManager& manager) {
  driven_.ar_ready = !stalls();
  driven_.aw_ready = !stalls();
  driven_.w_ready = !stalls();
  if (options_.write_order == AxiWriteOrder::kAddressWaitsForData && write_beats_.empty()) {
    driven_.aw_ready = driven_.aw_ready && manager.w.valid;
  }
  if (options_.write_order == AxiWriteOrder::kDataWaitsForAddress && writes_.empty()) {
    driven_.w_ready = false;
  }
  // A valid that was not taken stays as it is.
  if (!(driven_.r_valid && !before_.r_ready)) drive_read();
  if (!(driven_.b_valid && !before_.b_ready)) {
    driven_.b_valid = !responses_.empty() && !response_stalls();
    driven_.b_resp = response_count_ == options_.error_at ? options_.b_resp : 0;
  }
  return driven_;
}

// Lanes that the beat does not use carry noise.
void Axi4Memory::drive_read() {
  driven_.r_valid = !reads_.empty() && !stalls();
  driven_.r_last = (random_() & 1) != 0;
  driven_.r_resp = 0;
  for (std::uint8_t& byte : driven_.r_data) byte = static_cast<std::uint8_t>(random_());
  if (!driven_.r_valid) return;
  const Burst& burst = reads_.front();
  const std::uint32_t beat_bytes = 1u << burst.address.size;
  const std::uint32_t addr = burst.address.addr + burst.beat * beat_bytes;
  for (std::uint32_t i = 0; i < beat_bytes; ++i) {
    driven_.r_data[(addr + i) % options_.bus_bytes] = bytes_[addr + i];
  }
  driven_.r_last = burst.beat == burst.address.len;
  driven_.r_resp = read_beats_ == options_.error_at ? options_.r_resp : 0;
}

void Axi4Memory::clock(const AxiManager& manager) {
  check_address(manager.ar, before_.ar, driven_before_.ar_ready, "AR");
  check_address(manager.aw, before_.aw, driven_before_.aw_ready, "AW");
  if (before_.w.valid && !driven_before_.w_ready && manager.w != before_.w) {
    fail("W changes while it waits");
  }
  if (driven_.r_valid && manager.r_ready) {
    ++read_beats_;
    if (reads_.front().beat++ == reads_.front().address.len) reads_.pop_front();
  }
  if (driven_.b_valid && manager.b_ready) {
    ++response_count_;
    answered_beats_ += responses_.front();
    responses_.pop_front();
  }
  if (manager.ar.valid && driven_.ar_ready) reads_.push_back({manager.ar});
  if (manager.aw.valid && driven_.aw_ready) writes_.push_back({manager.aw});
  if (manager.w.valid && driven_.w_ready) write_beats_.push_back(manager.w);
  address_bursts_ +=
      (manager.ar.valid && driven_.ar_ready) + (manager.aw.valid && driven_.aw_ready);
  take_write_beats();
  before_ = manager;
  driven_before_ = driven_;
}

void Axi4Memory::check_address(const AxiAddress& now, const AxiAddress& before, bool was_ready,
                               const char* channel) {
  const std::string name = channel;
  if (before.valid && !was_ready && now != before) fail(name + " changes while it waits");
  if (!now.valid) return;
  const std::uint32_t beat_bytes = 1u << now.size;
  const std::uint32_t end = now.addr + (now.len + 1) * beat_bytes;
  if (now.burst != kIncr) fail(name + " is not INCR");
  if (now.len > kMaxLen) fail(name + " has more than 64 beats");
  if (beat_bytes > options_.bus_bytes) fail(name + " has beats wider than the bus");
  if (now.addr % beat_bytes != 0) fail(name + " has an unaligned address");
  if (now.addr / kBoundaryBytes != (end - 1) / kBoundaryBytes) fail(name + " crosses 4 KiB");
  if (end > bytes_.size()) fail(name + " leaves the memory");
}

// Pairs the beats with their bursts as far as both have come.
void Axi4Memory::take_write_beats() {
  while (!writes_.empty() && !write_beats_.empty() && breach_.empty()) {
    check_write_beat(write_beats_.front());
    Burst& burst = writes_.front();
    const std::uint32_t addr = burst.address.addr + burst.beat * (1u << burst.address.size);
    for (std::uint32_t lane = 0; lane < options_.bus_bytes; ++lane) {
      if (!write_beats_.front().strobes[lane]) continue;
      bytes_[addr - addr % options_.bus_bytes + lane] = write_beats_.front().data[lane];
    }
    write_beats_.pop_front();
    if (burst.beat++ < burst.address.len) continue;
    responses_.push_back(burst.address.len + 1);
    writes_.pop_front();
  }
}

void Axi4Memory::check_write_beat(const AxiWriteBeat& now) {
  const Burst& burst = writes_.front();
  const std::uint32_t beat_bytes = 1u << burst.address.size;
  const std::uint32_t addr = burst.address.addr + burst.beat * beat_bytes;
  if (now.last != (burst.beat == burst.address.len)) fail("WLAST is wrong");
  for (std::uint32_t lane = 0; lane < options_.bus_bytes; ++lane) {
    const std::uint32_t first = addr % options_.bus_bytes;
    const bool expected = lane >= first && lane < first + beat_bytes;
    if (now.strobes[lane] != expected) fail("WSTRB is wrong");
  }
}

}  // namespace qsim::test
