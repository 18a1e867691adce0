// Reads a trace back: an independent decoder of the messages that report/perfetto writes, for
// tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace qsim {

struct ReadSlice {
  std::string track;
  std::string name;
  std::string category;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::map<std::string, std::string> args;  // numbers in decimal
  std::vector<std::uint64_t> leave;         // arrows
  std::vector<std::uint64_t> reach;

  std::uint64_t cycles() const { return end - begin; }
};

struct ReadCount {
  std::uint64_t time = 0;
  std::int64_t value = 0;
  bool operator==(const ReadCount&) const = default;
};

// What a file has, which is one group.
struct ReadTrace {
  std::string group;
  std::string description;          // of the group
  std::vector<std::string> tracks;  // by rank
  std::vector<ReadSlice> slices;    // in the order of their ends in the file
  std::map<std::string, std::vector<ReadCount>> counters;
  std::map<std::string, std::string> counter_units;

  // The sum of the slices of a track, or of those with a name.
  std::uint64_t cycles_on(std::string_view track, std::string_view name = "") const;
};

// Throws std::runtime_error for bytes that are not such a trace: a wire type or field that the
// writer has no use for, a text that is used before it is there, an end without a begin, a slice
// inside another.
ReadTrace read_trace(std::string_view bytes);

}  // namespace qsim
