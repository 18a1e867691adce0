#include "core/machine/dram_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/page_release.h"

namespace qsim {

DramMemory::DramMemory(const Program& program, const Tensor& input)
    : program_(program), writable_(static_cast<std::size_t>(program.writable_bytes)) {
  const DramTensor& tensor = program.input.tensor;
  pack_input(program.input, input,
             writable_.bytes().subspan(static_cast<std::size_t>(tensor.address),
                                       static_cast<std::size_t>(tensor.size_bytes())));
  regions_.push_back({tensor.address, tensor.address + tensor.size_bytes()});
  for (const ProgramLayer& layer : program.layers) {
    regions_.push_back({layer.ofmap.address, layer.ofmap.address + layer.ofmap.size_bytes()});
  }
  for (const DramSegment& segment : program.segments) {
    regions_.push_back({segment.address, segment.address + std::ssize(segment.bytes)});
  }
  regions_.push_back({});
  kept_.resize(program.layers.size());
  if (tensors_overlap()) plan_turns();
}

// The regions of input and ofmaps, from the one with the lowest address on.
bool DramMemory::tensors_overlap() const {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::size_t r = 0; r <= program_.layers.size(); ++r) {
    ranges.emplace_back(regions_[r].begin, regions_[r].end);
  }
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return true;
  }
  return false;
}

void DramMemory::plan_turns() {
  const CommandStream stores = program_.stream(Unit::kStore);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const auto layer = static_cast<std::size_t>(stores.origin(i).layer);
    QSIM_CHECK(layer < program_.layers.size(),
               "STORE " + std::to_string(i) + " is of no layer of the program");
    const auto store = stores.fields<Store>(i);
    bytes += std::uint64_t{store.groups} * store.runs * store.run_bytes;
    if (turns_.empty() || turns_.back().layer != layer) turns_.push_back({layer, 0});
    turns_.back().end_bytes = bytes;
  }
}

void DramMemory::note_store(std::int64_t count) {
  while (next_turn_ < turns_.size() &&
         (next_turn_ == 0 || stored_bytes_ >= turns_[next_turn_ - 1].end_bytes)) {
    begin_turn(turns_[next_turn_++].layer);
  }
  stored_bytes_ += static_cast<std::uint64_t>(count);
}

// A layer's first STORE: what it will overwrite is finished, and read for the last time.
void DramMemory::begin_turn(std::size_t layer) {
  Region& own = regions_[layer + 1];
  for (std::size_t r = 0; r < layer + 1; ++r) {
    Region& other = regions_[r];
    if (other.is_overwritten || !other.overlaps(own)) continue;
    if (r > 0 && fate_ == Fate::kKeep)
      kept_[r - 1] = unpack(program_.layers[r - 1].ofmap, ofmap(r - 1));
    if (r > 0 && fate_ == Fate::kHandOver) (*take_)(r - 1, ofmap(r - 1));
    other.is_overwritten = true;
  }
}

std::size_t DramMemory::segment_of(std::int64_t address) const {
  const auto next = std::ranges::upper_bound(program_.segments, address, {}, &DramSegment::address);
  if (next == program_.segments.begin()) return program_.segments.size();
  return static_cast<std::size_t>(next - program_.segments.begin()) - 1;
}

DramMemory::Region& DramMemory::find_region(std::int64_t address) {
  const std::size_t tensors = program_.layers.size() + 1;
  last_ = address < program_.writable_bytes ? 0 : tensors + segment_of(address);
  while (last_ + 1 < regions_.size() && !regions_[last_].has(address)) ++last_;
  return regions_[last_];
}

DramTraffic DramMemory::traffic() const {
  DramTraffic traffic;
  auto region = regions_.begin();
  traffic.input_read = region++->read;
  for (std::size_t i = 0; i < program_.layers.size(); ++i, ++region) {
    traffic.ofmaps.push_back({region->read, region->written});
  }
  for (std::size_t i = 0; i < program_.segments.size(); ++i, ++region) {
    traffic.segments_read.push_back(region->read);
  }
  return traffic;
}

std::span<const std::byte> DramMemory::read(std::int64_t address, std::int64_t count) const {
  const auto size = static_cast<std::size_t>(count);
  if (address + count <= program_.writable_bytes) {
    return writable_.bytes().subspan(static_cast<std::size_t>(address), size);
  }
  const std::size_t number = segment_of(address);
  QSIM_CHECK(number < program_.segments.size(),
             "DRAM read at " + std::to_string(address) + " outside every region");
  const DramSegment& segment = program_.segments[number];
  const auto offset = static_cast<std::size_t>(address - segment.address);
  QSIM_CHECK(offset + size <= segment.bytes.size(), "DRAM read of " + std::to_string(count) +
                                                        " bytes at " + std::to_string(address) +
                                                        " leaves segment " + segment.name);
  return std::span(segment.bytes).subspan(offset, size);
}

std::span<std::byte> DramMemory::write(std::int64_t address, std::int64_t count) {
  const DramTensor& input = program_.input.tensor;
  QSIM_CHECK(address >= 0 && address + count <= program_.writable_bytes,
             "DRAM write at " + std::to_string(address) + " outside the writable area");
  QSIM_CHECK(!turns_.empty() || address + count <= input.address ||
                 address >= input.address + input.size_bytes(),
             "DRAM write at " + std::to_string(address) + " into the input");
  return writable_.bytes().subspan(static_cast<std::size_t>(address),
                                   static_cast<std::size_t>(count));
}

std::span<const std::byte> DramMemory::ofmap(std::size_t layer) const {
  const DramTensor& ofmap = program_.layers[layer].ofmap;
  return read(ofmap.address, ofmap.size_bytes());
}

void DramMemory::release(std::int64_t begin, std::int64_t end) {
  release_pages(writable_.bytes().subspan(static_cast<std::size_t>(begin),
                                          static_cast<std::size_t>(end - begin)));
}

std::vector<Tensor> DramMemory::ofmaps() const {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < program_.layers.size(); ++i) {
    tensors.push_back(kept_[i] ? *kept_[i] : unpack(program_.layers[i].ofmap, ofmap(i)));
  }
  return tensors;
}

std::vector<Tensor> DramMemory::take_ofmaps() {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < program_.layers.size(); ++i) {
    if (kept_[i]) {
      tensors.push_back(*std::move(kept_[i]));
      continue;
    }
    const DramTensor& tensor = program_.layers[i].ofmap;
    tensors.push_back(unpack(tensor, ofmap(i)));
    release(tensor.address, tensor.address + tensor.size_bytes());
  }
  return tensors;
}

}  // namespace qsim
