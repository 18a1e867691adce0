// The streams of a program give back what was appended, command by command and origin by origin;
// a command without an encoding never gets in.
#include "core/machine/command_streams.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/machine/program.h"

namespace qsim {
namespace {

using Expected = std::array<std::vector<Instruction>, kUnits>;

constexpr std::size_t number(Unit unit) { return static_cast<std::size_t>(unit); }

Command random_command(Random& random) {
  Command command = empty_command(static_cast<Unit>(random.uniform(0, kUnits - 1)));
  command.wait_mask = static_cast<std::uint16_t>(random.next());
  command.signal_mask = static_cast<std::uint16_t>(random.next());
  const auto fields = command_fields(command.unit());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::int64_t values = std::int64_t{1} << fields[i].bits;
    const std::int64_t low = fields[i].is_signed ? -values / 2 : 0;
    set_field(command, i, random.uniform(low, low + values - 1));
  }
  return command;
}

// Each of the ten parts over its whole range.
Origin random_origin(Random& random) {
  const auto part = [&] { return static_cast<std::int32_t>(random.next()); };
  return {part(), part(), part(), part(), part(), part(), part(), part(), part(), part()};
}

// Commands of all units in random order; every origin is one of the last forty, so that some are
// found again and some lie too far back.
Expected append_random(CommandStreams& streams, std::size_t count, Random& random) {
  Expected expected;
  std::vector<Origin> origins;
  for (std::size_t i = 0; i < count; ++i) {
    if (origins.empty() || random.chance(0.3)) origins.push_back(random_origin(random));
    const auto back = static_cast<std::size_t>(random.uniform(1, 40));
    const Origin origin = origins[origins.size() - std::min(back, origins.size())];
    const Command command = random_command(random);
    streams.append(command, origin);
    expected[number(command.unit())].push_back({command, origin});
  }
  return expected;
}

void expect_holds(const CommandStreams& streams, const Expected& expected) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    const CommandStream stream = streams[u];
    ASSERT_EQ(stream.size(), expected[u].size());
    EXPECT_EQ(stream.empty(), expected[u].empty());
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const Instruction& instruction = expected[u][i];
      ASSERT_EQ(stream[i], instruction) << kUnitNames[u] << " command " << i;
      ASSERT_EQ(stream.command(i), instruction.command);
      ASSERT_EQ(stream.origin(i), instruction.origin);
      ASSERT_EQ(stream.encoded(i), encode(instruction.command));
      ASSERT_EQ(stream.wait_mask(i), instruction.command.wait_mask);
      ASSERT_EQ(stream.signal_mask(i), instruction.command.signal_mask);
    }
  }
}

TEST(CommandStreams, GiveBackEveryCommandAndEveryPartOfItsOrigin) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    CommandStreams streams;
    const Expected expected = append_random(streams, 500, random);
    expect_holds(streams, expected);
    EXPECT_LT(streams.origin_count(), 500u);
  }
}

TEST(CommandStreams, FieldsAreThoseOfTheUnitsType) {
  CommandStreams streams;
  streams.append({1, 2, Execute{.kernel_h = 3, .pad_value = -128}}, {});
  streams.append({3, 4, Post{.lo = -7}}, {});
  const auto execute = streams[number(Unit::kExecute)].fields<Execute>(0);
  EXPECT_EQ(execute.kernel_h, 3u);
  EXPECT_EQ(execute.pad_value, -128);
  EXPECT_EQ(streams[number(Unit::kPost)].fields<Post>(0).lo, -7);
  EXPECT_TRUE(streams[number(Unit::kLoad)].empty());
  EXPECT_TRUE(streams[number(Unit::kStore)].empty());
}

TEST(CommandStreams, AreReadFromOneCommandToTheNext) {
  Random random(7);
  CommandStreams streams;
  const Expected expected = append_random(streams, 100, random);
  std::size_t u = 0;
  for (const CommandStream& stream : streams.all()) {
    std::vector<Instruction> read;
    for (const Instruction& instruction : stream) read.push_back(instruction);
    EXPECT_TRUE(read == expected[u]) << kUnitNames[u];
    ++u;
  }
  EXPECT_EQ(u, kUnits);
}

std::string refusal_of(CommandStreams& streams, const Command& command) {
  try {
    streams.append(command, {.layer = 99});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

TEST(CommandStreams, ACommandThatDoesNotFitIsRefusedAndNothingIsAppended) {
  Random random(3);
  CommandStreams streams;
  const Expected expected = append_random(streams, 50, random);
  const std::size_t origins = streams.origin_count();
  EXPECT_EQ(refusal_of(streams, {0, 0, Execute{.origin_row = 64}}),
            "command field origin_row: 64 does not fit 7 bits (-64 to 63)");
  EXPECT_EQ(refusal_of(streams, {0, 0, Load{.run_bytes = 1u << 24}}),
            "command field run_bytes: 16777216 does not fit 24 bits (0 to 16777215)");
  EXPECT_EQ(refusal_of(streams, {0, 0, Post{.zero_point = -129}}),
            "command field zero_point: -129 does not fit 8 bits (-128 to 127)");
  EXPECT_EQ(refusal_of(streams, {0, 0, Store{.groups = 4096}}),
            "command field groups: 4096 does not fit 12 bits (0 to 4095)");
  expect_holds(streams, expected);
  EXPECT_EQ(streams.origin_count(), origins);
}

// One command of each unit, with origins kept in the order of `units`.
CommandStreams one_of_each(const std::array<Unit, kUnits>& units) {
  CommandStreams streams;
  for (const Unit unit : units) {
    streams.append(empty_command(unit), {.layer = static_cast<std::int32_t>(unit)});
  }
  return streams;
}

constexpr std::array<Unit, kUnits> kForward = {Unit::kLoad, Unit::kExecute, Unit::kPost,
                                               Unit::kStore};

TEST(CommandStreams, AreEqualWhateverTheOrderInWhichUnitsGotTheirCommands) {
  EXPECT_TRUE(one_of_each(kForward) ==
              one_of_each({Unit::kStore, Unit::kPost, Unit::kExecute, Unit::kLoad}));
}

TEST(CommandStreams, DifferInACommandAnOriginOrTheirNumber) {
  const auto appended = [](const Command& command, const Origin& origin) {
    CommandStreams streams = one_of_each(kForward);
    streams.append(command, origin);
    return streams;
  };
  const CommandStreams streams = appended({1, 2, Post{.acc_addr = 5}}, {.c1 = 4});
  EXPECT_TRUE(streams == appended({1, 2, Post{.acc_addr = 5}}, {.c1 = 4}));
  EXPECT_FALSE(streams == appended({1, 2, Post{.acc_addr = 6}}, {.c1 = 4}));
  EXPECT_FALSE(streams == appended({1, 3, Post{.acc_addr = 5}}, {.c1 = 4}));
  EXPECT_FALSE(streams == appended({1, 2, Post{.acc_addr = 5}}, {.c1 = 8}));
  EXPECT_FALSE(streams == one_of_each(kForward));
  EXPECT_FALSE(one_of_each(kForward) == streams);
}

TEST(CommandStreams, AnOriginThatUnitsShareIsKeptOnce) {
  CommandStreams streams;
  constexpr std::int32_t kTiles = 1000;
  for (const Unit unit : kForward) {  // one stream after the other, EXECUTE with two a tile
    for (std::int32_t tile = 0; tile < kTiles; ++tile) {
      for (int i = 0; i < (unit == Unit::kExecute ? 2 : 1); ++i) {
        streams.append(empty_command(unit), {.tile = tile});
      }
    }
  }
  EXPECT_EQ(streams.origin_count(), std::size_t{kTiles});
  for (std::size_t i = 0; i < std::size_t{kTiles}; ++i) {
    EXPECT_EQ(streams[number(Unit::kExecute)].origin(2 * i + 1).tile, static_cast<int>(i));
    EXPECT_EQ(streams[number(Unit::kStore)].origin(i).tile, static_cast<int>(i));
  }
}

// A tile's parameters are loaded after the weights of a later one.
TEST(CommandStreams, AnOriginAFewCommandsBackIsFoundAgain) {
  CommandStreams streams;
  for (std::int32_t tile = 0; tile < 100; ++tile) {
    streams.append(empty_command(Unit::kLoad), {.tile = tile});
    if (tile >= 15) streams.append(empty_command(Unit::kLoad), {.tile = tile - 15});
  }
  EXPECT_EQ(streams.origin_count(), 100u);
}

// Also when the table of origins moves while it is read.
TEST(CommandStreams, AnOriginOfTheStreamsThemselvesMayBeAppended) {
  const Origin first{.layer = 5, .tile = 6, .n0 = 7, .n1 = 8};
  CommandStreams streams;
  streams.append(empty_command(Unit::kLoad), first);
  for (std::size_t i = 1; i < 200; ++i) {
    for (std::int32_t tile = 0; tile < 20; ++tile) {  // so that `first` is too far back to be found
      streams.append(empty_command(Unit::kLoad), {.tile = tile, .c0 = static_cast<int>(i)});
    }
    streams.append(empty_command(Unit::kLoad), streams[0].origin(0));
    EXPECT_EQ(streams[0].origin(21 * i), first) << i;
    EXPECT_EQ(streams.origin_count(), 21 * i + 1);
  }
}

TEST(CommandStreams, NextSignalIsTheFirstCommandThatRaisesASemaphore) {
  CommandStreams streams;
  for (const unsigned signal : {0x0000u, 0x8001u, 0x0002u, 0x0001u, 0x0000u}) {
    streams.append({0xffff, static_cast<std::uint16_t>(signal), Store{}}, {});
  }
  const CommandStream stream = streams[number(Unit::kStore)];
  EXPECT_EQ(stream.next_signal(0, 0), 1u);
  EXPECT_EQ(stream.next_signal(0, 1), 1u);
  EXPECT_EQ(stream.next_signal(0, 2), 3u);
  EXPECT_EQ(stream.next_signal(0, 4), 5u);
  EXPECT_EQ(stream.next_signal(0, 5), 5u);
  EXPECT_EQ(stream.next_signal(1, 0), 2u);
  EXPECT_EQ(stream.next_signal(15, 0), 1u);
  EXPECT_EQ(stream.next_signal(14, 0), 5u);
  EXPECT_EQ(streams[number(Unit::kLoad)].next_signal(0, 0), 0u);
}

TEST(CommandStreams, RoomIsMadeForOneUnitAlone) {
  CommandStreams streams;
  streams.reserve(Unit::kPost, 1000);
  for (const Unit unit : kForward) {
    EXPECT_EQ(streams[number(unit)].capacity(), unit == Unit::kPost ? 1000u : 0u);
    EXPECT_TRUE(streams[number(unit)].empty());
  }
  const auto keep = [&] { streams.append(empty_command(Unit::kPost), {}); };
  keep();
  const EncodedCommand* first = &streams[number(Unit::kPost)].encoded(0);
  for (int i = 1; i < 1000; ++i) keep();
  EXPECT_EQ(&streams[number(Unit::kPost)].encoded(0), first);
  EXPECT_EQ(streams[number(Unit::kPost)].capacity(), 1000u);
}

TEST(CommandStreams, ACopyOfAProgramGoesItsOwnWayAndAMovedOneIsWhole) {
  Random random(11);
  Program program;
  Expected expected = append_random(program.streams, 300, random);
  Program copy = program;
  EXPECT_TRUE(copy == program);
  EXPECT_EQ(copy.command_count(), 300u);
  const Instruction added{random_command(random), random_origin(random)};
  copy.streams.append(added.command, added.origin);
  EXPECT_FALSE(copy == program);
  expect_holds(program.streams, expected);
  program = {};  // the copy reads nothing of it
  expected[number(added.command.unit())].push_back(added);
  expect_holds(copy.streams, expected);
  const Program moved = std::move(copy);
  expect_holds(moved.streams, expected);
  EXPECT_EQ(moved.stream(Unit::kStore).size(), expected[number(Unit::kStore)].size());
}

}  // namespace
}  // namespace qsim
