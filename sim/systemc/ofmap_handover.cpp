#include "sim/systemc/ofmap_handover.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "core/base/checked_math.h"

namespace qsim::sim {
namespace {

constexpr std::size_t kNoCommand = std::numeric_limits<std::size_t>::max();

}  // namespace

OfmapHandover::OfmapHandover(const Program& program, DramMemory& dram, const TakeOfmap& take,
                             std::int64_t chunk_bytes)
    : program_(program),
      dram_(dram),
      take_(take),
      chunk_bytes_(chunk_bytes),
      waits_(static_cast<std::size_t>(ceil_div(program.writable_bytes, chunk_bytes))) {
  dram.drop_overwritten();
  plan_hand_over();
  plan_reads();
}

OfmapHandover::Chunks OfmapHandover::chunks_of(const DramTensor& ofmap) const {
  return {chunk_of(ofmap.address), chunk_of(ofmap.address + ofmap.size_bytes() - 1) + 1};
}

void OfmapHandover::plan_hand_over() {
  for (std::size_t layer = 0; layer < program_.layers.size(); ++layer) {
    finished_.push_back({kNoCommand, layer});
    const DramTensor& ofmap = program_.layers[layer].ofmap;
    QSIM_CHECK(ofmap.address >= 0 && ofmap.address + ofmap.size_bytes() <= program_.writable_bytes,
               "the ofmap of layer " + std::to_string(layer) + " leaves the writable area");
    const Chunks chunks = chunks_of(ofmap);
    for (std::size_t chunk = chunks.begin; chunk < chunks.end; ++chunk) ++waits_[chunk];
  }
  std::size_t number = 0;
  for (const Instruction& store : program_.stream(Unit::kStore)) {
    const auto layer = static_cast<std::size_t>(store.origin.layer);
    QSIM_CHECK(layer < finished_.size(),
               "STORE " + std::to_string(number) + " is of no layer of the program");
    finished_[layer].commands = ++number;
  }
  std::ranges::sort(finished_, {}, &Due::commands);
}

// Notes in `last_loads`, by chunk, that LOAD `number` reads `load`'s bytes. A group counts as one
// range from its first run to its last: what lies between runs may so live longer, never shorter.
void OfmapHandover::note_reads(const Load& load, std::size_t number,
                               std::vector<std::size_t>& last_loads) const {
  if (load.runs == 0 || load.run_bytes == 0) return;
  const std::int64_t reach =
      std::int64_t{load.runs - 1} * load.run_stride + std::int64_t{load.run_bytes} - 1;
  std::int64_t first = load.dram_addr;
  for (std::uint32_t g = 0; g < load.groups; ++g, first += load.group_stride) {
    const std::size_t end = std::min(chunk_of(first + reach) + 1, last_loads.size());
    for (std::size_t chunk = chunk_of(first); chunk < end; ++chunk) last_loads[chunk] = number;
  }
}

void OfmapHandover::plan_reads() {
  std::vector<std::size_t> last_loads(waits_.size());  // 0: none
  std::size_t number = 0;
  for (const Instruction& load : program_.stream(Unit::kLoad)) {
    note_reads(std::get<Load>(load.command.fields), ++number, last_loads);
  }
  for (std::size_t chunk = 0; chunk < waits_.size(); ++chunk) {
    if (last_loads[chunk] == 0) continue;
    reads_end_.push_back({last_loads[chunk], chunk});
    ++waits_[chunk];
  }
  std::ranges::sort(reads_end_, {}, &Due::commands);
}

void OfmapHandover::load_done() {
  ++loads_done_;
  while (next_end_ < reads_end_.size() && reads_end_[next_end_].commands <= loads_done_) {
    settle(reads_end_[next_end_++].what);
  }
}

void OfmapHandover::store_done() {
  ++stores_done_;
  while (next_finished_ < finished_.size() && finished_[next_finished_].commands <= stores_done_) {
    hand_over(finished_[next_finished_++].what);
  }
}

void OfmapHandover::finish() {
  while (next_finished_ < finished_.size()) hand_over(finished_[next_finished_++].what);
}

void OfmapHandover::hand_over(std::size_t layer) {
  const auto begin = std::chrono::steady_clock::now();
  take_(layer, dram_.ofmap(layer));
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Chunks chunks = chunks_of(program_.layers[layer].ofmap);
  for (std::size_t chunk = chunks.begin; chunk < chunks.end; ++chunk) settle(chunk);
}

// One of the things that `chunk` waits for has happened.
void OfmapHandover::settle(std::size_t chunk) {
  if (--waits_[chunk] > 0) return;
  // With its neighbours that are dead too: a page on the border is freed with the later of the two.
  const auto is_dead = [this](std::size_t other) {
    return other < waits_.size() && waits_[other] == 0;
  };
  const auto first = static_cast<std::int64_t>(is_dead(chunk - 1) ? chunk - 1 : chunk);
  const auto last = static_cast<std::int64_t>(is_dead(chunk + 1) ? chunk + 1 : chunk);
  dram_.release(first * chunk_bytes_, std::min((last + 1) * chunk_bytes_, program_.writable_bytes));
}

}  // namespace qsim::sim
