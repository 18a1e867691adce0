// report/perfetto/proto_message.h and trace_writer.h: the bytes.
#include "report/perfetto/trace_writer.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/report/perfetto/trace_reader.h"

namespace qsim {

using namespace report;
namespace {

std::string hex(const ProtoMessage& message) {
  std::string text;
  for (const char c : message.bytes()) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// The first three are the examples of https://protobuf.dev/programming-guides/encoding.
TEST(ProtoMessage, HasTheBytesOfTheEncodingGuide) {
  const ProtoMessage number = ProtoMessage().number(1, 150);
  EXPECT_EQ(hex(number), "089601");
  EXPECT_EQ(hex(ProtoMessage().text(2, "testing")), "120774657374696e67");
  EXPECT_EQ(hex(ProtoMessage().message(3, number)), "1a03089601");
  EXPECT_EQ(hex(ProtoMessage().signed_number(1, -2)), "08feffffffffffffffff01");
  EXPECT_EQ(hex(ProtoMessage().fixed64(47, 0x0102030405060708)), "f9020807060504030201");
  EXPECT_EQ(hex(ProtoMessage().real(5, 1.0)), "29000000000000f03f");
  EXPECT_EQ(hex(ProtoMessage().number(1, 0).number(2, 127).number(3, 128)), "0800107f188001");
  EXPECT_EQ(hex(ProtoMessage().number(1, UINT64_MAX)), "08ffffffffffffffffff01");
}

TEST(TraceWriter, WritesWhatIsReadBack) {
  std::string bytes;
  TraceWriter writer([&](std::string_view part) { bytes += part; });
  const TraceTrack group = writer.group("a run", "of a network");
  const TraceTrack unit = writer.track(group, "execute", "what it does");
  const TraceTrack level = writer.counter_track(group, "level", "how full", "bytes");
  const TraceArgs args = TraceArgs(writer)
                             .number("bytes", 1ULL << 40)
                             .signed_number("origin_row", -1)
                             .real("utilization", 0.5)
                             .word("waited_for", "act_ready")
                             .text("origin", "conv1 tile 3");
  writer.slice(unit, 5, 9, "execute", "conv1", args, {{7, 8}, {9}});
  writer.slice(unit, 9, 12, "execute", "conv1", TraceArgs(writer));
  writer.count(level, 4, 1000);
  writer.count(level, 6, -1);
  writer.finish();

  const ReadTrace trace = read_trace(bytes);
  EXPECT_EQ(trace.group, "a run");
  EXPECT_EQ(trace.description, "of a network");
  EXPECT_EQ(trace.tracks, (std::vector<std::string>{"execute", "level"}));
  EXPECT_EQ(trace.counter_units.at("level"), "bytes");
  EXPECT_EQ(trace.counters.at("level"), (std::vector<ReadCount>{{4, 1000}, {6, -1}}));
  ASSERT_EQ(trace.slices.size(), 2u);
  const ReadSlice& slice = trace.slices[0];
  EXPECT_EQ(slice.track, "execute");
  EXPECT_EQ(slice.name, "conv1");
  EXPECT_EQ(slice.category, "execute");
  EXPECT_EQ(slice.begin, 5u);
  EXPECT_EQ(slice.end, 9u);
  EXPECT_EQ(slice.leave, (std::vector<std::uint64_t>{7, 8}));
  EXPECT_EQ(slice.reach, (std::vector<std::uint64_t>{9}));
  EXPECT_EQ(slice.args, (std::map<std::string, std::string>{{"bytes", "1099511627776"},
                                                            {"origin_row", "-1"},
                                                            {"utilization", "0.500000"},
                                                            {"waited_for", "act_ready"},
                                                            {"origin", "conv1 tile 3"}}));
  EXPECT_TRUE(trace.slices[1].args.empty());
  EXPECT_EQ(trace.slices[1].name, "conv1");
}

TEST(TraceWriter, RefusesAnEmptySlice) {
  TraceWriter writer([](std::string_view) {});
  const TraceTrack unit = writer.track(writer.group("a run", ""), "execute", "");
  EXPECT_THROW(writer.slice(unit, 5, 5, "execute", "conv1", TraceArgs(writer)), InternalError);
}

// It keeps no more than a buffer, and each text is in the file once.
TEST(TraceWriter, HandsOutBytesWhileItWrites) {
  std::size_t parts = 0;
  std::size_t largest = 0;
  std::string bytes;
  TraceWriter writer([&](std::string_view part) {
    ++parts;
    largest = std::max(largest, part.size());
    bytes += part;
  });
  const TraceTrack unit = writer.track(writer.group("a run", ""), "execute", "");
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    TraceArgs args(writer);
    args.word("waited_for", "a text of some length").number("command", i);
    writer.slice(unit, 2 * i, 2 * i + 1, "execute", "a layer with a long name", args);
  }
  EXPECT_GT(parts, 5u);
  writer.finish();
  EXPECT_LT(largest, 100'000u);
  EXPECT_EQ(read_trace(bytes).slices.size(), 20'000u);
  EXPECT_EQ(bytes.find("a layer with a long name"), bytes.rfind("a layer with a long name"));
  EXPECT_EQ(bytes.find("a text of some length"), bytes.rfind("a text of some length"));
}

}  // namespace
}  // namespace qsim
