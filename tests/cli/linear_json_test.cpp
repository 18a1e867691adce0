// Reading and comparing results takes work that grows with their size and not with its square:
// counted in comparisons of bytes, which is what a search through names is made of.
#include <cstring>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "cli/session/profile/kept_points.h"
#include "report/conditions/condition.h"
#include "report/results/result_comparison.h"
#include "tests/cli/run_qsim.h"

namespace {

std::size_t comparisons = 0;

}  // namespace

// In place of the C library's: std::string compares through it.
extern "C" int memcmp(const void* a, const void* b, std::size_t size) {
  ++comparisons;
  const auto* left = static_cast<const unsigned char*>(a);
  const auto* right = static_cast<const unsigned char*>(b);
  for (std::size_t i = 0; i < size; ++i) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

namespace qsim {

using namespace cli;
using namespace report;
namespace {

constexpr std::size_t kSize = 1500;

// All of one length, so that no two are told apart without a look.
std::string name_of(std::size_t i) { return "n" + std::to_string(100000 + i); }

std::size_t comparisons_of(const std::function<void()>& work) {
  comparisons = 0;
  work();
  return comparisons;
}

// Twice the size is less than three times the work; a square would be four times.
void expect_linear(const std::function<void(std::size_t)>& work) {
  const std::size_t once = comparisons_of([&] { work(kSize); });
  const std::size_t twice = comparisons_of([&] { work(2 * kSize); });
  EXPECT_LT(twice, 3 * once + 1000) << once << " comparisons for the half";
}

std::string wide_object(std::size_t members) {
  std::string text = "{";
  for (std::size_t i = 0; i < members; ++i) text += "\"" + name_of(i) + "\": 1, ";
  return text + "\"last\": 1}";
}

NetworkResult network_of(std::size_t layers) {
  NetworkResult network;
  network.model = "m";
  network.config = "c";
  network.dataflow = "ws";
  for (std::size_t i = 0; i < layers; ++i) {
    network.layers.emplace_back();
    network.layers.back().name = name_of(i);
    network.layers.back().cycles = 100 + i;
  }
  network.total.cycles = 1;
  return network;
}

std::vector<NetworkResult> points_of(std::size_t points) {
  std::vector<NetworkResult> results(points, network_of(1));
  for (std::size_t i = 0; i < points; ++i) results[i].config = name_of(i);
  return results;
}

TEST(LinearJson, TheCountersCount) {
  const std::string a = name_of(1);
  const std::string b = name_of(2);
  EXPECT_EQ(comparisons_of([&] { EXPECT_FALSE(a == b); }), 1u);
}

TEST(LinearJson, AFileWithAWideObjectIsRead) {
  const TestFolder folder;
  expect_linear([&](std::size_t size) {
    const std::string file =
        folder.write("wide.json", "{\"schema\": \"qsim.run/3\", \"x\": " + wide_object(size) + "}");
    EXPECT_THROW(load_results(file), Error);  // it has nothing else
  });
}

TEST(LinearJson, ALineOfResumeWithAWideObjectIsRead) {
  const TestFolder folder;
  expect_linear([&](std::size_t size) {
    const std::string file =
        folder.write("kept", "{\"schema\":\"qsim.kept-points/1\"}\n" + wide_object(size) + "\n");
    EXPECT_THROW(KeptPoints{file}, Error);
  });
}

TEST(LinearJson, NetworksOfManyLayersAreCompared) {
  expect_linear([](std::size_t size) {
    ResultsFile first{"a.json", true, {network_of(size)}};
    const ResultsFile second = first;
    for (ResultLayer& layer : first.results[0].layers) layer.cycles += 7;
    const Sheet sheet = comparison_sheet(first, second);
    EXPECT_EQ(sheet.tables.back().rows.size(), size);
  });
}

TEST(LinearJson, ProfilesOfManyPointsAreCompared) {
  expect_linear([](std::size_t size) {
    const ResultsFile file{"a.json", false, points_of(size)};
    EXPECT_EQ(comparison_sheet(file, file).tables[1].rows.size(), size);
  });
}

TEST(LinearJson, AConditionIsJudgedOverManyLayers) {
  expect_linear([](std::size_t size) {
    const std::vector<ResultsFile> base = {{"base.json", true, {network_of(size)}}};
    require_conditions({Condition("any(cycles > base.json)")}, {network_of(size)}, base);
  });
}

TEST(LinearJson, AConditionIsJudgedOverManyPoints) {
  expect_linear([](std::size_t size) {
    const std::vector<ResultsFile> base = {{"base.json", false, points_of(size)}};
    require_conditions({Condition("cycles > base.json")}, points_of(size), base);
  });
}

}  // namespace
}  // namespace qsim
