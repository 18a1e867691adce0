// The memory behind the core's DRAM port, cycle by cycle, on ports that the tests drive themselves.
#include "rtl/engine/dram_ports.h"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/sim/systemc/hand_program.h"

namespace qsim {

using namespace rtl;
namespace {

// The port's signals. Latency 10, bursts of 8 beats at most, 2 outstanding, 4-byte beats.
struct Signals {
  std::uint8_t read_valid = 0, read_ready = 0, read_size = 2, data_valid = 0;
  std::uint8_t write_valid = 0, write_ready = 0, write_size = 2, write_data_valid = 0, done = 0;
  std::uint32_t read_addr = 0, write_addr = 0;
  std::uint16_t read_beats = 0, write_beats = 0;
  std::array<std::byte, 4> read_data{}, write_data{};
  RtlPorts ports{};

  Signals() {
    ports.read_request_valid_o = &read_valid;
    ports.read_request_ready_i = &read_ready;
    ports.read_request_addr_o = &read_addr;
    ports.read_request_beats_o = &read_beats;
    ports.read_request_size_o = &read_size;
    ports.read_data_valid_i = &data_valid;
    ports.read_data_i = read_data.data();
    ports.write_request_valid_o = &write_valid;
    ports.write_request_ready_i = &write_ready;
    ports.write_request_addr_o = &write_addr;
    ports.write_request_beats_o = &write_beats;
    ports.write_request_size_o = &write_size;
    ports.write_data_valid_o = &write_data_valid;
    ports.write_data_o = write_data.data();
    ports.write_done_i = &done;
  }
};

std::uint32_t word(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

struct Seen {
  std::vector<std::uint64_t> issues;
  std::vector<std::uint64_t> cycles;  // of beats, or of responses
  std::vector<std::uint32_t> words;
};

// Asks for `bursts` bursts of `beats` beats, one after another from address 0 on, as soon as it
// may.
Seen read_bursts(ReadPort& port, Signals& signals, int bursts, std::uint16_t beats) {
  Seen seen;
  int asked = 0;
  for (std::uint64_t cycle = 0; cycle < 4000; ++cycle) {
    signals.read_valid = asked < bursts;
    signals.read_addr = static_cast<std::uint32_t>(asked * beats * 4);
    signals.read_beats = beats;
    port.drive(cycle);
    if (signals.read_valid != 0 && signals.read_ready != 0) {
      seen.issues.push_back(cycle);
      ++asked;
    }
    if (signals.data_valid == 0) continue;
    seen.cycles.push_back(cycle);
    seen.words.push_back(word(signals.read_data));
  }
  EXPECT_EQ(port.open_bursts(), 0u);
  return seen;
}

// Writes bursts of `beats` beats from address 64 on: word k of all holds k.
Seen write_bursts(WritePort& port, Signals& signals, int bursts, std::uint16_t beats) {
  Seen seen;
  std::uint64_t beat_cycle = kNever, last_beat_cycle = 0;
  std::uint32_t value = 0;
  for (std::uint64_t cycle = 0; cycle < 4000; ++cycle) {
    const auto asked = static_cast<int>(seen.issues.size());
    signals.write_valid = asked < bursts;
    signals.write_addr = static_cast<std::uint32_t>(64 + asked * beats * 4);
    signals.write_beats = beats;
    signals.write_data_valid = cycle >= beat_cycle && cycle <= last_beat_cycle;
    std::memcpy(signals.write_data.data(), &value, sizeof value);
    value += signals.write_data_valid;
    port.drive(cycle);
    if (signals.write_valid != 0 && signals.write_ready != 0) {
      seen.issues.push_back(cycle);
      beat_cycle = cycle + 1;
      last_beat_cycle = cycle + beats;
    }
    if (signals.done != 0) seen.cycles.push_back(cycle);
  }
  EXPECT_EQ(port.open_bursts(), 0u);
  return seen;
}

TEST(ReadPort, BeatsComeAtTheCyclesOfTheDramChannel) {
  Signals signals;
  const Program program = hand_program();
  const DramMemory dram(program, hand_input());
  ReadPort port(signals.ports, program, dram, {});
  const Seen seen = read_bursts(port, signals, 3, 4);
  // The third burst waits until the first is done, at 0 + 4 + 10.
  EXPECT_EQ(seen.issues, (std::vector<std::uint64_t>{0, 4, 14}));
  EXPECT_EQ(seen.cycles,
            (std::vector<std::uint64_t>{10, 11, 12, 13, 14, 15, 16, 17, 24, 25, 26, 27}));
  for (std::size_t i = 0; i < seen.words.size(); ++i) {
    EXPECT_EQ(seen.words[i], word(dram.read(static_cast<std::int64_t>(4 * i), 4))) << i;
  }
}

TEST(ReadPort, WhatLiesBeyondARegionIsNoByteOfIt) {
  Signals signals;
  const Program program = hand_program();  // one segment: 36 bytes at 128
  const DramMemory dram(program, hand_input());
  ReadPort port(signals.ports, program, dram, {});
  signals.read_valid = 1;
  signals.read_addr = 128 + 33;
  signals.read_beats = 1;
  port.drive(0);
  signals.read_valid = 0;
  for (std::uint64_t cycle = 1; signals.data_valid == 0; ++cycle) port.drive(cycle);
  EXPECT_EQ(word(signals.read_data) >> 24, 0xEEu);
  EXPECT_EQ(std::memcmp(signals.read_data.data(), dram.read(161, 3).data(), 3), 0);
}

TEST(ReadPort, BurstsAgainstTheRulesAreBugs) {
  Signals signals;
  const Program program = hand_program();
  const DramMemory dram(program, hand_input());
  const auto drive = [&](std::uint32_t address, std::uint16_t beats, std::uint8_t size) {
    ReadPort port(signals.ports, program, dram, {});
    signals.read_valid = 1;
    signals.read_addr = address;
    signals.read_beats = beats;
    signals.read_size = size;
    port.drive(0);
  };
  EXPECT_NO_THROW(drive(0, 8, 2));
  EXPECT_THROW(drive(0, 9, 2), InternalError);
  EXPECT_THROW(drive(0, 0, 2), InternalError);
  EXPECT_THROW(drive(0, 1, 3), InternalError);
  EXPECT_THROW(drive(1 << 20, 1, 2), InternalError);
}

TEST(WritePort, ResponsesComeAtTheCyclesOfTheDramChannelWithTheBytes) {
  Signals signals;
  const Program program = hand_program();
  DramMemory dram(program, hand_input());
  WritePort port(signals.ports, program, dram, {});
  const Seen seen = write_bursts(port, signals, 3, 4);
  EXPECT_EQ(seen.issues, (std::vector<std::uint64_t>{0, 4, 14}));
  EXPECT_EQ(seen.cycles, (std::vector<std::uint64_t>{13, 17, 27}));  // done - 1
  for (std::uint32_t i = 0; i < 12; ++i) EXPECT_EQ(word(dram.read(64 + 4 * i, 4)), i);
}

TEST(WritePort, BytesReachTheMemoryWithTheResponseAndNotBefore) {
  Signals signals;
  const Program program = hand_program();
  DramMemory dram(program, hand_input());
  WritePort port(signals.ports, program, dram, {});
  signals.write_valid = 1;
  signals.write_beats = 1;
  signals.write_addr = 64;
  signals.write_data.fill(std::byte{7});
  for (std::uint64_t cycle = 0; cycle <= 10; ++cycle) {
    EXPECT_EQ(word(dram.read(64, 4)), 0u) << cycle;
    port.drive(cycle);
    EXPECT_EQ(signals.done, cycle == 10 ? 1 : 0);
    signals.write_valid = 0;
    signals.write_data_valid = cycle == 0;
  }
  EXPECT_EQ(word(dram.read(64, 4)), 0x07070707u);
}

TEST(WritePort, ABeatWithoutABurstAndAResponseWithoutItsBeatsAreBugs) {
  Signals signals;
  const Program program = hand_program();
  DramMemory dram(program, hand_input());
  WritePort without_burst(signals.ports, program, dram, {});
  signals.write_data_valid = 1;
  EXPECT_THROW(without_burst.drive(0), InternalError);
  signals.write_data_valid = 0;
  WritePort without_beats(signals.ports, program, dram, {});
  signals.write_valid = 1;
  signals.write_beats = 1;
  signals.write_addr = 64;
  const auto run = [&] {
    for (std::uint64_t cycle = 0; cycle < 20; ++cycle) {
      without_beats.drive(cycle);
      signals.write_valid = 0;
    }
  };
  EXPECT_THROW(run(), InternalError);
}

TEST(RandomDram, DelaysEverythingAndLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Signals signals;
    const Program program = hand_program();
    DramMemory dram(program, hand_input());
    ReadPort reader(signals.ports, program, dram, seed);
    const Seen read = read_bursts(reader, signals, 4, 4);
    ASSERT_EQ(read.words.size(), 16u);
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(read.words[i], word(dram.read(static_cast<std::int64_t>(4 * i), 4)));
      EXPECT_GT(read.cycles[i], read.issues[i / 4]);
    }
    WritePort writer(signals.ports, program, dram, seed);
    const Seen written = write_bursts(writer, signals, 4, 4);
    ASSERT_EQ(written.cycles.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_GE(written.cycles[i], written.issues[i] + 4);  // not before the last beat
      if (i == 0) continue;
      EXPECT_GT(written.cycles[i], written.cycles[i - 1]);
      EXPECT_GE(written.issues[i], written.issues[i - 1] + 4);
    }
    for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(word(dram.read(64 + 4 * i, 4)), i);
    EXPECT_NE(read.cycles, (std::vector<std::uint64_t>{10, 11, 12, 13, 14, 15, 16, 17, 24, 25, 26,
                                                       27, 28, 29, 30, 31}));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace qsim
