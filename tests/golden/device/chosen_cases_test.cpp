#include "tests/golden/device/chosen_cases.h"

#include <gtest/gtest.h>

namespace qsim::golden_test {
namespace {

std::vector<bool> run(const std::string& words, const std::vector<std::string>& names,
                      ExitCode& result) {
  CLI::App app;
  CLI::App* command = app.add_subcommand("random");
  ChosenCases chosen(*command);
  app.parse("random " + words);
  std::vector<bool> runs;
  for (const std::string& name : names) runs.push_back(chosen.begin(name));
  result = chosen.end(ExitCode::kOk);
  return runs;
}

TEST(ChosenCases, TheFewMeetAllThatTheManyMeet) {
  const std::vector<MetByCase> cases = {{"slow", {1, 2, 3, 4}, 10}, {"a", {1, 2}, 0.01},
                                        {"b", {2, 3}, 0.01},        {"again", {3}, 0.5},
                                        {"only", {4}, 20},          {"nothing", {}, 0.001}};
  const std::vector<std::string> few = covering_cases(cases);
  EXPECT_EQ(few, (std::vector<std::string>{"slow"}));  // it alone has 4 for the least time
}

TEST(ChosenCases, QuickCasesArePreferredAndNeedlessOnesAreDropped) {
  const std::vector<MetByCase> cases = {
      {"first", {1}, 0.001}, {"both", {1, 2}, 0.002}, {"slow", {1, 2, 3}, 5}, {"third", {3}, 0.1}};
  EXPECT_EQ(covering_cases(cases), (std::vector<std::string>{"both", "third"}));
  EXPECT_TRUE(covering_cases({}).empty());
}

TEST(ChosenCases, OnlyTheChosenRun) {
  ExitCode result{};
  EXPECT_EQ(run("", {"1", "2"}, result), (std::vector<bool>{true, true}));
  EXPECT_EQ(result, ExitCode::kOk);
  EXPECT_EQ(run("--chosen 2,fp4.7", {"1", "2", "fp4.7"}, result),
            (std::vector<bool>{false, true, true}));
  EXPECT_EQ(result, ExitCode::kOk);
}

TEST(ChosenCases, AChosenCaseThatIsNotThereFails) {
  ExitCode result{};
  run("--chosen 2,30", {"1", "2"}, result);
  EXPECT_EQ(result, ExitCode::kInternal);
}

}  // namespace
}  // namespace qsim::golden_test
