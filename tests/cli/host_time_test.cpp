// The estimate of the time of host and array, by hand; and what --set makes of a configuration.
#include "cli/session/run/host_time.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "cli/session/inputs/config_fields.h"
#include "tests/golden/host/host_network_builder.h"

namespace qsim::cli {
namespace {

// Nodes of 4 float32 numbers, so that one that reads one tensor has 4 operations and 32 bytes.
class HostTimes : public ::testing::Test {
 protected:
  HostValueId node(const std::string& op, const std::vector<HostValueId>& inputs) {
    const HostValueId id = built_.add_of(DType::kFloat32, op, inputs);
    hosted_.steps.push_back({false, hosted_.host_steps.size()});
    hosted_.host_steps.push_back({built_.network.nodes.size() - 1, ""});
    return id;
  }
  // Its nodes are the array's.
  HostValueId part(HostValueId input, std::int64_t cycles) {
    const HostValueId id = built_.add_of(DType::kFloat32, "Relu", {input});
    hosted_.steps.push_back({true, hosted_.parts.size()});
    ArrayPart added;
    added.input = input;
    added.output = id;
    hosted_.parts.push_back(std::move(added));
    cycles_.push_back(cycles);
    return id;
  }
  HostTime time(const HostConfig& host) {
    hosted_.network = built_.network;
    return estimate_time(hosted_, host, cycles_);
  }

  HostNetworkBuilder built_;
  HostedNetwork hosted_;
  std::vector<std::int64_t> cycles_;
};

TEST_F(HostTimes, ANodeTakesTheLongerOfItsOperationsAndItsBytes) {
  const HostValueId x = built_.input(DType::kFloat32, {1, 4});
  node("Abs", {x});
  EXPECT_EQ(time({.ops_per_cycle = 1, .bytes_per_cycle = 16}).node_cycles.front(), 4);
  EXPECT_EQ(time({.ops_per_cycle = 1, .bytes_per_cycle = 2}).node_cycles.front(), 16);
  EXPECT_EQ(time({.ops_per_cycle = 0.25, .bytes_per_cycle = 2}).node_cycles.front(), 16);
  EXPECT_EQ(time({.ops_per_cycle = 1, .bytes_per_cycle = 3}).node_cycles.front(), 11);
}

TEST_F(HostTimes, OneAfterTheOtherTheyAddUp) {
  const HostValueId x = built_.input(DType::kFloat32, {1, 4});
  const HostValueId a = part(x, 100);
  node("Abs", {x});
  node("Neg", {a});
  const HostTime found = time({.ops_per_cycle = 1, .bytes_per_cycle = 1});
  EXPECT_EQ(found.estimate.host_cycles, 32 + 32);
  EXPECT_EQ(found.estimate.total_cycles, 100 + 64);
  EXPECT_FALSE(found.estimate.overlap);
}

TEST_F(HostTimes, WithOverlapOnlyWhatReadsAResultWaitsForIt) {
  const HostValueId x = built_.input(DType::kFloat32, {1, 4});
  const HostValueId a = part(x, 100);      // the array: 0 to 100
  const HostValueId b = node("Abs", {x});  // the host beside it: 0 to 32
  const HostValueId c = node("Neg", {a});  // after the part: 100 to 132
  const HostValueId d = part(b, 10);       // after the first part: 100 to 110
  node("Max", {c, d});                     // 48 bytes, after the host's node: 132 to 180
  const HostTime found = time({.ops_per_cycle = 1, .bytes_per_cycle = 1, .overlap = true});
  EXPECT_EQ(found.estimate.host_cycles, 32 + 32 + 48);
  EXPECT_EQ(found.estimate.total_cycles, 180);
  EXPECT_TRUE(found.estimate.overlap);
}

// Two parts share the array, whatever the host does.
TEST_F(HostTimes, WithOverlapTheArrayRunsItsPartsInOrder) {
  const HostValueId x = built_.input(DType::kFloat32, {1, 4});
  part(x, 100);
  part(x, 50);
  EXPECT_EQ(time({.ops_per_cycle = 1, .bytes_per_cycle = 1, .overlap = true}).estimate.total_cycles,
            150);
}

TEST(SetFields, GivesTheConfigurationOtherValues) {
  ArchConfig config;
  set_fields(config, {"array_rows=8", "requantizer=dyadic", "host.ops_per_cycle=0.5",
                      "host.bytes_per_cycle=4", "host.overlap=true"});
  EXPECT_EQ(config.array_rows, 8);
  EXPECT_TRUE(config.is_dyadic());
  EXPECT_EQ(config.host, (HostConfig{0.5, 4, true}));
}

TEST(SetFields, SaysWhatItDoesNotTake) {
  const auto message = [](const Words& texts) {
    ArchConfig config;
    try {
      set_fields(config, texts);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto expect_has = [&](const Words& texts, const std::string& part) {
    EXPECT_NE(message(texts).find(part), std::string::npos) << message(texts);
  };
  expect_has({"array_row=8"}, "did you mean 'array_rows'?");
  expect_has({"array_rows=8,16"}, "'array_rows' has several values; `qsim profile` takes those");
  expect_has({"array_rows=12"}, "array_rows is 12; allowed: a power of two from 4 to 256");
  expect_has({"host.ops=1"}, "no field 'host.ops'. Fields: host.ops_per_cycle");
  expect_has({"host.overlap=1"}, "allowed: true or false");
  expect_has({"host.ops_per_cycle=x"}, "allowed: a number from 0.001 to 1000000");
  expect_has({"host.ops_per_cycle=1"}, "has no host; also give host.bytes_per_cycle");
  expect_has({"host.ops_per_cycle=nan", "host.bytes_per_cycle=1"}, "ops_per_cycle is nan");
}

}  // namespace
}  // namespace qsim::cli
