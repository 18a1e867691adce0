// Writes a trace that https://ui.perfetto.dev opens: groups of tracks, slices with arguments, flow
// arrows and counters, as TrackEvents of Perfetto's protobuf format. It knows nothing of
// accelerators. docs/reference/output.md says what a trace of commands holds.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/perfetto/proto_message.h"

namespace qsim::report {

// A track of a trace, by the number that the file gives it.
enum class TraceTrack : std::uint64_t {};

class TraceWriter;

// The arguments of a slice, in the order in which they are shown.
class TraceArgs {
 public:
  explicit TraceArgs(TraceWriter& writer) : writer_(writer) {}

  TraceArgs& number(std::string_view name, std::uint64_t value);
  TraceArgs& signed_number(std::string_view name, std::int64_t value);
  TraceArgs& real(std::string_view name, double value);
  // A text that is in the file once, however many slices have it.
  TraceArgs& word(std::string_view name, std::string_view value);
  // A text that few slices share.
  TraceArgs& text(std::string_view name, std::string_view value);

 private:
  friend class TraceWriter;

  void add(std::string_view name, ProtoMessage value);

  TraceWriter& writer_;
  ProtoMessage fields_;  // of a TrackEvent
};

// Flow arrows that leave or reach a slice. An arrow is a number of its own, the same at both ends.
struct TraceFlows {
  std::vector<std::uint64_t> leave;
  std::vector<std::uint64_t> reach;
};

class TraceWriter {
 public:
  // Gets the bytes of the file in order, some ten thousand at a time.
  using Sink = std::function<void(std::string_view)>;

  explicit TraceWriter(Sink sink);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // A heading for tracks, which are shown in the order in which they are made. (Perfetto shows the
  // tracks of a process in the order of their names, so this is none.)
  TraceTrack group(std::string_view name, std::string_view description);
  TraceTrack track(TraceTrack group, std::string_view name, std::string_view description);
  TraceTrack counter_track(TraceTrack group, std::string_view name, std::string_view description,
                           std::string_view unit);

  // The slices of a track do not overlap and come in ascending order; `end` is after `begin`.
  // Times are in ns.
  void slice(TraceTrack track, std::uint64_t begin, std::uint64_t end, std::string_view category,
             std::string_view name, const TraceArgs& args, const TraceFlows& flows = {});
  // The counter has this value from this time on.
  void count(TraceTrack track, std::uint64_t time, std::int64_t value);

  // Hands the rest to the sink: the last call.
  void finish();

 private:
  friend class TraceArgs;

  // The kinds of texts that the file numbers, with their fields of InternedData.
  enum class Text : std::uint8_t { kCategory, kEventName, kArgName, kArgText };
  static constexpr std::size_t kTexts = 4;

  // The text's number. It is in the file before, or in, the next packet.
  std::uint64_t number_of(Text kind, std::string_view text);
  ProtoMessage event(std::uint64_t type, TraceTrack track) const;
  ProtoMessage packet_at(std::uint64_t time, const ProtoMessage& event);
  void write(ProtoMessage packet);
  TraceTrack describe(ProtoMessage descriptor, TraceTrack group);

  Sink sink_;
  std::string buffer_;
  std::uint64_t tracks_ = 0;
  bool is_first_packet_ = true;
  std::array<std::map<std::string, std::uint64_t, std::less<>>, kTexts> numbers_;
  ProtoMessage new_texts_;  // InternedData that no packet has yet
};

}  // namespace qsim::report
