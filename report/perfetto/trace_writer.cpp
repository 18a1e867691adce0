#include "report/perfetto/trace_writer.h"

#include "core/base/error.h"

namespace qsim::report {
namespace {

// Field numbers of protos/perfetto/trace/perfetto_trace.proto, by message.
namespace trace {
constexpr std::uint32_t kPacket = 1;
}
namespace trace_packet {
constexpr std::uint32_t kTimestamp = 8;
constexpr std::uint32_t kSequenceId = 10;
constexpr std::uint32_t kTrackEvent = 11;
constexpr std::uint32_t kInternedData = 12;
constexpr std::uint32_t kSequenceFlags = 13;
constexpr std::uint32_t kTrackDescriptor = 60;
}  // namespace trace_packet
namespace track_descriptor {
constexpr std::uint32_t kUuid = 1;
constexpr std::uint32_t kName = 2;
constexpr std::uint32_t kParentUuid = 5;
constexpr std::uint32_t kCounter = 8;
constexpr std::uint32_t kChildOrdering = 11;
constexpr std::uint32_t kSiblingOrderRank = 12;
constexpr std::uint32_t kDescription = 14;
constexpr std::uint64_t kExplicitOrder = 3;
}  // namespace track_descriptor
namespace counter_descriptor {
constexpr std::uint32_t kUnitName = 6;
}
namespace track_event {
constexpr std::uint32_t kCategoryIids = 3;
constexpr std::uint32_t kDebugAnnotations = 4;
constexpr std::uint32_t kType = 9;
constexpr std::uint32_t kNameIid = 10;
constexpr std::uint32_t kTrackUuid = 11;
constexpr std::uint32_t kCounterValue = 30;
constexpr std::uint32_t kFlowIds = 47;
constexpr std::uint32_t kTerminatingFlowIds = 48;
constexpr std::uint64_t kSliceBegin = 1;
constexpr std::uint64_t kSliceEnd = 2;
constexpr std::uint64_t kCounter = 4;
}  // namespace track_event
namespace debug_annotation {
constexpr std::uint32_t kNameIid = 1;
constexpr std::uint32_t kUint = 3;
constexpr std::uint32_t kInt = 4;
constexpr std::uint32_t kDouble = 5;
constexpr std::uint32_t kString = 6;
constexpr std::uint32_t kStringIid = 17;
}  // namespace debug_annotation
namespace interned {
// The fields of InternedData, by TraceWriter::Text; each entry has a number and a text.
constexpr std::array<std::uint32_t, 4> kKinds = {1, 2, 3, 29};
constexpr std::uint32_t kIid = 1;
constexpr std::uint32_t kText = 2;
}  // namespace interned

constexpr std::uint64_t kSequence = 1;          // one writer makes all packets
constexpr std::uint64_t kTextsBeginHere = 1;    // SEQ_INCREMENTAL_STATE_CLEARED
constexpr std::uint64_t kTextsComeBefore = 2;   // SEQ_NEEDS_INCREMENTAL_STATE
constexpr std::size_t kBufferBytes = 1U << 16;  // handed to the sink at a time

}  // namespace

void TraceArgs::add(std::string_view name, ProtoMessage value) {
  value.number(debug_annotation::kNameIid, writer_.number_of(TraceWriter::Text::kArgName, name));
  fields_.message(track_event::kDebugAnnotations, value);
}

TraceArgs& TraceArgs::number(std::string_view name, std::uint64_t value) {
  add(name, ProtoMessage().number(debug_annotation::kUint, value));
  return *this;
}

TraceArgs& TraceArgs::signed_number(std::string_view name, std::int64_t value) {
  add(name, ProtoMessage().signed_number(debug_annotation::kInt, value));
  return *this;
}

TraceArgs& TraceArgs::real(std::string_view name, double value) {
  add(name, ProtoMessage().real(debug_annotation::kDouble, value));
  return *this;
}

TraceArgs& TraceArgs::word(std::string_view name, std::string_view value) {
  const std::uint64_t number = writer_.number_of(TraceWriter::Text::kArgText, value);
  add(name, ProtoMessage().number(debug_annotation::kStringIid, number));
  return *this;
}

TraceArgs& TraceArgs::text(std::string_view name, std::string_view value) {
  add(name, ProtoMessage().text(debug_annotation::kString, value));
  return *this;
}

TraceWriter::TraceWriter(Sink sink) : sink_(std::move(sink)) {
  buffer_.reserve(kBufferBytes + kBufferBytes / 4);
}

std::uint64_t TraceWriter::number_of(Text kind, std::string_view text) {
  auto& numbers = numbers_[static_cast<std::size_t>(kind)];
  const auto known = numbers.find(text);
  if (known != numbers.end()) return known->second;
  const std::uint64_t number = numbers.size() + 1;  // 0 means none
  numbers.emplace(text, number);
  new_texts_.message(interned::kKinds[static_cast<std::size_t>(kind)],
                     ProtoMessage().number(interned::kIid, number).text(interned::kText, text));
  return number;
}

void TraceWriter::write(ProtoMessage packet) {
  packet.number(trace_packet::kSequenceId, kSequence);
  packet.number(trace_packet::kSequenceFlags,
                is_first_packet_ ? kTextsBeginHere | kTextsComeBefore : kTextsComeBefore);
  is_first_packet_ = false;
  if (!new_texts_.empty()) packet.message(trace_packet::kInternedData, new_texts_);
  new_texts_.clear();
  buffer_ += ProtoMessage().message(trace::kPacket, packet).bytes();
  if (buffer_.size() < kBufferBytes) return;
  sink_(buffer_);
  buffer_.clear();
}

void TraceWriter::finish() {
  if (!buffer_.empty()) sink_(buffer_);
  buffer_.clear();
}

TraceTrack TraceWriter::group(std::string_view name, std::string_view description) {
  ++tracks_;
  ProtoMessage descriptor;
  descriptor.number(track_descriptor::kUuid, tracks_)
      .text(track_descriptor::kName, name)
      .text(track_descriptor::kDescription, description)
      .number(track_descriptor::kChildOrdering, track_descriptor::kExplicitOrder);
  write(ProtoMessage().message(trace_packet::kTrackDescriptor, descriptor));
  return TraceTrack{tracks_};
}

// Fills in what every track of a group has.
TraceTrack TraceWriter::describe(ProtoMessage descriptor, TraceTrack group) {
  ++tracks_;
  descriptor.number(track_descriptor::kUuid, tracks_)
      .number(track_descriptor::kParentUuid, static_cast<std::uint64_t>(group))
      .number(track_descriptor::kSiblingOrderRank, tracks_);
  write(ProtoMessage().message(trace_packet::kTrackDescriptor, descriptor));
  return TraceTrack{tracks_};
}

TraceTrack TraceWriter::track(TraceTrack group, std::string_view name,
                              std::string_view description) {
  ProtoMessage descriptor;
  descriptor.text(track_descriptor::kName, name).text(track_descriptor::kDescription, description);
  return describe(std::move(descriptor), group);
}

TraceTrack TraceWriter::counter_track(TraceTrack group, std::string_view name,
                                      std::string_view description, std::string_view unit) {
  ProtoMessage descriptor;
  descriptor.text(track_descriptor::kName, name)
      .text(track_descriptor::kDescription, description)
      .message(track_descriptor::kCounter,
               ProtoMessage().text(counter_descriptor::kUnitName, unit));
  return describe(std::move(descriptor), group);
}

ProtoMessage TraceWriter::event(std::uint64_t type, TraceTrack track) const {
  ProtoMessage event;
  event.number(track_event::kType, type)
      .number(track_event::kTrackUuid, static_cast<std::uint64_t>(track));
  return event;
}

ProtoMessage TraceWriter::packet_at(std::uint64_t time, const ProtoMessage& event) {
  ProtoMessage packet;
  packet.number(trace_packet::kTimestamp, time).message(trace_packet::kTrackEvent, event);
  return packet;
}

void TraceWriter::slice(TraceTrack track, std::uint64_t begin, std::uint64_t end,
                        std::string_view category, std::string_view name, const TraceArgs& args,
                        const TraceFlows& flows) {
  QSIM_CHECK(begin < end, "a slice of a trace is empty");
  ProtoMessage first = event(track_event::kSliceBegin, track);
  first.number(track_event::kCategoryIids, number_of(Text::kCategory, category))
      .number(track_event::kNameIid, number_of(Text::kEventName, name))
      .append(args.fields_);
  for (const std::uint64_t flow : flows.leave) first.fixed64(track_event::kFlowIds, flow);
  for (const std::uint64_t flow : flows.reach) {
    first.fixed64(track_event::kTerminatingFlowIds, flow);
  }
  write(packet_at(begin, first));
  write(packet_at(end, event(track_event::kSliceEnd, track)));
}

void TraceWriter::count(TraceTrack track, std::uint64_t time, std::int64_t value) {
  ProtoMessage counter = event(track_event::kCounter, track);
  counter.signed_number(track_event::kCounterValue, value);
  write(packet_at(time, counter));
}

}  // namespace qsim::report
