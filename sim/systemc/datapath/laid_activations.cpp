#include "sim/systemc/datapath/laid_activations.h"

#include <algorithm>

namespace qsim::sim {
namespace {

// A tile's reduction in as many pieces as EXECUTEs of one column block read. Beyond them the one
// that was used longest ago is dropped.
constexpr std::size_t kMaxEntries = 32;
// 8 MB: three kernel columns' copies of a slot of the largest shipped configuration are 6 MB.
constexpr std::size_t kMaxLanes = std::size_t{2} << 20;

}  // namespace

std::uint32_t* LaneBuffer::reserve(std::size_t lanes) {
  const std::size_t needed = lanes / kLineLanes + 1;
  if (needed > capacity_) {
    lines_.reset(new Line[needed]);
    capacity_ = needed;
  }
  return lines_[0].lanes;
}

Execute reading_of(const Execute& execute) {
  Execute reading = execute;
  reading.weight_addr = 0;
  reading.acc_half = 0;
  reading.acc_addr = 0;
  reading.accumulate = 0;
  reading.dataflow = 0;
  reading.blocks = 0;
  return reading;
}

LaidActivations* LaidActivationsCache::find(const Execute& reading) {
  const auto fits = [&](const LaidActivations& entry) {
    // The address first: entries mostly differ there.
    return entry.valid && entry.reading.act_addr == reading.act_addr && entry.reading == reading;
  };
  // A tile's column blocks read the pieces of its reduction in the same order again and again.
  if (++found_ >= entries_.size() || !fits(entries_[found_])) {
    const auto entry = std::ranges::find_if(entries_, fits);
    if (entry == entries_.end()) return nullptr;
    found_ = static_cast<std::size_t>(entry - entries_.begin());
  }
  entries_[found_].last_use = ++uses_;
  return &entries_[found_];
}

LaidActivations& LaidActivationsCache::begin(const Execute& reading) {
  LaidActivations& entry = unused();
  entry.valid = false;
  entry.reading = reading;
  entry.fold_offsets.clear();
  entry.last_use = ++uses_;
  return entry;
}

// The first that is not valid, so that where nothing is read twice the same storage stays in the
// processor's cache.
LaidActivations& LaidActivationsCache::unused() {
  std::size_t lanes = 0;
  for (const LaidActivations& entry : entries_) lanes += entry.lanes.capacity();
  if (lanes > kMaxLanes) entries_.clear();
  const auto invalid = std::find_if(entries_.begin(), entries_.end(),
                                    [](const LaidActivations& entry) { return !entry.valid; });
  if (invalid != entries_.end()) return *invalid;
  if (entries_.size() < kMaxEntries) return entries_.emplace_back();
  return *std::min_element(
      entries_.begin(), entries_.end(),
      [](const LaidActivations& a, const LaidActivations& b) { return a.last_use < b.last_use; });
}

void LaidActivationsCache::drop(std::int64_t first, std::int64_t end) {
  for (LaidActivations& entry : entries_) {
    if (entry.first_word < end && first < entry.end_word) entry.valid = false;
  }
}

}  // namespace qsim::sim
